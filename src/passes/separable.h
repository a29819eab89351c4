// Separable convolutions: the only pair of anchors that becomes one kernel. A depthwise convolution of an image,
// its bias and elementwise nodes that end it, and the 1x1 convolution that alone reads the result. The second is a
// product of pixels and weights that needs each pixel once, so the first can be made a few rows of the image at a time,
// just before.
#pragma once
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace mcc {

// The first or the second convolution of such a pair, as far as it alone can tell.
bool may_be_depthwise(const Graph& graph, const Node& node);
bool may_be_pointwise(const Graph& graph, const Node& node);

// For each node whether what it makes is a depthwise convolution with nothing but elementwise nodes behind it, each
// the only reader of the one before and of nothing else that is computed.
std::vector<char> depthwise_results(const Graph& graph);

bool is_separable(const Graph& graph, const FusedGroup& group);  // has both

}  // namespace mcc
