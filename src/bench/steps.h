// A small model as the steps that another library would compute it with, for the peer programs of bench/: an op with
// its bias, residual and activation as one step, in the model's own layout (NCHW).
#pragma once
#include <nlohmann/json.hpp>

#include "graph/graph.h"

namespace mcc {

// Of a graph after the passes before layout (constants folded, batch norms folded, composites recognised). An array of
// objects, each with "op" and what it needs:
//   conv      in, out, kernel, strides, pads (top, left, bottom, right), dilations, groups    + epilogue
//   matmul    batch, m, n, k, transposed (the second operand is [n,k]), constant (it is a weight)    + epilogue
//   pool      kind (max, average), in, out, kernel, strides, pads
//   softmax, layernorm    rows, columns
//   eltwise   kind (gelu, neg), rows, columns
//   transpose in, perm
// The epilogue: bias, residual (true or false), activation ("", relu, clip with low and high, gelu). Empty when the
// graph is no chain of such steps on f32.
nlohmann::ordered_json peer_steps(const Graph& graph);

}  // namespace mcc
