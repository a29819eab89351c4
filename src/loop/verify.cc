// Checks a loop program against the rules of loop.h and names the first thing that breaks one, with the place: the
// block or the expression as it prints. Bounds are proved by interval arithmetic from the loops' extents, so only what
// is outside for certain is refused; guarded and data-dependent indices are left to the interpreter.
#include <set>

#include "loop/affine.h"
#include "loop/loop_ops.h"
#include "loop/scalar.h"
#include "loop/text_form.h"
#include "loop/winograd.h"

namespace mcc::loop {

namespace {

// The first broken rule; thrown inside this file only, so that the checks read as statements.
struct Broken {
  std::string what;
};

template <typename... Args>
[[noreturn]] void broken(fmt::format_string<Args...> format, Args&&... args) {
  throw Broken{fmt::format(format, std::forward<Args>(args)...)};
}

class Verifier {
 public:
  explicit Verifier(const Func& func) : func_(func), ranges_(func.vars.size()), fixed_(func.vars.size(), false) {}
  void func();

 private:
  void buffers();
  void body(const std::vector<Stmt>& stmts);
  void loop(const Loop& loop);
  void prefetch(const Loop& loop, const Prefetch& fetch);
  void store(const Store& store);
  void expr(const Expr& e);
  void operation(const Expr& e);
  void index(int buffer, const std::vector<Expr>& index, bool guarded);
  void reg_index(const Buffer& buffer, const Expr& e);
  std::string shown(const Expr& e) const { return print(func_, e); }

