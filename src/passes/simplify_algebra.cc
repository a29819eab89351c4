// One walk that applies the first rule that matches to each node: arithmetic (simplify_arithmetic.cc), movement
// (simplify_movement.cc) and changes of place (simplify_exchange.cc). Inputs are already simple when a node is visited,
// so one walk is enough.
#include "passes/passes.h"
#include "passes/simplify.h"

namespace mcc {

Graph simplify_algebra(const Graph& graph) {
  return rewrite_each(graph, [](Rewriter& rw, const Node& node, const Node&) {
    return simplify_arithmetic(rw, node) || simplify_movement(rw, node) || simplify_exchange(rw, node);
  });
}

}  // namespace mcc
