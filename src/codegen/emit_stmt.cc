// Statements -> LLVM IR. Loops count upwards and test at the end (extents are numbers, never 0 here), unrolled loops
// are written out with their variable as a number, a vectorized loop becomes its parts (emitter.h).
#include <algorithm>

#include "codegen/emitter.h"
#include "loop/build.h"
#include "loop/loop_ops.h"
#include "loop/scalar.h"

namespace mcc::codegen {

using llvm::Type;
using loop::Expr;
using loop::ExprOp;
using loop::Loop;
using loop::LoopKind;
using loop::Stmt;
using loop::StoreOp;

namespace {

constexpr i64 kMaxStores = 1 << 16;  // of one function, after unrolling
constexpr i64 kMaxParts = 32;        // a longer vectorized loop becomes a loop over blocks of kBlockParts
constexpr i64 kBlockParts = 4;

i64 computed_bytes(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16 ? 4 : size_of(dtype); }

void widen_for_loads(const Expr& expr, int var, i64& bytes) {
  if (expr.op == ExprOp::load && loop::uses_var(expr, var)) bytes = std::max(bytes, computed_bytes(expr.dtype));
  for (const Expr& arg : expr.args) widen_for_loads(arg, var, bytes);
}

// Bytes of the widest element that the lanes of a vectorized loop read or write.
void widest_element(const loop::Func& func, const std::vector<Stmt>& body, int var, i64& bytes) {
  for (const Stmt& stmt : body) {
    if (const Loop* l = std::get_if<Loop>(&stmt.node)) widest_element(func, l->body, var, bytes);
    if (const loop::If* branch = std::get_if<loop::If>(&stmt.node)) {
      widest_element(func, branch->then_body, var, bytes);
      widest_element(func, branch->else_body, var, bytes);
    }
    if (const loop::Store* s = std::get_if<loop::Store>(&stmt.node)) {
      bytes = std::max(bytes, computed_bytes(func.buffer(s->buffer).dtype));
      for (const Expr& index : s->index) widen_for_loads(index, var, bytes);
      widen_for_loads(s->value, var, bytes);
    }
  }
}

bool is_idempotent(StoreOp op) {
  return op == StoreOp::min || op == StoreOp::max || op == StoreOp::logical_and || op == StoreOp::logical_or;
}

// Moves instructions that stand side by side apart, over what follows them in their block: prefetches in a row gained
// nothing, the same ones spread a sixth (docs/EXPERIMENTS.md).
void spread(const std::vector<llvm::Instruction*>& issued) {
  if (issued.empty()) return;
  std::vector<llvm::Instruction*> after;
  for (llvm::Instruction* i = issued.back()->getNextNode(); i; i = i->getNextNode()) after.push_back(i);
  for (size_t n = 1; n < issued.size(); n++) {
    const size_t place = after.size() * n / issued.size();
    if (place > 0) issued[n]->moveBefore(after[place]);
  }
}

}  // namespace

std::vector<Part> split_lanes(i64 extent, i64 native) {
  std::vector<Part> parts;
  for (i64 begin = 0; begin < extent; begin += native) {
    const int active = static_cast<int>(std::min(native, extent - begin));
    int width = 1;
    while (width < active) width *= 2;
    parts.push_back({begin, width, active});
  }
  return parts;
}

void Emitter::set_var(int var, VarValue value) { vars_[at(var)] = value; }

void Emitter::statements(const std::vector<Stmt>& body) {
  for (const Stmt& stmt : body) statement(stmt);
}

void Emitter::statement(const Stmt& stmt) {
  if (const loop::Store* s = std::get_if<loop::Store>(&stmt.node)) {
    store(*s);
  } else if (const Loop* l = std::get_if<Loop>(&stmt.node)) {
    loop_statement(*l);
  } else {
    branch(std::get<loop::If>(stmt.node), [&](const std::vector<Stmt>& body) { statements(body); });
  }
}

void Emitter::branch(const loop::If& branch, const std::function<void(const std::vector<Stmt>&)>& emit) {
  Value* condition = scalar(branch.condition);
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition))
    return emit(known->isOne() ? branch.then_body : branch.else_body);
  llvm::LLVMContext& context = b.getContext();
  auto* then_block = llvm::BasicBlock::Create(context, "if.then", function_);
  auto* else_block = llvm::BasicBlock::Create(context, "if.else", function_);
  auto* end = llvm::BasicBlock::Create(context, "if.end", function_);
  b.CreateCondBr(condition, then_block, else_block);
  const auto side = [&](llvm::BasicBlock* block, const std::vector<Stmt>& body) {
    const Scope scope(*this);
    b.SetInsertPoint(block);
    emit(body);
    b.CreateBr(end);
  };
  side(then_block, branch.then_body);
  side(else_block, branch.else_body);
  b.SetInsertPoint(end);
}

