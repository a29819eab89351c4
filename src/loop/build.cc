// Expression builders, which fold constants and neutral elements as they go, and FuncBuilder, which writes algorithm
// form.
//
// The folds here are the ones that need no context: both operands constant, x+0, x*1, x*0 (integers), a known
// condition. None changes a float's bits: x+0.0 stays because of -0.0.
#include "loop/build.h"

#include <cmath>
#include <limits>

#include "loop/scalar.h"

namespace mcc::loop {

namespace {

Expr from_scalar(DType dtype, Scalar value) {
  Expr e;
  e.dtype = dtype;
  if (is_float(dtype))
    e.f = value.f;
  else
    e.i = value.i;
  return e;
}

Scalar to_scalar(const Expr& e) { return {e.i, e.f}; }
bool is_constant(const Expr& e) { return e.op == ExprOp::constant; }
bool is_true(const Expr& e) { return is_constant(e) && e.dtype == DType::boolean && e.i == 1; }
bool is_false(const Expr& e) { return is_constant(e) && e.dtype == DType::boolean && e.i == 0; }
bool is_one(const Expr& e) { return is_constant(e) && (is_float(e.dtype) ? e.f == 1 : e.i == 1); }
bool is_int_zero(const Expr& e) { return is_constant(e) && is_int(e.dtype) && e.i == 0; }

bool commutes(ExprOp op) {
  return op == ExprOp::add || op == ExprOp::mul || op == ExprOp::logical_and || op == ExprOp::logical_or;
}

// The operand that `a op b` equals when the other is neutral or absorbing; null when neither is.
Expr* equal_operand(ExprOp op, Expr& a, Expr& b) {
  switch (op) {
    case ExprOp::add: return is_int_zero(b) ? &a : nullptr;
    case ExprOp::sub: return is_int_zero(b) ? &a : nullptr;
    case ExprOp::mul: return is_one(b) ? &a : is_int_zero(b) ? &b : nullptr;
    case ExprOp::div:
    case ExprOp::floordiv: return is_one(b) ? &a : nullptr;
    case ExprOp::logical_and: return is_true(b) ? &a : is_false(b) ? &b : nullptr;
    case ExprOp::logical_or: return is_false(b) ? &a : is_true(b) ? &b : nullptr;
    default: return nullptr;
  }
}

Expr node(ExprOp op, DType dtype, std::vector<Expr> args) {
  Expr e;
  e.op = op;
  e.dtype = dtype;
  e.args = std::move(args);
  return e;
}

template <typename... Args>
std::vector<Expr> list(Args&&... args) {
  std::vector<Expr> items;
  items.reserve(sizeof...(args));
  (items.push_back(std::forward<Args>(args)), ...);
  return items;
}

}  // namespace

Expr constant(DType dtype, double value) { return from_scalar(dtype, convert(DType::f64, dtype, {0, value})); }

Expr const_int(i64 value, DType dtype) { return from_scalar(dtype, convert(DType::i64, dtype, {value, 0})); }

Expr const_float(double value, DType dtype) { return constant(dtype, value); }

Expr var(int id) {
  Expr e;
  e.op = ExprOp::var;
  e.i = id;
  return e;
}

Expr unary(ExprOp op, Expr a) {
  if (is_constant(a)) return from_scalar(result_type(op, a.dtype), evaluate(op, a.dtype, to_scalar(a)));
  const DType dtype = result_type(op, a.dtype);
  return node(op, dtype, list(std::move(a)));
}

Expr binary(ExprOp op, Expr a, Expr b) {
  MCC_CHECK(a.dtype == b.dtype);
  const DType dtype = result_type(op, a.dtype);
  if (is_constant(a) && is_constant(b)) return from_scalar(dtype, evaluate(op, a.dtype, to_scalar(a), to_scalar(b)));
  if (commutes(op) && is_constant(a)) std::swap(a, b);
  if (Expr* same = equal_operand(op, a, b)) return std::move(*same);
  return node(op, dtype, list(std::move(a), std::move(b)));
}

Expr cast(DType to, Expr a) {
  if (a.dtype == to) return a;
  if (is_constant(a)) return from_scalar(to, convert(a.dtype, to, to_scalar(a)));
  return node(ExprOp::cast, to, list(std::move(a)));
}

Expr select(Expr cond, Expr a, Expr b) {
  MCC_CHECK(cond.dtype == DType::boolean && a.dtype == b.dtype);
  if (is_constant(cond)) return cond.i != 0 ? a : b;
  const DType dtype = a.dtype;
  return node(ExprOp::select, dtype, list(std::move(cond), std::move(a), std::move(b)));
}

Expr load(const Buffer& buffer, int id, std::vector<Expr> index) {
  MCC_CHECK(index.size() == buffer.shape.size());
  Expr e = node(ExprOp::load, buffer.dtype, std::move(index));
  e.i = id;
  return e;
}

Expr operator+(Expr a, Expr b) { return binary(ExprOp::add, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return binary(ExprOp::sub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return binary(ExprOp::mul, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return binary(ExprOp::div, std::move(a), std::move(b)); }
Expr operator<(Expr a, Expr b) { return binary(ExprOp::lt, std::move(a), std::move(b)); }
Expr operator&&(Expr a, Expr b) { return binary(ExprOp::logical_and, std::move(a), std::move(b)); }
Expr operator||(Expr a, Expr b) { return binary(ExprOp::logical_or, std::move(a), std::move(b)); }

Expr operator+(Expr a, i64 b) {
  const DType dtype = a.dtype;
  return std::move(a) + const_int(b, dtype);
}
Expr operator-(Expr a, i64 b) {
  const DType dtype = a.dtype;
  return std::move(a) - const_int(b, dtype);
}
Expr operator*(Expr a, i64 b) {
  const DType dtype = a.dtype;
  return std::move(a) * const_int(b, dtype);
}
Expr floordiv(Expr a, i64 b) {
  const DType dtype = a.dtype;
  return binary(ExprOp::floordiv, std::move(a), const_int(b, dtype));
}
Expr floormod(Expr a, i64 b) {
  const DType dtype = a.dtype;
  return binary(ExprOp::floormod, std::move(a), const_int(b, dtype));
}
Expr min(Expr a, Expr b) { return binary(ExprOp::min, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return binary(ExprOp::max, std::move(a), std::move(b)); }

std::optional<i64> as_int(const Expr& e) {
  if (!is_constant(e) || !is_int(e.dtype)) return std::nullopt;
  return e.i;
}

bool is_const(const Expr& e, i64 value) { return as_int(e) == value; }

Expr identity(StoreOp op, DType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  switch (op) {
    case StoreOp::add:
    case StoreOp::bit_xor: return const_int(0, dtype);
    case StoreOp::mul: return const_int(1, dtype);
    case StoreOp::min:
      if (is_float(dtype)) return constant(dtype, inf);
      return const_int(dtype == DType::u64 ? -1 : max_value(dtype), dtype);
    case StoreOp::max:
      if (is_float(dtype)) return constant(dtype, -inf);
      return const_int(min_value(dtype), dtype);
    case StoreOp::logical_and: return const_int(1, DType::boolean);
    case StoreOp::logical_or: return const_int(0, DType::boolean);
    case StoreOp::assign: break;
  }
  MCC_CHECK(!"assign has no identity");
  return {};
}

// --- FuncBuilder ----------------------------------------------------------------------------------------------------

namespace {

int add_buffer(Func& func, std::string name, DType dtype, Shape shape, Scope scope) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.dtype = dtype;
  buffer.shape = std::move(shape);
  buffer.scope = scope;
  func.buffers.push_back(std::move(buffer));
  return static_cast<int>(func.buffers.size()) - 1;
}

}  // namespace

FuncBuilder::FuncBuilder(std::string name) { func_.name = std::move(name); }

int FuncBuilder::input(std::string name, DType dtype, Shape shape) {
  return add_buffer(func_, std::move(name), dtype, std::move(shape), Scope::input);
}
int FuncBuilder::constant_input(std::string name, DType dtype, Shape shape) {
  return add_buffer(func_, std::move(name), dtype, std::move(shape), Scope::constant);
}
int FuncBuilder::output(std::string name, DType dtype, Shape shape) {
  return add_buffer(func_, std::move(name), dtype, std::move(shape), Scope::output);
}
int FuncBuilder::temp(std::string name, DType dtype, Shape shape) {
  return add_buffer(func_, std::move(name), dtype, std::move(shape), Scope::temp);
}

Expr FuncBuilder::load(int buffer, std::vector<Expr> index) const {
  return loop::load(func_.buffer(buffer), buffer, std::move(index));
}

FuncBuilder& FuncBuilder::axes(std::vector<std::string> names) {
  axes_ = std::move(names);
  return *this;
}

Vars FuncBuilder::new_vars(size_t count) {
  MCC_CHECK(axes_.empty() || axes_.size() == count);
  Vars vars;
  for (size_t i = 0; i < count; i++) {
    func_.vars.push_back(axes_.empty() ? fmt::format("i{}", i) : axes_[i]);
    vars.push_back(var(static_cast<int>(func_.vars.size()) - 1));
  }
  return vars;
}

void FuncBuilder::nest(const Vars& vars, const Shape& extents, Store store) {
  MCC_CHECK(vars.size() == extents.size());
  Stmt stmt{std::move(store)};
  for (size_t i = extents.size(); i-- > 0;) {
    Loop loop;
    loop.var = static_cast<int>(vars[i].i);
    loop.extent = extents[i];
    loop.body.push_back(std::move(stmt));
    stmt = Stmt{std::move(loop)};
  }
  body_.push_back(std::move(stmt));
}

void FuncBuilder::block(const std::string& name, const Shape& extents, int buffer,
                        const std::function<Expr(const Vars&)>& value) {
  block_at(name, extents, buffer, [](const Vars& v) { return v; }, value);
}

void FuncBuilder::block_at(const std::string& name, const Shape& extents, int buffer,
                           const std::function<std::vector<Expr>(const Vars&)>& index,
                           const std::function<Expr(const Vars&)>& value, StoreOp op) {
  const Vars vars = new_vars(extents.size());
  nest(vars, extents, Store{buffer, index(vars), value(vars), op, name});
  axes_.clear();
}

void FuncBuilder::reduce(const std::string& name, const Shape& spatial, const Shape& reduction, int buffer, StoreOp op,
                         Expr init, const std::function<Expr(const Vars& s, const Vars& r)>& value) {
  const std::vector<std::string> names = std::move(axes_);
  axes_.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(names.empty() ? 0 : spatial.size()));
  const Vars init_vars = new_vars(spatial.size());
  nest(init_vars, spatial, Store{buffer, init_vars, std::move(init), StoreOp::assign, name + ".init"});

  axes_ = names;
  const Vars vars = new_vars(spatial.size() + reduction.size());
  const auto middle = vars.begin() + static_cast<std::ptrdiff_t>(spatial.size());
  const Vars s(vars.begin(), middle), r(middle, vars.end());
  Shape extents = spatial;
  extents.insert(extents.end(), reduction.begin(), reduction.end());
  nest(vars, extents, Store{buffer, s, value(s, r), op, name});
  axes_.clear();
}

void FuncBuilder::region(const std::string& name, i64 extent, const std::function<void(Expr)>& body) {
  axes_ = {name};
  const Expr v = new_vars(1)[0];
  axes_.clear();
  std::vector<Stmt> outer = std::move(body_);
  body_.clear();
  body(v);
  Loop loop;
  loop.var = static_cast<int>(v.i);
  loop.extent = extent;
  loop.body = std::move(body_);
  body_ = std::move(outer);
  body_.push_back(Stmt{std::move(loop)});
}

Func FuncBuilder::take() {
  func_.body = std::move(body_);
  return std::move(func_);
}

}  // namespace mcc::loop
