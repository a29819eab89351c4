// Nodes whose inputs are all constants are evaluated by their reference. A node that would blow a small constant up
// (Expand, Tile) is left to run, so that artifacts do not carry copies of one number.
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace mcc {
namespace {

constexpr i64 kAlwaysFoldBytes = 1 << 16;

bool blows_up(const Graph& graph, const Node& node) {
  i64 before = 0, after = 0;
  for (const ValueId v : node.in)
    if (v != kNone) before += bytes(graph.values[static_cast<size_t>(v)].type);
  for (const ValueId v : node.out)
    if (v != kNone) after += bytes(graph.values[static_cast<size_t>(v)].type);
  return after > kAlwaysFoldBytes && after > 4 * before;
}

bool foldable(const Graph& graph, const Node& node, const Rewriter& rewriter) {
  for (const ValueId v : node.in)
    if (v != kNone && !rewriter.constant(v)) return false;
  const OpDef* op = find_op(node.op);
  return op && op->reference && !blows_up(graph, node);
}

}  // namespace

Graph fold_constants(const Graph& graph) {
  Rewriter rewriter(graph);
  for (const Node& old : graph.nodes) {
    Node node = rewriter.visit(old);
    if (!foldable(graph, old, rewriter)) {
      rewriter.keep(std::move(node));
      continue;
    }
    std::vector<const Tensor*> in;
    for (const ValueId v : node.in) in.push_back(rewriter.constant(v));
    std::vector<Tensor> out = evaluate(node, in, input_types(graph, old));
    for (size_t i = 0; i < out.size(); i++)
      if (node.out[i] != kNone) rewriter.replace(node.out[i], rewriter.add_constant(std::move(out[i])));
  }
  return rewriter.finish();
}

}  // namespace mcc
