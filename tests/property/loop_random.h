// Random expressions and loop programs for the property tests, and the plain evaluation they are compared with.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "base/rng.h"
#include "loop/loop_ops.h"
#include "loop/scalar.h"

namespace mcc::loop::testing {

std::span<const DType> all_types();
std::vector<DType> expr_types();  // of whole expressions: mostly i64 and bool
std::vector<DType> int_types();
std::vector<DType> value_types();  // integers and floats

// Four variables with ranges and values; buffer b holds eight elements of the b-th type.
struct Env {
  std::array<Range, 4> ranges{};
  std::array<i64, 4> vars{};
  std::vector<std::array<Scalar, 8>> memory;
  void choose_vars(Rng& rng);
};
Env random_env(Rng& rng);
Func sample_func();  // has the variables and buffers that printing such expressions needs

struct ExprMaker {
  Rng& rng;
  const Env& env;
  Expr make(DType dtype, int depth);

 private:
  Expr leaf(DType dtype);
  Expr boolean(int depth);
  Expr number(DType dtype, int depth);
  Expr node(ExprOp op, DType dtype, std::vector<Expr> args);
};

Scalar evaluate_tree(const Expr& e, const Env& env);
// A rule's side with its wildcards filled and nothing folded.
Expr instantiate_plainly(const Expr& pattern, std::span<const Expr* const> bindings, DType dtype);

// A program in algorithm form: a few blocks (elementwise, broadcast, reduction, padding) over shapes with unit and
// zero dimensions, reading what earlier blocks wrote. Integers of small size, so that every order of sums is exact.
Func random_func(Rng& rng);
std::vector<Tensor> random_params(const Func& func, Rng& rng);

}  // namespace mcc::loop::testing