void Emitter::counted_loop(Value* begin, Value* end, const std::function<void(Value*)>& body) {
  const Scope scope(*this);
  llvm::LLVMContext& context = b.getContext();
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* block = llvm::BasicBlock::Create(context, "loop", function_);
  auto* after = llvm::BasicBlock::Create(context, "after", function_);
  b.CreateBr(block);
  b.SetInsertPoint(block);
  llvm::PHINode* var = b.CreatePHI(b.getInt64Ty(), 2);
  var->addIncoming(begin, before);
  depth_++;
  body(var);
  depth_--;
  Value* next = b.CreateAdd(var, b.getInt64(1), "", true, true);
  var->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpNE(next, end), block, after);
  b.SetInsertPoint(after);
}

void Emitter::serial_loop(const Loop& l, const std::function<void()>& body) {
  if (l.extent <= 0) return;
  if (l.extent == 1 || l.kind == LoopKind::unroll) {
    for (i64 i = 0; i < l.extent; i++) {
      set_var(l.var, {VarValue::number, i, nullptr, depth_});
      body();
    }
  } else {
    counted_loop(b.getInt64(0), b.getInt64(static_cast<u64>(l.extent)), [&](Value* var) {
      set_var(l.var, {VarValue::value, 0, var, depth_});
      std::vector<llvm::Instruction*> fetches;
      for (const loop::Prefetch& fetch : l.ahead) prefetch(fetch, fetches);
      body();
      spread(fetches);
    });
  }
  set_var(l.var, {});
}

void Emitter::loop_statement(const Loop& l) {
  if (layout_.vector_loops.contains(&l)) return vector_loop(l);
  if (const loop::Store* s = transposable(l)) return transposed_store(l, *s);
  if (const Loop* lanes = lane_reduction(l)) return reduce_lanes(l, *lanes);
  serial_loop(l, [&] {
    enter_home(&l);
    statements(l.body);
  });
}

// The vectorized loop at the bottom of a perfect nest whose only statement accumulates into one element; else null.
const Loop* Emitter::lane_reduction(const Loop& l) const {
  if (lanes_ || partial_.store) return nullptr;
  std::vector<int> vars = {l.var};
  const Loop* inner = &l;
  while (!layout_.vector_loops.contains(inner)) {
    if (inner->body.size() != 1 || inner->extent == 0) return nullptr;
    inner = std::get_if<Loop>(&inner->body[0].node);
    if (!inner) return nullptr;
    vars.push_back(inner->var);
  }
  if (inner->body.size() != 1 || inner->extent > kMaxParts * native_lanes(*inner)) return nullptr;
  const loop::Store* s = std::get_if<loop::Store>(&inner->body[0].node);
  if (!s || s->op == StoreOp::assign || loop::loads_buffer(s->value, s->buffer)) return nullptr;
  if (layout_.buffers[at(s->buffer)].lane_pitch > 1) return nullptr;
  for (const Expr& index : s->index) {
    if (has_load(index) || std::ranges::any_of(vars, [&](int var) { return loop::uses_var(index, var); }))
      return nullptr;
  }
  return inner;
}

