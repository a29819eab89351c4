// The text form of graphs: printing, parsing back, and errors that say where.
#include <gtest/gtest.h>

#include "graph/print.h"

namespace mcc {
namespace {

constexpr const char* kText = R"(graph {
  input %x: f32[1,3,8,8]
  const %w: f32[2,2] = [0.1, -inf, nan, 4.0]
  const %"odd name:0": i64[0] = []
  %y: f32[1,4,8,8], _ = Conv(%x, %w, _) {alpha=0.5, mode="a\"b", none=[], pads=[1,1], scales=[1.0,0.5], t=bool[2] = [1, 0]}  "layer1.0"
  %z: f32[] = Odd(%"odd name:0")
  output %y
}
)";

TEST(GraphText, RoundTrips) {
  const Graph graph = parse_graph(kText);
  EXPECT_EQ(print(graph), kText);
  EXPECT_EQ(print(parse_graph(print(graph))), print(graph));
  verify(graph);
}

TEST(GraphText, InputsKeepTheirNumbers) {
  const std::string text = "graph {\n  input %number: f32[1]\n  input %y: f32[2] number 2\n}\n";
  const Graph graph = parse_graph(text);
  EXPECT_EQ(print(graph), text);
  EXPECT_EQ(input_number(graph, 0), 0);
  EXPECT_EQ(input_number(graph, 1), 2);
  EXPECT_THROW(parse_graph("graph {\n  input %x: f32[1] number -1\n}"), Error);
}

TEST(GraphText, LargeConstantsArePrintedByHashUnlessAsked) {
  const Graph graph = parse_graph("graph { const %w: f32[20] = hash:9f3c\n output %w }");
  EXPECT_NE(print(graph).find("= hash:"), std::string::npos);
  const std::string full = print(graph, {.full_constants = true});
  EXPECT_EQ(print(parse_graph(full), {.full_constants = true}), full);
}

TEST(GraphText, DoubledAndEmptyNamesAreMadeUnique) {
  Graph graph;
  for (const char* name : {"a", "a", ""}) graph.inputs.push_back(graph.add_value(name, {}));
  EXPECT_EQ(print(graph), "graph {\n  input %a: f32[]\n  input %a.v1: f32[]\n  input %v2: f32[]\n}\n");
}

std::string error_of(std::string_view text) {
  try {
    parse_graph(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(GraphText, ErrorsSayWhere) {
  EXPECT_EQ(error_of("graph {\n  input %x: f33[1]\n}"), "graph text, line 2, column 16: 'f33' is not an element type");
  EXPECT_EQ(error_of("graph {\n  %y: f32[1] = Relu(%x)\n}"), "graph text, line 2, column 21: %x is not defined above");
  EXPECT_EQ(error_of("graph {\n input %x: f32[1]\n"), "graph text, line 3, column 1: a name expected");
}

TEST(GraphVerify, FindsEachBrokenRule) {
  Graph good =
      parse_graph("graph { input %x: f32[1]\n %y: f32[1] = Relu(%x) \"r\"\n %z: f32[1] = Relu(%y) \"s\"\n output %z }");
  verify(good);
  Graph order = good;
  std::swap(order.nodes[0], order.nodes[1]);
  EXPECT_THROW(verify(order), Error);
  Graph twice = good;
  twice.nodes[1].out = twice.nodes[0].out;
  EXPECT_THROW(verify(twice), Error);
  Graph range = good;
  range.nodes[0].in[0] = 99;
  EXPECT_THROW(verify(range), Error);
  Graph unsorted = good;
  unsorted.nodes[0].attrs.items = {{"b", i64{1}}, {"a", i64{1}}};
  EXPECT_THROW(verify(unsorted), Error);
}

}  // namespace
}  // namespace mcc
