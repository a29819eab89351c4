// Affine expressions: sorted term lists, merged like polynomials.
#include "schedule/lin.h"

#include "loop/build.h"

namespace mcc::schedule {

using loop::Expr;
using loop::ExprOp;

Lin lin_var(int var, i64 coefficient) { return {0, {{var, coefficient}}}; }

void add_scaled(Lin& to, const Lin& a, i64 scale) {
  if (scale == 0) return;
  to.c += a.c * scale;
  for (const auto& [var, coefficient] : a.terms) {
    auto at = to.terms.begin();
    while (at != to.terms.end() && at->first < var) ++at;
    if (at == to.terms.end() || at->first != var) {
      to.terms.insert(at, {var, coefficient * scale});
    } else if ((at->second += coefficient * scale) == 0) {
      to.terms.erase(at);
    }
  }
}

Lin minus(Lin a, const Lin& b) {
  add_scaled(a, b, -1);
  return a;
}

static bool accumulate(const Expr& e, i64 scale, Lin& to) {
  switch (e.op) {
    case ExprOp::constant: to.c += e.i * scale; return true;
    case ExprOp::var: add_scaled(to, lin_var(static_cast<int>(e.i)), scale); return true;
    case ExprOp::add: return accumulate(e.args[0], scale, to) && accumulate(e.args[1], scale, to);
    case ExprOp::sub: return accumulate(e.args[0], scale, to) && accumulate(e.args[1], -scale, to);
    case ExprOp::neg: return accumulate(e.args[0], -scale, to);
    case ExprOp::mul: {
      const bool left = e.args[0].op == ExprOp::constant;
      const Expr& factor = e.args[left ? 0 : 1];
      return factor.op == ExprOp::constant && accumulate(e.args[left ? 1 : 0], scale * factor.i, to);
    }
    default: return false;
  }
}

std::optional<Lin> to_lin(const Expr& expr) {
  if (expr.dtype != DType::i64) return std::nullopt;
  Lin lin;
  if (!accumulate(expr, 1, lin)) return std::nullopt;
  return lin;
}

static Expr term_expr(int var, i64 coefficient) {
  Expr v{ExprOp::var, DType::i64, var, 0, {}};
  if (coefficient == 1) return v;
  return Expr{ExprOp::mul, DType::i64, 0, 0, {std::move(v), loop::const_int(coefficient)}};
}

Expr to_expr(const Lin& lin) {
  if (lin.terms.empty()) return loop::const_int(lin.c);
  Expr sum = term_expr(lin.terms[0].first, lin.terms[0].second);
  for (size_t i = 1; i < lin.terms.size(); i++) {
    sum = Expr{ExprOp::add, DType::i64, 0, 0, {std::move(sum), term_expr(lin.terms[i].first, lin.terms[i].second)}};
  }
  if (lin.c != 0) sum = Expr{ExprOp::add, DType::i64, 0, 0, {std::move(sum), loop::const_int(lin.c)}};
  return sum;
}

Span span_of(const Lin& lin, const std::function<i64(int var)>& extent) {
  Span span{lin.c, lin.c};
  for (const auto& [var, coefficient] : lin.terms) {
    const i64 far = coefficient * (extent(var) - 1);
    (far < 0 ? span.min : span.max) += far;
  }
  return span;
}

}  // namespace mcc::schedule
