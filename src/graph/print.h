// Text form of a graph, and back. Example:
//   graph resnet {
//     input %x: f32[1,3,8,8]                           (then `number 2` where its place in the model file is another)
//     const %w: f32[4,3,3,3] = hash:9f3c...            (large constants by hash; small ones in full: [1, 2, 3])
//     %y: f32[1,4,8,8] = Conv(%x, %w, _) {pads=[1,1,1,1], strides=[1,1]}  "layer1.0"
//     output %y
//   }
// parse_graph(print(g)) gives back g where all constants are printed in full (options.full_constants); a constant given
// by hash only parses as a tensor filled from that hash, so that shapes and passes can still be tested.
#pragma once
#include <string>

#include "graph/graph.h"

namespace mcc {

struct PrintGraphOptions {
  bool full_constants = false;  // else only constants of at most 16 elements
};
std::string print(const Graph& graph, const PrintGraphOptions& options = {});
Graph parse_graph(std::string_view text);  // throws Error with line and column

// Throws Error naming the node when an invariant of graph.h does not hold.
void verify(const Graph& graph);

}  // namespace mcc
