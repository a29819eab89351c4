// Arithmetic of canonical sums (sum.h).
#include "loop/sum.h"

#include <algorithm>
#include <cstring>

#include "loop/affine.h"
#include "loop/build.h"
#include "loop/scalar.h"

namespace mcc::loop {

i64 wrapping_mul(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) * static_cast<u64>(b)); }

namespace {

i64 wrapping_add(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) + static_cast<u64>(b)); }

template <typename T>
int order(T a, T b) {
  return a < b ? -1 : a > b;
}

int compare_bits(double a, double b) {
  u64 x = 0, y = 0;
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  return order(x, y);
}

}  // namespace

int compare(const Expr& a, const Expr& b) {
  if (const int by = order(a.op, b.op)) return by;
  if (const int by = order(a.i, b.i)) return by;
  if (const int by = order(a.dtype, b.dtype)) return by;
  if (a.op == ExprOp::constant) return compare_bits(a.f, b.f);
  if (const int by = order(a.args.size(), b.args.size())) return by;
  for (size_t i = 0; i < a.args.size(); i++) {
    if (const int by = compare(a.args[i], b.args[i])) return by;
  }
  return 0;
}

void normalize(Sum& sum) {
  std::vector<Term>& terms = sum.terms;
  const auto before = [](const Term& a, const Term& b) { return compare(a.atom, b.atom) < 0; };
  if (!std::is_sorted(terms.begin(), terms.end(), before)) std::sort(terms.begin(), terms.end(), before);
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    i64 coefficient = 0;
    size_t next = i;
    for (; next < terms.size() && compare(terms[i].atom, terms[next].atom) == 0; next++) {
      coefficient = wrapping_add(coefficient, terms[next].coefficient);
    }
    coefficient = wrap(sum.dtype, coefficient);
    if (coefficient != 0) {
      if (kept != i) terms[kept] = std::move(terms[i]);
      terms[kept++].coefficient = coefficient;
    }
    i = next;
  }
  terms.resize(kept);
  sum.constant = wrap(sum.dtype, sum.constant);
}

void add_scaled(Sum& sum, Sum&& other, i64 by) {
  sum.constant = wrapping_add(sum.constant, wrapping_mul(other.constant, by));
  for (Term& term : other.terms) {
    term.coefficient = wrapping_mul(term.coefficient, by);
    sum.terms.push_back(std::move(term));
  }
}

// Positive terms first, then what is subtracted, then the constant.
Expr to_expr(const Sum& sum) {
  Expr result = const_int(0, sum.dtype);
  bool empty = true;
  for (const Term& term : sum.terms) {
    if (term.coefficient < 0) continue;
    Expr product = term.atom * term.coefficient;
    result = empty ? std::move(product) : std::move(result) + std::move(product);
    empty = false;
  }
  bool constant_written = false;
  for (const Term& term : sum.terms) {
    if (term.coefficient >= 0) continue;
    const i64 minus = wrap(sum.dtype, wrapping_mul(term.coefficient, -1));
    if (empty && sum.constant == 0) {
      result = term.atom * term.coefficient;
    } else {
      if (empty) result = const_int(sum.constant, sum.dtype);
      constant_written = constant_written || empty;
      result = std::move(result) - term.atom * minus;
    }
    empty = false;
  }
  if (empty) return const_int(sum.constant, sum.dtype);
  if (constant_written || sum.constant == 0) return result;
  const bool subtract = sum.constant < 0 && wrap(sum.dtype, wrapping_mul(sum.constant, -1)) > 0;
  return subtract ? std::move(result) - -sum.constant : std::move(result) + sum.constant;
}

std::optional<Range> range(const Sum& sum) {
  Range total{sum.constant, sum.constant};
  for (const Term& term : sum.terms) {
    const auto part = scale(term.range, term.coefficient);
    const auto next = part ? add(total, *part) : std::nullopt;
    if (!next) return std::nullopt;
    total = *next;
  }
  if (const auto type = range_of_type(sum.dtype); type && (total.min < type->min || total.max > type->max)) return {};
  return total;
}

std::optional<Sum> difference(const Sum& a, const Sum& b) {
  const auto range_a = range(a), range_b = range(b);
  const auto minus_b = range_b ? scale(*range_b, -1) : std::nullopt;
  if (!range_a || !minus_b || !add(*range_a, *minus_b)) return std::nullopt;
  Sum gap = a;
  Sum minus = b;
  gap.dtype = DType::i64;
  add_scaled(gap, std::move(minus), -1);
  normalize(gap);
  return gap;
}

}  // namespace mcc::loop
