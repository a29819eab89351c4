// A kernel's functions. The kernel itself only conducts: its regions (layout.h) are functions of their own, so that
// each can take its buffers as noalias pointers; in one function that would be a lie as soon as a parallel loop, which
// reaches the same memory through its context, is called between two accesses.
//
//   sym(args, scratch, rt)               loads pointers, loops and branches around the regions
//   sym.N(buffers..., vars...)           a run of statements
//   sym.N(buffers..., vars..., begin, end)   a parallel range; called by
//   sym.N.chunk(ctx, begin, end, thread)     which rt->parallel calls; ctx = {args, scratch, vars...}
//
// buffers: those the region touches, except the ones on its own stack; vars: the variables of the loops around it.
#include <algorithm>

#include "codegen/emitter.h"

namespace mcc::codegen {

using llvm::Function;
using llvm::FunctionType;
using llvm::Type;
using loop::Loop;
using loop::LoopKind;
using loop::Stmt;

namespace {

class Conductor {
 public:
  Conductor(llvm::Module& module, const Isa& isa, const loop::Func& func, const std::string& symbol)
      : module_(module),
        isa_(isa),
        func_(func),
        layout_(make_layout(func)),
        symbol_(symbol),
        kernel_(make_kernel()),
        emitter_(module, isa, func, layout_, kernel_) {}

  void run() {
    llvm::IRBuilder<>& b = emitter_.b;
    for (const Stmt& stmt : func_.body) add_used_buffers(stmt, used_);
    for (const int buffer : used_) {
      if (Value* base = base_pointer(b, kernel_->getArg(0), kernel_->getArg(1), b.getInt64(0), buffer)) {
        emitter_.set_buffer(buffer, base);
        bases_[buffer] = base;
      }
    }
    sequence(func_.body);
    b.CreateRetVoid();
  }

 private:
  Type* pointer() { return llvm::PointerType::getUnqual(module_.getContext()); }

  Function* make_function(FunctionType* type, const std::string& name, Function::LinkageTypes linkage) {
    Function* f = Function::Create(type, linkage, name, module_);
    f->setDoesNotThrow();
    f->addFnAttr(llvm::Attribute::NoRecurse);
    if (isa_.x86) {
      const std::string bits = std::to_string(8 * isa_.vector_bytes);
      f->addFnAttr("prefer-vector-width", bits);
      f->addFnAttr("min-legal-vector-width", bits);
    }
    return f;
  }

  Function* make_kernel() {
    Type* const args[] = {pointer(), pointer(), pointer()};
    FunctionType* type = FunctionType::get(Type::getVoidTy(module_.getContext()), args, false);
    return make_function(type, symbol_, Function::ExternalLinkage);
  }

  // Null for buffers on a region's stack.
  Value* base_pointer(llvm::IRBuilder<>& b, Value* args, Value* scratch, Value* thread, int buffer) {
    const Placement& place = layout_.buffers[at(buffer)];
    if (place.place == Place::stack) return nullptr;
    if (place.place == Place::param) {
      return b.CreateLoad(pointer(), b.CreateConstGEP1_64(pointer(), args, static_cast<u64>(place.offset)));
    }
    if (place.place == Place::shared)
      return b.CreateConstGEP1_64(b.getInt8Ty(), scratch, static_cast<u64>(place.offset));
    Value* mine = b.CreateMul(thread, b.getInt64(static_cast<u64>(layout_.thread_bytes)));
    Value* part = b.CreateGEP(b.getInt8Ty(), scratch, mine);
    return b.CreateConstGEP1_64(b.getInt8Ty(), part, static_cast<u64>(layout_.shared_bytes + place.offset));
  }

  void sequence(const std::vector<Stmt>& body) {
    std::vector<const Stmt*> run;
    const auto flush = [&] {
      if (!run.empty()) call_run(run);
      run.clear();
    };
    for (const Stmt& stmt : body) {
      if (!has_parallel_region(stmt)) {
        run.push_back(&stmt);
        continue;
      }
      flush();
      if (const Loop* l = std::get_if<Loop>(&stmt.node)) {
        if (l->kind == LoopKind::parallel)
          call_parallel(*l);
        else
          conduct_loop(*l);
      } else {
        emitter_.branch(std::get<loop::If>(stmt.node), [&](const std::vector<Stmt>& side) { sequence(side); });
      }
    }
    flush();
  }

