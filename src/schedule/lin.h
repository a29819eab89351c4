// Small affine integer expressions: constant + sum of coefficient * variable. The generator computes every buffer index
// in this form, because composing, subtracting and bounding them is a few additions, where rewriting Expr trees would
// dominate apply().
#pragma once
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "loop/loop.h"

namespace mcc::schedule {

struct Lin {
  i64 c = 0;
  std::vector<std::pair<int, i64>> terms;  // (variable, coefficient), ascending variables, no zero coefficients
  bool operator==(const Lin&) const = default;
  bool is_constant() const { return terms.empty(); }
};

Lin lin_var(int var, i64 coefficient = 1);
void add_scaled(Lin& to, const Lin& a, i64 scale);  // to += a * scale
Lin minus(Lin a, const Lin& b);
std::optional<Lin> to_lin(const loop::Expr& expr);  // nothing when the expression is not affine
loop::Expr to_expr(const Lin& lin);

struct Span {
  i64 min = 0, max = 0;  // inclusive
};
// Bounds, when variable v runs over 0 .. extent(v)-1.
Span span_of(const Lin& lin, const std::function<i64(int var)>& extent);

}  // namespace mcc::schedule