  const Func& func_;
  std::vector<std::optional<Range>> ranges_;  // of the variables in scope
  std::vector<bool> fixed_;                   // variables of unrolled or vectorized loops: constants in each copy
  std::vector<const Loop*> loops_;            // around the statement
  int guards_ = 0;                            // selects and conditions around the expression
};

void Verifier::buffers() {
  std::set<std::string> names;
  for (const Buffer& b : func_.buffers) {
    if (!is_identifier(b.name)) broken("buffer '{}': the name is not an identifier", b.name);
    if (!names.insert(b.name).second) broken("buffer {}: two buffers have this name", b.name);
    for (const i64 extent : b.shape) {
      if (extent < 0) broken("buffer {}: negative extent", b.name);
    }
    if (b.pack == Pack{}) continue;
    if (b.scope != Scope::constant) broken("buffer {}: only constants can be packed", b.name);
    if (b.pack.dims.size() != b.shape.size()) broken("buffer {}: pack does not name each dimension", b.name);
    const Shape& source = b.pack.source;
    const bool transformed = b.pack.winograd != 0;
    if (transformed && (!winograd(b.pack.winograd) || b.dtype != DType::f32 || source.size() != 4 || source[2] != 3 ||
                        source[3] != 3)) {
      broken("buffer {}: no Winograd transform F({}) of {}", b.name, b.pack.winograd, to_string(source));
      continue;
    }
    for (const PackDim& dim : b.pack.dims) {
      const bool known = dim.axis >= 0 && dim.axis < static_cast<int>(source.size());
      if (!known || dim.scale < 1) broken("buffer {}: pack dimension {}*{} has no source", b.name, dim.axis, dim.scale);
    }
  }
}

void Verifier::func() {
  buffers();
  for (const std::string& name : func_.vars) {
    if (!is_identifier(name)) broken("variable '{}': the name is not an identifier", name);
  }
  body(func_.body);
}

void Verifier::body(const std::vector<Stmt>& stmts) {
  for (const Stmt& stmt : stmts) {
    if (const auto* nested = std::get_if<Loop>(&stmt.node)) {
      loop(*nested);
    } else if (const auto* branch = std::get_if<If>(&stmt.node)) {
      expr(branch->condition);
      if (branch->condition.dtype != DType::boolean) broken("if {}: not a bool", shown(branch->condition));
      guards_++;
      body(branch->then_body);
      body(branch->else_body);
      guards_--;
    } else {
      store(std::get<Store>(stmt.node));
    }
  }
}

void Verifier::loop(const Loop& loop) {
  if (loop.var < 0 || loop.var >= static_cast<int>(func_.vars.size())) broken("a loop has no variable");
  const auto id = static_cast<size_t>(loop.var);
  const std::string& name = func_.vars[id];
  if (loop.extent < 0) broken("loop {}: negative extent", name);
  for (const Loop* outer : loops_) {
    if (func_.vars[at(outer->var)] == name) broken("loop {}: inside a loop of the same name", name);
  }
  if (loop.extent == 0) return;  // nothing in it ever runs
  loops_.push_back(&loop);
  ranges_[id] = Range{0, loop.extent - 1};
  fixed_[id] = loop.kind == LoopKind::unroll || loop.kind == LoopKind::vectorize || loop.extent == 1;
  for (const Prefetch& fetch : loop.ahead) prefetch(loop, fetch);
  body(loop.body);
  ranges_[id].reset();
  loops_.pop_back();
}

void Verifier::prefetch(const Loop& loop, const Prefetch& fetch) {
  const std::string& name = func_.vars[at(loop.var)];
  if (loop.kind != LoopKind::serial) broken("loop {}: only serial loops fetch ahead", name);
  if (fetch.buffer < 0 || fetch.buffer >= static_cast<int>(func_.buffers.size()))
    broken("loop {}: fetches an unknown buffer ahead", name);
  const Buffer& b = func_.buffer(fetch.buffer);
  if (!is_param(b.scope)) broken("loop {}: fetches {} ahead, which is no parameter", name, b.name);
  if (fetch.lines < 1 || fetch.lines > kMostLines)
    broken("loop {}: fetches {} lines of {} ahead", name, fetch.lines, b.name);
  expr(fetch.at);
  if (!to_affine(fetch.at)) broken("loop {}: {} is not affine", name, shown(fetch.at));
}

void Verifier::store(const Store& store) {
  const std::string block = store.block.empty() ? "a store" : store.block;
  if (!store.block.empty() && !is_identifier(store.block)) broken("block '{}': the name is not an identifier", block);
  if (store.buffer < 0 || store.buffer >= static_cast<int>(func_.buffers.size())) broken("{}: no such buffer", block);
  const Buffer& b = func_.buffer(store.buffer);
  if (b.scope == Scope::input || b.scope == Scope::constant) broken("{}: writes to the input {}", block, b.name);
  index(store.buffer, store.index, guards_ > 0);
  expr(store.value);
  if (store.value.dtype != b.dtype) {
    broken("{}: the value is {}, {} holds {}", block, mcc::name(store.value.dtype), b.name, mcc::name(b.dtype));
  }
  const bool logic = store.op == StoreOp::logical_and || store.op == StoreOp::logical_or;
  const bool wrong = store.op == StoreOp::bit_xor  ? !is_int(b.dtype)
                     : store.op == StoreOp::assign ? false
                                                   : logic != (b.dtype == DType::boolean);
  if (wrong) broken("{}: {} is not defined on {}", block, store_op_names()[at(store.op)], mcc::name(b.dtype));
}

// A register is named by numbers: once unrolled, every index is a constant.
void Verifier::reg_index(const Buffer& buffer, const Expr& e) {
  if (e.op == ExprOp::var && !fixed_[at(e.i)]) {
    broken("reg {}: its index depends on {}, which is neither unrolled nor vectorized", buffer.name, shown(e));
  }
  if (e.op == ExprOp::load) broken("reg {}: its index depends on memory", buffer.name);
  for (const Expr& arg : e.args) reg_index(buffer, arg);
}

void Verifier::index(int buffer, const std::vector<Expr>& index, bool guarded) {
  const Buffer& b = func_.buffer(buffer);
  if (index.size() != b.shape.size()) broken("{}: {} indices for {} dimensions", b.name, index.size(), b.shape.size());
  for (size_t d = 0; d < index.size(); d++) {
    expr(index[d]);
    if (index[d].dtype != DType::i64) broken("{}: index {} is not an i64", b.name, shown(index[d]));
    if (b.scope == Scope::reg) reg_index(b, index[d]);
    if (guarded) continue;
    const auto range = bounds(index[d], [&](int v) { return ranges_[at(v)]; });
    Affine affine;
    const bool exact = add_affine(index[d], 1, affine);  // then both bounds are reached
    const bool outside = range && (range->min >= b.shape[d] || range->max < 0 ||
                                   (exact && (range->min < 0 || range->max >= b.shape[d])));
    if (outside) {
      broken("{}: index {} runs over {}..{}, dimension {} is {}", b.name, shown(index[d]), range->min, range->max, d,
             b.shape[d]);
    }
  }
}

void Verifier::operation(const Expr& e) {
  const auto wrong = [&](std::string_view why) { broken("{}: {}", shown(e), why); };
  const DType operand = e.args.back().dtype;
  if (e.op == ExprOp::cast) return;
  if (e.op == ExprOp::select) {
    if (e.args[0].dtype != DType::boolean) wrong("the condition is not a bool");
    if (e.args[1].dtype != operand || e.dtype != operand) wrong("the types of the cases differ");
    return;
  }
  if (e.args[0].dtype != operand) wrong("the types of the arguments differ");
  if (e.dtype != result_type(e.op, operand)) wrong("the type of the result is wrong");
  const bool truth = operand == DType::boolean;
  const bool on_bool = is_logic(e.op) || e.op == ExprOp::eq || e.op == ExprOp::ne;
  if (is_logic(e.op) != truth && !(truth && on_bool)) wrong(fmt::format("not defined on {}", mcc::name(operand)));
  if ((is_float_only(e.op) && !is_float(operand)) || (is_int_only(e.op) && !is_int(operand))) {
    wrong(fmt::format("not defined on {}", mcc::name(operand)));
  }
}

bool guards(ExprOp op) { return op == ExprOp::select || op == ExprOp::logical_and || op == ExprOp::logical_or; }

void Verifier::expr(const Expr& e) {
  if (e.op == ExprOp::constant) {
    const bool fits = is_float(e.dtype) ? e.f != e.f || round_to(e.dtype, e.f) == e.f : wrap(e.dtype, e.i) == e.i;
    if (!fits)
      broken("constant {}: not a value of {}", is_float(e.dtype) ? e.f : static_cast<double>(e.i), mcc::name(e.dtype));
    return;
  }
  if (e.op == ExprOp::var) {
    if (e.i < 0 || e.i >= static_cast<i64>(func_.vars.size())) broken("unknown variable");
    if (!ranges_[at(e.i)]) broken("variable {}: used outside its loop", shown(e));
    if (e.dtype != DType::i64) broken("variable {}: not an i64", shown(e));
    return;
  }
  if (e.op == ExprOp::load) {
    if (e.i < 0 || e.i >= static_cast<i64>(func_.buffers.size())) broken("a load from an unknown buffer");
    const Buffer& b = func_.buffer(e.i);
    if (b.dtype != e.dtype)
      broken("{}: the load is {}, the buffer {}", shown(e), mcc::name(e.dtype), mcc::name(b.dtype));
    return index(static_cast<int>(e.i), e.args, guards_ > 0);
  }
  if (static_cast<int>(e.args.size()) != arity(e.op)) broken("{}: takes {} arguments", name(e.op), arity(e.op));
  expr(e.args[0]);
  guards_ += guards(e.op);
  for (size_t i = 1; i < e.args.size(); i++) expr(e.args[i]);
  guards_ -= guards(e.op);
  operation(e);
}

}  // namespace

std::string verify(const Func& func) {
  try {
    Verifier(func).func();
    return "";
  } catch (const Broken& rule) {
    return rule.what;
  }
}

}  // namespace mcc::loop