  void conduct_loop(const Loop& l) {
    open_loops_.push_back(&l);
    emitter_.serial_loop(l, [&] { sequence(l.body); });
    open_loops_.pop_back();
  }

  // What a region needs from outside.
  struct Inputs {
    std::vector<int> buffers;
    std::vector<int> vars;  // with SSA values; the others are numbers
  };
  Inputs inputs(const std::set<int>& used) {
    Inputs in;
    for (const int buffer : used) {
      if (layout_.buffers[at(buffer)].place != Place::stack) in.buffers.push_back(buffer);
    }
    for (const Loop* l : open_loops_) {
      if (emitter_.var_value(l->var).kind == VarValue::value) in.vars.push_back(l->var);
    }
    return in;
  }

  Function* region_function(const Inputs& in, const std::string& name, bool ranged) {
    std::vector<Type*> types(in.buffers.size(), pointer());
    types.insert(types.end(), in.vars.size() + (ranged ? 2 : 0), Type::getInt64Ty(module_.getContext()));
    Function* f = make_function(FunctionType::get(Type::getVoidTy(module_.getContext()), types, false), name,
                                Function::InternalLinkage);
    f->addFnAttr(llvm::Attribute::NoInline);
    for (unsigned i = 0; i < in.buffers.size(); i++) {
      const loop::Buffer& buffer = func_.buffer(in.buffers[i]);
      const Placement& place = layout_.buffers[at(in.buffers[i])];
      f->addParamAttr(i, llvm::Attribute::NoAlias);
      f->addParamAttr(i, llvm::Attribute::NoCapture);
      if (buffer.scope == loop::Scope::input || buffer.scope == loop::Scope::constant)
        f->addParamAttr(i, llvm::Attribute::ReadOnly);
      const bool is_param = loop::is_param(buffer.scope);  // may be a part of a larger tensor, and not all there
      if (!is_param && place.bytes > 0) f->addDereferenceableParamAttr(i, static_cast<u64>(place.bytes));
      const i64 align = is_param ? size_of(buffer.dtype) : 64;
      f->addParamAttr(i, llvm::Attribute::getWithAlignment(module_.getContext(), llvm::Align(static_cast<u64>(align))));
    }
    return f;
  }

  void open_region(Emitter& inner, Function* f, const Inputs& in) {
    unsigned arg = 0;
    for (const int buffer : in.buffers) inner.set_buffer(buffer, f->getArg(arg++));
    for (const Loop* l : open_loops_) inner.set_var(l->var, emitter_.var_value(l->var));
    for (const int var : in.vars) inner.set_var(var, {VarValue::value, 0, f->getArg(arg++), 0});
    inner.enter_home(nullptr);
    for (const Loop* l : open_loops_) inner.enter_home(l);
  }

  void call_run(const std::vector<const Stmt*>& run) {
    std::set<int> used;
    for (const Stmt* stmt : run) add_used_buffers(*stmt, used);
    const Inputs in = inputs(used);
    Function* f = region_function(in, fmt::format("{}.{}", symbol_, ++regions_), false);
    Emitter inner(module_, isa_, func_, layout_, f);
    open_region(inner, f, in);
    for (const Stmt* stmt : run) inner.statement(*stmt);
    inner.b.CreateRetVoid();
    std::vector<Value*> args;
    for (const int buffer : in.buffers) args.push_back(bases_.at(buffer));
    for (const int var : in.vars) args.push_back(emitter_.var_value(var).v);
    emitter_.b.CreateCall(f, args);
  }

  void call_parallel(const Loop& outer) {
    const std::vector<const Loop*> nest = parallel_nest(outer);
    i64 range = 1;
    for (const Loop* l : nest) range *= l->extent;
    if (range == 0) return;
    const Inputs in = inputs(used_buffers(outer.body));
    const std::string name = fmt::format("{}.{}", symbol_, ++regions_);
    Function* body = emit_range(nest, in, name);
    Function* chunk = emit_chunk(in, body, name);

    llvm::IRBuilder<>& b = emitter_.b;
    Value* context = context_slots(static_cast<i64>(in.vars.size()) + 2);
    u64 slot = 0;
    const auto put = [&](Value* value) {
      b.CreateAlignedStore(value, b.CreateConstGEP1_64(b.getInt64Ty(), context, slot++), llvm::Align(8));
    };
    put(kernel_->getArg(0));
    put(kernel_->getArg(1));
    for (const int var : in.vars) put(emitter_.var_value(var).v);
    Value* runtime = kernel_->getArg(2);
    Type* const types[] = {pointer(), pointer(), pointer(), b.getInt64Ty()};
    b.CreateCall(FunctionType::get(b.getVoidTy(), types, false), b.CreateLoad(pointer(), runtime),
                 {runtime, chunk, context, b.getInt64(static_cast<u64>(range))});
  }