// Every lane accumulates on its own; the lanes meet after the nest.
void Emitter::reduce_lanes(const Loop& l, const Loop& lanes) {
  const loop::Store& s = std::get<loop::Store>(lanes.body[0].node);
  const DType dtype = func_.buffer(s.buffer).dtype;
  const std::vector<Part> parts = split_lanes(lanes.extent, native_lanes(lanes));
  const Expr start = loop::identity(s.op, dtype);
  partial_.store = &s;
  for (const Part& part : parts) {
    Type* type = llvm::FixedVectorType::get(value_type(b.getContext(), dtype), static_cast<unsigned>(part.width));
    partial_.parts.push_back(stack(type));
    b.CreateStore(is_float(dtype) ? float_constant(type, start.f) : int_constant(type, start.i), partial_.parts.back());
  }
  serial_loop(l, [&] {
    enter_home(&l);
    statements(l.body);
  });
  Val sums{true, {}};
  for (llvm::AllocaInst* sum : partial_.parts) sums.parts.push_back(b.CreateLoad(sum->getAllocatedType(), sum));
  partial_ = {};
  lanes_ = Lanes{lanes.var, lanes.extent, parts};
  const Val total{false, {horizontal(s.op, dtype, sums)}};
  lanes_.reset();
  store_uniform(s, address(s.buffer, s.index), total);
}

llvm::AllocaInst* Emitter::stack(Type* type) {
  const llvm::IRBuilderBase::InsertPointGuard guard(b);
  llvm::BasicBlock& entry = function_->getEntryBlock();
  b.SetInsertPoint(&entry, entry.getFirstInsertionPt());
  llvm::AllocaInst* memory = b.CreateAlloca(type);
  memory->setAlignment(llvm::Align(64));
  return memory;
}

void Emitter::enter_home(const Loop* home) {
  const auto found = layout_.homes.find(home);
  if (found == layout_.homes.end()) return;
  for (const int buffer : found->second) {
    const i64 bytes = layout_.buffers[at(buffer)].bytes;
    set_buffer(buffer, stack(llvm::ArrayType::get(b.getInt8Ty(), static_cast<u64>(bytes))));
  }
}

i64 Emitter::native_lanes(const Loop& l) const {
  i64 bytes = 1;
  widest_element(func_, l.body, l.var, bytes);
  return std::max<i64>(1, isa_.vector_bytes / bytes);
}

void Emitter::vector_loop(const Loop& l) {
  const i64 native = native_lanes(l);
  if (l.extent <= kMaxParts * native) return vector_block(l, native, nullptr, l.extent);
  const i64 block = kBlockParts * native;
  counted_loop(b.getInt64(0), b.getInt64(static_cast<u64>(l.extent / block)),
               [&](Value* i) { vector_block(l, native, b.CreateMul(i, b.getInt64(static_cast<u64>(block))), block); });
  if (l.extent % block != 0)
    vector_block(l, native, b.getInt64(static_cast<u64>(l.extent / block * block)), l.extent % block);
}

void Emitter::vector_block(const Loop& l, i64 native, Value* base, i64 extent) {
  lanes_ = Lanes{l.var, extent, split_lanes(extent, native)};
  set_var(l.var, {VarValue::lane, 0, base, depth_});
  enter_home(&l);
  statements(l.body);
  set_var(l.var, {});
  lanes_.reset();
}

Value* Emitter::accumulate(StoreOp op, DType dtype, Value* old, Value* value) {
  return arithmetic(b, isa_, loop::operation(op), dtype, old, value, false);
}

