// Integer expressions as numbers: affine form, and interval arithmetic for bounds. Nothing here assumes that arithmetic
// does not wrap: a result that may leave its type has no known bounds.
#include "loop/affine.h"

#include <algorithm>

#include "loop/build.h"
#include "loop/scalar.h"

namespace mcc::loop {

i64 Affine::coefficient(int var) const {
  const auto term = std::find_if(terms.begin(), terms.end(), [&](const auto& t) { return t.first == var; });
  return term == terms.end() ? 0 : term->second;
}

Affine affine_var(int var, i64 coefficient) { return {0, {{var, coefficient}}}; }

static void add_term(Affine& to, int var, i64 coefficient) {
  auto term = to.terms.begin();
  while (term != to.terms.end() && term->first < var) ++term;
  if (term == to.terms.end() || term->first != var) {
    if (coefficient != 0) to.terms.insert(term, {var, coefficient});
    return;
  }
  term->second += coefficient;
  if (term->second == 0) to.terms.erase(term);
}

void add_scaled(Affine& to, const Affine& a, i64 scale) {
  to.constant += a.constant * scale;
  for (const auto& [var, coefficient] : a.terms) add_term(to, var, coefficient * scale);
}

Affine minus(Affine a, const Affine& b) {
  add_scaled(a, b, -1);
  return a;
}

bool add_affine(const Expr& expr, i64 scale, Affine& sum) {
  switch (expr.op) {
    case ExprOp::constant: sum.constant += scale * expr.i; return expr.dtype == DType::i64;
    case ExprOp::var: add_term(sum, static_cast<int>(expr.i), scale); return true;
    case ExprOp::add: return add_affine(expr.args[0], scale, sum) && add_affine(expr.args[1], scale, sum);
    case ExprOp::sub: return add_affine(expr.args[0], scale, sum) && add_affine(expr.args[1], -scale, sum);
    case ExprOp::neg: return add_affine(expr.args[0], -scale, sum);
    case ExprOp::mul: {
      const auto left = as_int(expr.args[0]), right = as_int(expr.args[1]);
      if (right) return add_affine(expr.args[0], scale * *right, sum);
      return left && add_affine(expr.args[1], scale * *left, sum);
    }
    default: return false;
  }
}

std::optional<Affine> as_affine(const Expr& expr) {
  Affine sum;
  if (expr.dtype != DType::i64 || !add_affine(expr, 1, sum)) return std::nullopt;
  return sum;
}

std::optional<Affine> to_affine(const Expr& expr) {
  if (expr.dtype != DType::i64) return std::nullopt;
  const auto as_written = as_affine(expr);
  return as_written ? as_written : as_affine(simplify(expr));
}

Expr to_expr(const Affine& affine) {
  if (affine.is_constant()) return const_int(affine.constant);
  std::optional<Expr> sum;
  for (const auto& [id, coefficient] : affine.terms) {
    Expr term = var(id) * coefficient;
    sum = sum ? std::move(*sum) + std::move(term) : std::move(term);
  }
  return std::move(*sum) + affine.constant;
}

// --- bounds ---------------------------------------------------------------------------------------------------------

Range range_of(const Affine& affine, const std::function<i64(int var)>& extent) {
  Range range{affine.constant, affine.constant};
  for (const auto& [var, coefficient] : affine.terms) {
    const i64 far = coefficient * (extent(var) - 1);
    (far < 0 ? range.min : range.max) += far;
  }
  return range;
}

std::optional<Range> add(Range a, Range b) {
  Range sum;
  if (__builtin_add_overflow(a.min, b.min, &sum.min) || __builtin_add_overflow(a.max, b.max, &sum.max)) return {};
  return sum;
}

std::optional<Range> scale(Range a, i64 by) {
  Range product;
  if (__builtin_mul_overflow(a.min, by, &product.min) || __builtin_mul_overflow(a.max, by, &product.max)) return {};
  if (by < 0) std::swap(product.min, product.max);
  return product;
}

std::optional<Range> range_of_type(DType dtype) {
  if (dtype == DType::boolean) return Range{0, 1};
  if (!is_int(dtype) || dtype == DType::i64 || dtype == DType::u64) return std::nullopt;
  return Range{min_value(dtype), max_value(dtype)};
}

namespace {

Range hull(std::initializer_list<i64> values) { return {std::min(values), std::max(values)}; }

std::optional<Range> multiply(Range a, Range b) {
  i64 corners[4];
  int i = 0;
  for (const i64 x : {a.min, a.max}) {
    for (const i64 y : {b.min, b.max}) {
      if (__builtin_mul_overflow(x, y, &corners[i++])) return std::nullopt;
    }
  }
  return hull({corners[0], corners[1], corners[2], corners[3]});
}

// Division is monotonic in both operands while the divisor keeps its sign.
std::optional<Range> divide(ExprOp op, Range a, Range b) {
  if (b.min <= 0 && b.max >= 0) return std::nullopt;
  const auto of = [&](i64 x, i64 y) { return evaluate(op, DType::i64, {x, 0}, {y, 0}).i; };
  return hull({of(a.min, b.min), of(a.min, b.max), of(a.max, b.min), of(a.max, b.max)});
}

std::optional<Range> remainder(ExprOp op, Range a, Range b) {
  if (b.min <= 0) return std::nullopt;
  if (a.min >= 0 && a.max < b.min) return a;
  if (op == ExprOp::floormod || a.min >= 0) return Range{0, std::min(b.max - 1, a.min >= 0 ? a.max : b.max - 1)};
  return Range{std::max(1 - b.max, a.min), std::max<i64>(0, std::min(b.max - 1, a.max))};
}

std::optional<Range> binary_range(ExprOp op, Range a, Range b) {
  switch (op) {
    case ExprOp::add: return add(a, b);
    case ExprOp::sub: {
      const auto minus = scale(b, -1);
      return minus ? add(a, *minus) : std::nullopt;
    }
    case ExprOp::mul: return multiply(a, b);
    case ExprOp::div:
    case ExprOp::floordiv: return divide(op, a, b);
    case ExprOp::mod:
    case ExprOp::floormod: return remainder(op, a, b);
    case ExprOp::min: return Range{std::min(a.min, b.min), std::min(a.max, b.max)};
    case ExprOp::max: return Range{std::max(a.min, b.min), std::max(a.max, b.max)};
    case ExprOp::bit_and:
      if (a.min < 0 && b.min < 0) return std::nullopt;
      return Range{0, a.min < 0 ? b.max : b.min < 0 ? a.max : std::min(a.max, b.max)};
    case ExprOp::shr:
      if (b.min < 0 || b.max > 62) return std::nullopt;
      return hull({a.min >> b.min, a.min >> b.max, a.max >> b.min, a.max >> b.max});
    default: return std::nullopt;
  }
}

std::optional<Range> unary_range(ExprOp op, Range a) {
  switch (op) {
    case ExprOp::neg: return scale(a, -1);
    case ExprOp::abs: {
      const auto minus = scale(a, -1);
      if (!minus) return std::nullopt;
      return Range{a.min > 0 ? a.min : std::max<i64>(0, minus->min), std::max(a.max, minus->max)};
    }
    case ExprOp::sign: return Range{(a.min > 0) - (a.min < 0), (a.max > 0) - (a.max < 0)};
    case ExprOp::floor:
    case ExprOp::ceil:
    case ExprOp::round_even:
    case ExprOp::trunc:
    case ExprOp::cast: return a;
    default: return std::nullopt;
  }
}

bool fits(Range range, DType dtype) {
  if (dtype == DType::i64) return true;
  if (dtype == DType::u64) return range.min >= 0;
  const auto type = range_of_type(dtype);
  return type && range.min >= type->min && range.max <= type->max;
}

}  // namespace

std::optional<Range> range_of_op(const Expr& expr, std::span<const std::optional<Range>> args) {
  const auto known = range_of_type(expr.dtype);
  if (expr.dtype == DType::boolean || is_float(expr.dtype)) return known;
  std::optional<Range> range;
  if (expr.op == ExprOp::constant) {
    range = Range{expr.i, expr.i};
  } else if (expr.op == ExprOp::select) {
    if (args[1] && args[2]) range = Range{std::min(args[1]->min, args[2]->min), std::max(args[1]->max, args[2]->max)};
  } else if (args.size() == 1 && args[0]) {
    range = unary_range(expr.op, *args[0]);
  } else if (args.size() == 2 && args[0] && args[1] && expr.op != ExprOp::load) {
    range = binary_range(expr.op, *args[0], *args[1]);
  }
  return range && fits(*range, expr.dtype) ? range : known;
}

std::optional<Range> bounds(const Expr& expr, const std::function<std::optional<Range>(int var)>& of_var) {
  if (expr.op == ExprOp::var) return of_var(static_cast<int>(expr.i));
  if (expr.op == ExprOp::load) return range_of_type(expr.dtype);
  std::vector<std::optional<Range>> args;
  args.reserve(expr.args.size());
  for (const Expr& arg : expr.args) args.push_back(bounds(arg, of_var));
  return range_of_op(expr, args);
}

}  // namespace mcc::loop
