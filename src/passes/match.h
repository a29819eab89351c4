// Small matchers over the new graph of a Rewriter, for passes that look for patterns.
#pragma once
#include <optional>

#include "passes/rewrite.h"

namespace mcc {

struct Scaled {
  ValueId x = kNone;
  double factor = 1;
};
// v as factor * x, all ways: {v, 1} first, then through each Mul or Div by a number.
std::vector<Scaled> as_scaled(const Rewriter& rw, ValueId v);

// v as x + number.
std::optional<Scaled> as_shifted(const Rewriter& rw, ValueId v);

// The number if the product of `parts` is exactly number * factors.
std::optional<double> as_product(const Rewriter& rw, const std::vector<ValueId>& parts, std::vector<ValueId> factors);

// What the product v is made of, seen through Mul and Div by numbers (a few levels), numbers left out.
std::vector<ValueId> factors_of(const Rewriter& rw, ValueId v);

// Equal as far as a constant written by an exporter in a narrow type can be.
bool close(double a, double b);

}  // namespace mcc
