// Which values share bytes with others, decided before fusion because a node that only makes a view is no kernel.
//
// Rules. A Reshape of x is x. A Slice or Split that takes one contiguous piece is x at an offset. A Concat along its
// outermost axis (only unit dimensions before it) has its inputs inside its output, if each fills a buffer of its own
// that a kernel writes. A graph output is never inside another value; it is the other value that lives in the output's
// buffer, and where that cannot be (inputs, constants, two outputs of one buffer) the node copies.
#pragma once
#include "passes/passes.h"

namespace mcc {

struct ViewPlan {
  std::vector<LoweredModel::View> views;  // base is never a view itself
  std::vector<char> is_view;              // for each node: it needs no kernel
};
// Precondition: own_outputs.
ViewPlan plan_views(const Graph& graph);

// Every graph output becomes a value of its own that a node makes: an output that is an input, a constant or the same
// value as an earlier output is copied by an Identity node.
Graph own_outputs(Graph graph);

}  // namespace mcc