  // 8-byte slots on the kernel's stack; pointers are stored as they are.
  Value* context_slots(i64 count) {
    llvm::IRBuilder<>& b = emitter_.b;
    const llvm::IRBuilderBase::InsertPointGuard guard(b);
    llvm::BasicBlock& entry = kernel_->getEntryBlock();
    b.SetInsertPoint(&entry, entry.getFirstInsertionPt());
    llvm::AllocaInst* slots = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), static_cast<u64>(count)));
    slots->setAlignment(llvm::Align(8));
    return slots;
  }

  Function* emit_range(const std::vector<const Loop*>& nest, const Inputs& in, const std::string& name) {
    Function* f = region_function(in, name, true);
    Emitter inner(module_, isa_, func_, layout_, f);
    open_region(inner, f, in);
    const unsigned begin = static_cast<unsigned>(f->arg_size()) - 2;
    inner.counted_loop(f->getArg(begin), f->getArg(begin + 1), [&](Value* at) {
      for (auto l = nest.rbegin(); l != nest.rend(); ++l) {
        const bool outermost = l + 1 == nest.rend();
        Value* extent = inner.b.getInt64(static_cast<u64>((*l)->extent));
        inner.set_var((*l)->var, {VarValue::value, 0, outermost ? at : inner.b.CreateURem(at, extent), 0});
        if (!outermost) at = inner.b.CreateUDiv(at, extent);
      }
      for (const Loop* l : nest) inner.enter_home(l);
      inner.statements(nest.back()->body);
    });
    inner.b.CreateRetVoid();
    return f;
  }

  Function* emit_chunk(const Inputs& in, Function* body, const std::string& name) {
    llvm::LLVMContext& context = module_.getContext();
    Type* const types[] = {pointer(), Type::getInt64Ty(context), Type::getInt64Ty(context), Type::getInt32Ty(context)};
    Function* f = make_function(FunctionType::get(Type::getVoidTy(context), types, false), name + ".chunk",
                                Function::InternalLinkage);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
    auto* work = llvm::BasicBlock::Create(context, "work", f);
    auto* nothing = llvm::BasicBlock::Create(context, "nothing", f);
    b.CreateCondBr(b.CreateICmpSLT(f->getArg(1), f->getArg(2)), work, nothing);
    b.SetInsertPoint(nothing);
    b.CreateRetVoid();
    b.SetInsertPoint(work);
    const auto slot = [&](Type* type, u64 i) {
      return b.CreateAlignedLoad(type, b.CreateConstGEP1_64(b.getInt64Ty(), f->getArg(0), i), llvm::Align(8));
    };
    Value *args = slot(pointer(), 0), *scratch = slot(pointer(), 1),
          *thread = b.CreateSExt(f->getArg(3), b.getInt64Ty());
    std::vector<Value*> values;
    for (const int buffer : in.buffers) values.push_back(base_pointer(b, args, scratch, thread, buffer));
    for (u64 v = 0; v < in.vars.size(); v++) values.push_back(slot(b.getInt64Ty(), v + 2));
    values.push_back(f->getArg(1));
    values.push_back(f->getArg(2));
    b.CreateCall(body, values);
    b.CreateRetVoid();
    return f;
  }

  llvm::Module& module_;
  const Isa& isa_;
  const loop::Func& func_;
  const Layout layout_;
  const std::string symbol_;
  Function* kernel_;
  Emitter emitter_;
  std::set<int> used_;
  std::map<int, Value*> bases_;          // valid in the kernel function
  std::vector<const Loop*> open_loops_;  // around the current region, outermost first
  int regions_ = 0;
};

}  // namespace

void emit_kernel(llvm::Module& module, const Isa& isa, const loop::Func& func, const std::string& symbol) {
  Conductor(module, isa, func, symbol).run();
}

}  // namespace mcc::codegen
