// Which values share bytes with others, decided before fusion because a node that only makes a view is no kernel.
//
// Rules. A Reshape of x is x. A Slice or Split takes parts of x where they lie, in place and without a copy when x is
// in memory anyway, rather than being computed where it is read. A Concat has its inputs inside its output, each
// written there by the kernel that makes it. So a value can be a box in a larger one: its rows are then apart
// (View::pitch), and nothing that needs it in one piece (a Reshape, an output) may be a view of it. Boxes in boxes add
// up. A graph output is never inside another value; it is the other value that lives in the output's buffer, and where
// that cannot be (inputs, constants, two outputs of one buffer) the node copies.
#pragma once
#include "passes/passes.h"

namespace mcc {

struct ViewPlan {
  std::vector<LoweredModel::View> views;  // base is never a view itself
  std::vector<char> is_view;              // for each node: it needs no kernel
};
// Precondition: own_buffers.
ViewPlan plan_views(const Graph& graph);

// The graph with copies (Identity) where a value must have a buffer of its own:
//  - a graph output that is an input, a constant or the same value as an earlier output;
//  - an input of a Concat that cannot live inside its output although others that matter can. Those are then no longer
//    copied; the Concat itself is no kernel any more.
Graph own_buffers(Graph graph);

}  // namespace mcc