// One scalar from all active lanes. Parts of equal width are combined first.
Value* Emitter::horizontal(StoreOp op, DType dtype, const Val& value) {
  Type* scalar_type = value_type(b.getContext(), dtype);
  const Expr start = loop::identity(op, dtype);
  Value* identity = is_float(dtype) ? float_constant(scalar_type, start.f) : int_constant(scalar_type, start.i);
  Value* total = nullptr;
  Value* whole = nullptr;
  const auto reduce = [&](Value* vector) {
    const unsigned lanes = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
    for (unsigned half = lanes / 2; half >= 1; half /= 2) {
      llvm::SmallVector<int, 32> low, high;
      for (unsigned lane = 0; lane < half; lane++) {
        low.push_back(static_cast<int>(lane));
        high.push_back(static_cast<int>(lane + half));
      }
      vector = accumulate(op, dtype, b.CreateShuffleVector(vector, low), b.CreateShuffleVector(vector, high));
    }
    Value* lane = b.CreateExtractElement(vector, u64{0});
    total = total ? accumulate(op, dtype, total, lane) : lane;
  };
  for (size_t p = 0; p < value.parts.size(); p++) {
    const Part& part = lanes_->parts[p];
    Value* lanes = value.parts[p];
    if (part.active < part.width) {
      lanes =
          b.CreateSelect(active_mask(part), lanes, b.CreateVectorSplat(static_cast<unsigned>(part.width), identity));
    }
    if (whole && whole->getType() != lanes->getType())
      reduce(lanes);
    else
      whole = whole ? accumulate(op, dtype, whole, lanes) : lanes;
  }
  reduce(whole);
  return total;
}

void Emitter::store_uniform(const loop::Store& s, const Address& address, const Val& value) {
  const DType dtype = func_.buffer(s.buffer).dtype;
  Value* result = nullptr;
  if (s.op == StoreOp::assign) {
    result = value.varying
                 ? b.CreateExtractElement(value.parts.back(), static_cast<u64>(lanes_->parts.back().active - 1))
                 : value.parts[0];
  } else {
    const bool once = !lanes_ || (!value.varying && is_idempotent(s.op));
    result = accumulate(s.op, dtype, load(s.buffer, address).parts[0],
                        once ? value.parts[0] : horizontal(s.op, dtype, varying(value)));
  }
  b.CreateAlignedStore(to_memory(dtype, result), uniform_pointer(s.buffer, address, 0),
                       llvm::Align(static_cast<u64>(size_of(dtype))));
}

// Lanes may meet in one element, so they go one after the other.
void Emitter::accumulate_scattered(const loop::Store& s, const Address& address, const Val& value) {
  const DType dtype = func_.buffer(s.buffer).dtype;
  const llvm::Align align(static_cast<u64>(size_of(dtype)));
  const Parts to = pointers(s.buffer, address);
  for (size_t p = 0; p < to.size(); p++) {
    for (int lane = 0; lane < lanes_->parts[p].active; lane++) {
      Value* pointer = b.CreateExtractElement(to[p], static_cast<u64>(lane));
      Value* old = from_memory(dtype, b.CreateAlignedLoad(memory_type(dtype), pointer, align));
      Value* sum = accumulate(s.op, dtype, old, b.CreateExtractElement(value.parts[p], static_cast<u64>(lane)));
      b.CreateAlignedStore(to_memory(dtype, sum), pointer, align);
    }
  }
}

void Emitter::add_to_partial(const loop::Store& s) {
  const DType dtype = func_.buffer(s.buffer).dtype;
  const Val value = varying(expression(s.value));
  for (size_t p = 0; p < value.parts.size(); p++) {
    llvm::AllocaInst* sum = partial_.parts[p];
    b.CreateStore(accumulate(s.op, dtype, b.CreateLoad(sum->getAllocatedType(), sum), value.parts[p]), sum);
  }
}

void Emitter::store(const loop::Store& s) {
  if (++emitted_ > kMaxStores)
    throw JobError(fmt::format("kernel {}: unrolled to more than {} stores", func_.name, kMaxStores));
  if (partial_.store == &s) return add_to_partial(s);
  const Address to = address(s.buffer, s.index);
  const Val value = expression(s.value);
  if (to.lane == 0 && to.scattered.empty()) return store_uniform(s, to, value);
  const Val lanes = varying(value);
  if (s.op == StoreOp::assign) return store_varying(s.buffer, to, lanes);
  if (!to.scattered.empty()) return accumulate_scattered(s, to, lanes);
  const DType dtype = func_.buffer(s.buffer).dtype;
  store_varying(s.buffer, to,
                map(load(s.buffer, to), lanes, [&](Value* old, Value* v) { return accumulate(s.op, dtype, old, v); }));
}

}  // namespace mcc::codegen
