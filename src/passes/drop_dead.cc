// Removes what no output needs: Identity nodes (kept only where an output must be a value of its own), nodes found
// unused by one backward walk, outputs that nobody reads where an op may leave them out, and the values of all of
// these.
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace mcc {
namespace {

Graph without_identities(const Graph& graph) {
  Rewriter rewriter(graph);
  for (const Node& old : graph.nodes) {
    Node node = rewriter.visit(old);
    if (node.op == "Identity")
      rewriter.replace(node.out[0], node.in[0]);
    else
      rewriter.keep(std::move(node));
  }
  return rewriter.finish();
}

std::vector<Node> live_nodes(const Graph& graph, std::vector<char>& used) {
  std::vector<Node> live;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    bool needed = false;
    for (const ValueId v : node.out) needed |= v != kNone && used[at(v)];
    if (!needed) continue;
    for (const ValueId v : node.in)
      if (v != kNone) used[at(v)] = 1;
    live.push_back(node);
    std::vector<ValueId>& out = live.back().out;
    if (!is_op(node, {"MaxPool", "LayerNormalization", "LSTM", "GRU", "RNN"})) {  // those have optional outputs
      for (const ValueId v : out)
        if (v != kNone) used[at(v)] = 1;
      continue;
    }
    for (ValueId& v : out)
      if (v != kNone && !used[at(v)]) v = kNone;
    while (out.back() == kNone) out.pop_back();
  }
  return {live.rbegin(), live.rend()};
}

}  // namespace

Graph drop_dead(const Graph& graph) {
  Graph clean = without_identities(graph);
  std::vector<char> used(clean.values.size(), 0);
  for (const ValueId v : clean.inputs) used[at(v)] = 1;
  for (const ValueId v : clean.outputs) used[at(v)] = 1;
  clean.nodes = live_nodes(clean, used);

  std::vector<ValueId> number(clean.values.size(), kNone);
  Graph result;
  for (size_t v = 0; v < clean.values.size(); v++) {
    if (!used[v]) continue;
    number[v] = static_cast<ValueId>(result.values.size());
    result.values.push_back(std::move(clean.values[v]));
  }
  const auto renumber = [&number](std::vector<ValueId>& ids) {
    for (ValueId& v : ids)
      if (v != kNone) v = number[at(v)];
  };
  for (Node& node : clean.nodes) {
    renumber(node.in);
    renumber(node.out);
  }
  renumber(clean.inputs);
  renumber(clean.outputs);
  result.nodes = std::move(clean.nodes);
  result.inputs = std::move(clean.inputs);
  result.outputs = std::move(clean.outputs);
  return result;
}

}  // namespace mcc
