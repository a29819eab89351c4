// One walk that applies the first rule that matches to each node: arithmetic (simplify_arithmetic.cc), movement
// (simplify_movement.cc) and changes of place (simplify_exchange.cc). Inputs are already simple when a node is visited,
// so one walk is enough.
#include "passes/passes.h"
#include "passes/simplify.h"

namespace mcc {

Graph simplify_algebra(const Graph& graph) {
  Rewriter rw(graph);
  for (const Node& old : graph.nodes) {
    Node node = rw.visit(old);
    if (!simplify_arithmetic(rw, node) && !simplify_movement(rw, node) && !simplify_exchange(rw, node))
      rw.keep(std::move(node));
  }
  return rw.finish();
}

}  // namespace mcc
