// What tests of passes share: a pass keeps the function of a graph, and leaves certain ops.
#pragma once
#include <gtest/gtest.h>

#include "graph/npy.h"
#include "graph/print.h"
#include "ops/op_def.h"
#include "passes/passes.h"

namespace mcc {

inline int count(const Graph& graph, std::string_view op) {
  int n = 0;
  for (const Node& node : graph.nodes) n += node.op == op;
  return n;
}

inline std::string ops_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += (text.empty() ? "" : " ") + node.op;
  return text;
}

// Both graphs on the same random inputs by the references, node by node.
inline void expect_same(const Graph& before, const Graph& after, double tolerance = 1e-5) {
  verify(after);
  ASSERT_EQ(before.inputs.size(), after.inputs.size());
  ASSERT_EQ(before.outputs.size(), after.outputs.size());
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < before.inputs.size(); i++) {
    const Value& value = before.values[static_cast<size_t>(before.inputs[i])];
    inputs.push_back(random_input(value.type, value.name, static_cast<int>(i), 1));
  }
  const std::vector<Tensor> want = evaluate(before, inputs), got = evaluate(after, inputs);
  for (size_t i = 0; i < want.size(); i++) {
    EXPECT_EQ(before.values[static_cast<size_t>(before.outputs[i])].name,
              after.values[static_cast<size_t>(after.outputs[i])].name);
    ASSERT_EQ(want[i].type, got[i].type);
    const Comparison c = compare(got[i], want[i]);
    EXPECT_LE(c.relative(), tolerance) << print(after);
    EXPECT_EQ(c.mismatched_special, 0) << print(after);
  }
}

// Runs the pass on the graph and checks that the function stays.
inline Graph checked(Graph (*pass)(const Graph&), std::string_view text, double tolerance = 1e-5) {
  const Graph before = parse_graph(text), after = pass(before);
  expect_same(before, after, tolerance);
  return after;
}

inline Graph all_passes(const Graph& graph) { return run_passes(graph); }

}  // namespace mcc
