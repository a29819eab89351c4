// The expression simplifier. One pass from the leaves up; no node is visited twice, except what a rewrite rule made.
//
// Integers (u64 aside) become canonical sums (sum.h): linear operations merge sums; division, remainder, minimum,
// comparison are decided or reduced by bounds; whatever is left is an atom, after the table of rules (simplify_rules.h)
// had its say. Everything else (floats, logic, u64) is rebuilt by the folding builders and the same rules. Bounds are
// only used where the sum cannot wrap. A variable without given bounds is taken to be within +-2^40, like every index
// and extent.
#include <limits>
#include <numeric>

#include "loop/affine.h"
#include "loop/build.h"
#include "loop/scalar.h"
#include "loop/simplify_rules.h"
#include "loop/sum.h"

namespace mcc::loop {

namespace {

constexpr Range kAnyIndex{-(i64{1} << 40), i64{1} << 40};
constexpr Range kAnything{std::numeric_limits<i64>::min(), std::numeric_limits<i64>::max()};

bool sums(DType dtype) { return is_int(dtype) && dtype != DType::u64; }

Sum constant_sum(DType dtype, i64 value) { return {dtype, wrap(dtype, value), {}}; }

class Simplifier {
 public:
  explicit Simplifier(const std::function<std::optional<Range>(int)>& of_var) : of_var_(of_var) {}
  Expr expr(const Expr& e) { return sums(e.dtype) ? to_expr(sum(e)) : other(e); }

 private:
  Sum sum(const Expr& e);
  void add_to(Sum& out, const Expr& e, i64 by);
  void join_divisions(Sum& s);
  Sum operation(const Expr& e);
  Sum divide(const Expr& e);
  Sum divide_by(const Expr& e, Sum a, i64 divisor, bool remainder);
  Sum extremum(const Expr& e);
  Sum product(const Expr& e);
  Sum atom(Expr e, std::optional<Range> range);
  Sum atom_of(const Expr& e);
  Expr other(const Expr& e);
  Expr comparison(const Expr& e);
  std::optional<Expr> order(ExprOp op, const Sum& a, const Sum& b);
  std::optional<Expr> equality(ExprOp op, const Sum& a, const Sum& b);
  std::optional<Range> range_of(const Expr& e);
  Expr rebuilt(const Expr& e);

