// Attention, softmax(q k^T) v, as one kernel: what the pass writes and the fusion finds again. See attention.cc.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace mcc {

// For each node whether it belongs into the kernel of the product that weighs v, though that kernel has its anchor.
std::vector<char> inside_attention(const Graph& graph);

}  // namespace mcc
