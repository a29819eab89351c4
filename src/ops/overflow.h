// Whether what a graph computes depends on the order of its sums: an intermediate result may pass the range of its type
// in one order and not in another, and then an artifact gives infinity or NaN where the reference, which adds in
// double, has a number. Such outputs cannot be compared.
#pragma once
#include <optional>
#include <string>

#include "ops/op_def.h"

namespace mcc {

struct Overflow {
  std::string node;      // describe(node)
  double magnitude = 0;  // what a partial result may reach
  DType dtype = DType::f32;
  double range = 0;  // the largest number of the type that it is kept in
};

// The first node, in order, whose inputs are finite and whose sum may pass its range; of those that the values `of`
// depend on. Evaluates the whole graph.
std::optional<Overflow> find_overflow(const Graph& graph, std::span<const Tensor> inputs, std::span<const ValueId> of);

double largest_number(DType dtype);  // of a float type

}  // namespace mcc
