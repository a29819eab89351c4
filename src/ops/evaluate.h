// Evaluation of a whole graph by the references, with a look at every node.
#pragma once
#include <functional>

#include "ops/op_def.h"

namespace mcc {

// A node, its inputs (null: a missing one) and all its outputs, unwanted ones too.
using NodeVisit = std::function<void(const Node&, std::span<const Tensor* const> in, std::span<const Tensor> out)>;

std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs, const NodeVisit& visit);

}  // namespace mcc
