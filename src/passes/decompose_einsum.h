// Einsum as Transpose, Reshape, MatMul and ReduceSum.
#pragma once
#include "passes/rewrite.h"

namespace mcc {

// What the node's output becomes, or kNone for an equation that keeps its own lowering (three operands and more,
// diagonals, broadcast extents, no summed label between two operands).
ValueId decompose_einsum(Rewriter& rw, const Node& node);

}  // namespace mcc