  const std::function<std::optional<Range>(int)>& of_var_;
};

// --- sums ------------------------------------------------------------------------------------------------------------

Sum Simplifier::sum(const Expr& e) {
  Sum s{e.dtype, 0, {}};
  add_to(s, e, 1);
  normalize(s);
  join_divisions(s);
  return s;
}

void Simplifier::add_to(Sum& out, const Expr& e, i64 by) {
  switch (e.op) {
    case ExprOp::constant: add_scaled(out, constant_sum(e.dtype, e.i), by); break;
    case ExprOp::var: add_scaled(out, atom_of(e), by); break;
    case ExprOp::add:
      add_to(out, e.args[0], by);
      add_to(out, e.args[1], by);
      break;
    case ExprOp::sub:
      add_to(out, e.args[0], by);
      add_to(out, e.args[1], wrapping_mul(by, -1));
      break;
    case ExprOp::neg: add_to(out, e.args[0], wrapping_mul(by, -1)); break;
    case ExprOp::mul:
      if (const auto factor = as_int(e.args[1]))
        add_to(out, e.args[0], wrapping_mul(by, *factor));
      else
        add_scaled(out, product(e), by);
      break;
    default: add_scaled(out, operation(e), by);
  }
}

// floordiv(x, d)*(k*d) + floormod(x, d)*k is x*k. Sums hold few divisions, so all pairs are tried.
void Simplifier::join_divisions(Sum& s) {
  for (size_t m = 0; m < s.terms.size(); m++) {
    const Expr mod = s.terms[m].atom;
    if (mod.op != ExprOp::floormod || !as_int(mod.args[1])) continue;
    const i64 k = s.terms[m].coefficient;
    for (Term& div : s.terms) {
      const bool pair = div.atom.op == ExprOp::floordiv && div.atom.args == mod.args &&
                        wrap(s.dtype, wrapping_mul(k, mod.args[1].i)) == div.coefficient;
      if (!pair) continue;
      div.coefficient = 0;
      s.terms[m].coefficient = 0;
      add_to(s, mod.args[0], k);
      normalize(s);
      return join_divisions(s);
    }
  }
}

Sum Simplifier::product(const Expr& e) {
  Sum a = sum(e.args[0]), b = sum(e.args[1]);
  if (a.is_constant()) std::swap(a, b);
  if (b.is_constant()) {
    Sum scaled{e.dtype, 0, {}};
    add_scaled(scaled, std::move(a), b.constant);
    normalize(scaled);
    return scaled;
  }
  Expr left = to_expr(a), right = to_expr(b);
  if (compare(left, right) > 0) std::swap(left, right);
  return atom_of(std::move(left) * std::move(right));
}

// --- atoms -----------------------------------------------------------------------------------------------------------

std::optional<Range> Simplifier::range_of(const Expr& e) {
  if (e.op == ExprOp::var) {
    const auto given = of_var_ ? of_var_(static_cast<int>(e.i)) : std::nullopt;
    return given ? given : kAnyIndex;
  }
  if (e.op == ExprOp::load) return range_of_type(e.dtype);
  std::vector<std::optional<Range>> args;
  args.reserve(e.args.size());
  for (const Expr& arg : e.args) args.push_back(range_of(arg));
  return range_of_op(e, args);
}

Sum Simplifier::atom(Expr e, std::optional<Range> range) {
  if (range && range->min == range->max) return constant_sum(e.dtype, range->min);
  Sum s{e.dtype, 0, {}};
  s.terms.push_back({std::move(e), 1, range ? *range : kAnything});
  return s;
}

Sum Simplifier::atom_of(const Expr& e) { return atom(e, range_of(e)); }

// An operation whose arguments are simplified: a constant, what a rule makes of it, or an atom.
Sum Simplifier::operation(const Expr& e) {
  switch (e.op) {
    case ExprOp::div:
    case ExprOp::mod:
    case ExprOp::floordiv:
    case ExprOp::floormod: return divide(e);
    case ExprOp::min:
    case ExprOp::max: return extremum(e);
    default: break;
  }
  Expr simple = rebuilt(e);
  if (const auto value = as_int(simple)) return constant_sum(e.dtype, *value);
  if (simple.op == ExprOp::load) return atom_of(simple);
  if (simple.op != e.op) return sum(simple);
  if (const auto rewritten = rewrite(simple)) return sum(*rewritten);
  if (simple.op == ExprOp::abs) {
    if (const auto inside = range_of(simple.args[0]); inside && inside->min >= 0) return sum(simple.args[0]);
  }
  return atom_of(simple);
}

Sum Simplifier::extremum(const Expr& e) {
  Sum a = sum(e.args[0]), b = sum(e.args[1]);
  const auto gap = difference(a, b);
  if (const auto range_gap = gap ? range(*gap) : std::nullopt) {
    const bool is_min = e.op == ExprOp::min;
    if (range_gap->max <= 0) return is_min ? a : b;
    if (range_gap->min >= 0) return is_min ? b : a;
  }
  Expr left = to_expr(a), right = to_expr(b);
  if (compare(left, right) > 0) std::swap(left, right);
  if (left.op == ExprOp::constant) std::swap(left, right);  // rules expect constants on the right
  Expr simple = binary(e.op, std::move(left), std::move(right));
  if (const auto value = as_int(simple)) return constant_sum(e.dtype, *value);
  if (const auto rewritten = rewrite(simple)) return sum(*rewritten);
  return atom_of(simple);
}

// --- division --------------------------------------------------------------------------------------------------------

Sum Simplifier::divide(const Expr& e) {
  Sum a = sum(e.args[0]), b = sum(e.args[1]);
  const bool remainder = e.op == ExprOp::mod || e.op == ExprOp::floormod;
  if (a.is_constant() && b.is_constant()) {
    return constant_sum(e.dtype, evaluate(e.op, e.dtype, {a.constant, 0}, {b.constant, 0}).i);
  }
  const auto bounds_a = range(a);
  const bool floors = e.op == ExprOp::floordiv || e.op == ExprOp::floormod || (bounds_a && bounds_a->min >= 0);
  if (b.is_constant() && b.constant > 0 && bounds_a && floors) return divide_by(e, std::move(a), b.constant, remainder);
  Expr simple = binary(e.op, to_expr(a), to_expr(b));
  if (simple.op != e.op) return sum(simple);
  if (const auto rewritten = rewrite(simple)) return sum(*rewritten);
  return atom_of(simple);
}

i64 floor_div(i64 a, i64 b) { return evaluate(ExprOp::floordiv, DType::i64, {a, 0}, {b, 0}).i; }

// Divides every coefficient and the constant of `rest` by their common factor with the divisor.
i64 take_common_factor(Sum& rest, i64& divisor, i64& constant_rest) {
  i64 factor = divisor;
  for (const Term& term : rest.terms) factor = std::gcd(factor, term.coefficient);
  constant_rest = rest.constant % factor;
  for (Term& term : rest.terms) term.coefficient /= factor;
  rest.constant /= factor;  // not negative
  divisor /= factor;
  return factor;
}

// a = divisor*quotient + rest, where rest keeps what the divisor does not divide; then a // divisor is
// quotient + rest // divisor and a % divisor is rest % divisor, and bounds may decide the last division.
Sum Simplifier::divide_by(const Expr& e, Sum a, i64 divisor, bool remainder) {
  Sum quotient{e.dtype, floor_div(a.constant, divisor), {}};
  Sum rest{e.dtype, a.constant - quotient.constant * divisor, {}};
  for (Term& term : a.terms) {
    const i64 whole = floor_div(term.coefficient, divisor), part = term.coefficient - whole * divisor;
    if (whole != 0 && part == 0)
      quotient.terms.push_back({term.atom, whole, term.range});
    else
      rest.terms.push_back(std::move(term));
  }
  const auto bounds_rest = range(rest);
  if (!bounds_rest) {  // the rest alone may wrap: undo
    add_scaled(rest, std::move(quotient), divisor);
    normalize(rest);
    const ExprOp op = remainder ? ExprOp::floormod : ExprOp::floordiv;
    return atom_of(binary(op, to_expr(rest), const_int(divisor, e.dtype)));
  }
  const i64 low = floor_div(bounds_rest->min, divisor);
  if (low == floor_div(bounds_rest->max, divisor)) {
    quotient.constant += low;
    rest.constant -= low * divisor;
    return remainder ? rest : quotient;
  }
  i64 constant_rest = 0;
  const i64 factor = take_common_factor(rest, divisor, constant_rest);
  Expr simple = binary(remainder ? ExprOp::floormod : ExprOp::floordiv, to_expr(rest), const_int(divisor, e.dtype));
  const auto rewritten = rewrite(simple);
  Sum last = rewritten ? sum(*rewritten) : atom_of(simple);
  Sum result = remainder ? constant_sum(e.dtype, constant_rest) : std::move(quotient);
  add_scaled(result, std::move(last), remainder ? factor : 1);
  normalize(result);
  return result;
}

// --- comparisons -----------------------------------------------------------------------------------------------------

Expr truth(bool value) { return const_int(value, DType::boolean); }

Expr Simplifier::comparison(const Expr& e) {
  const Sum a = sum(e.args[0]), b = sum(e.args[1]);
  const bool orders = e.op == ExprOp::lt || e.op == ExprOp::le;
  if (auto simple = orders ? order(e.op, a, b) : equality(e.op, a, b)) return std::move(*simple);
  Expr simple = binary(e.op, to_expr(a), to_expr(b));
  if (simple.op != e.op) return simple;
  const auto rewritten = rewrite(simple);
  return rewritten ? *rewritten : simple;
}

i64 common_factor(const Sum& s) {
  i64 factor = 0;
  for (const Term& term : s.terms) factor = std::gcd(factor, term.coefficient);
  return factor;
}

// The terms of `gap` divided by `factor`: positive ones to the left, the others, negated, to the right.
void split_signs(const Sum& gap, i64 factor, Sum& left, Sum& right) {
  for (const Term& term : gap.terms) {
    const i64 coefficient = term.coefficient / factor;
    Sum& side = coefficient > 0 ? left : right;
    side.terms.push_back({term.atom, coefficient > 0 ? coefficient : -coefficient, term.range});
  }
}

// a < b as left < right + constant, all numbers as small as they get; a <= b as a < b + 1. Nothing if something may
// wrap.
std::optional<Expr> Simplifier::order(ExprOp op, const Sum& a, const Sum& b) {
  auto gap = difference(a, b);
  const auto range_gap = gap ? range(*gap) : std::nullopt;
  const i64 limit = op == ExprOp::lt ? -1 : 0;
  if (!range_gap || range_gap->min == std::numeric_limits<i64>::min()) return std::nullopt;
  if (range_gap->max <= limit) return truth(true);
  if (range_gap->min > limit) return truth(false);
  const i64 factor = common_factor(*gap);
  // sum + k < 0 exactly when sum/factor < ceil(-k/factor); sum + k <= 0 is sum + k - 1 < 0
  const i64 constant = -floor_div(op == ExprOp::lt ? gap->constant : gap->constant - 1, factor);
  Sum left{a.dtype, 0, {}}, right{a.dtype, 0, {}};
  split_signs(*gap, factor, left, right);
  if (left.terms.empty())
    left.constant = -constant;
  else
    right.constant = constant;
  if (!range(left) || !range(right)) return std::nullopt;
  return binary(ExprOp::lt, to_expr(left), to_expr(right));
}

std::optional<Expr> Simplifier::equality(ExprOp op, const Sum& a, const Sum& b) {
  const auto gap = difference(a, b);
  const auto range_gap = gap ? range(*gap) : std::nullopt;
  if (!range_gap) return std::nullopt;
  const bool is_ne = op == ExprOp::ne;
  if (range_gap->min > 0 || range_gap->max < 0) return truth(is_ne);
  if (range_gap->min == 0 && range_gap->max == 0) return truth(!is_ne);
  i64 factor = common_factor(*gap);
  if (gap->constant % factor != 0) return truth(is_ne);
  if (gap->terms.front().coefficient < 0) factor = -factor;
  Sum left{a.dtype, 0, {}}, right{a.dtype, 0, {}};
  split_signs(*gap, factor, left, right);
  right.constant = -gap->constant / factor;
  if (!range(left) || !range(right)) return std::nullopt;
  return binary(op, to_expr(left), to_expr(right));
}

// --- everything else -------------------------------------------------------------------------------------------------

// The same operation on simplified arguments, through the folding builders.
Expr Simplifier::rebuilt(const Expr& e) {
  std::vector<Expr> args;
  args.reserve(e.args.size());
  for (const Expr& arg : e.args) args.push_back(expr(arg));
  if (e.op == ExprOp::cast) return cast(e.dtype, std::move(args[0]));
  if (e.op == ExprOp::select) return select(std::move(args[0]), std::move(args[1]), std::move(args[2]));
  if (e.op == ExprOp::load) {
    Expr copy{e.op, e.dtype, e.i, e.f, std::move(args)};
    return copy;
  }
  if (args.size() == 2) return binary(e.op, std::move(args[0]), std::move(args[1]));
  return unary(e.op, std::move(args[0]));
}

Expr Simplifier::other(const Expr& e) {
  if (e.op == ExprOp::constant) return e;
  if (is_comparison(e.op) && sums(e.args[0].dtype)) return comparison(e);
  Expr simple = rebuilt(e);
  if (simple.op != e.op) return simple;
  const auto rewritten = rewrite(simple);
  return rewritten ? expr(*rewritten) : simple;
}

}  // namespace

Expr simplify(const Expr& expr, const std::function<std::optional<Range>(int var)>& of_var) {
  return Simplifier(of_var).expr(expr);
}

}  // namespace mcc::loop
