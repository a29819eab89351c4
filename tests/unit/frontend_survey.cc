// Surveys: everything that stands in a model's way, with the node it is at, and nothing that only follows from it.
#include <gtest/gtest.h>

#include "base/file.h"
#include "onnx_models.h"

namespace mcc {
namespace {

Survey survey(const OnnxModel& model, const ImportOptions& options = {}) {
  const TempDir folder;
  write_file(folder.path() / "model.onnx", model.bytes());
  return survey_onnx(folder.path() / "model.onnx", options);
}

// "op node: reason" of each refusal.
std::vector<std::string> refusals(const Survey& survey) {
  std::vector<std::string> lines;
  for (const Refusal& r : survey.refusals) lines.push_back(fmt::format("{} {}: {}", r.op, r.node, r.reason));
  return lines;
}

TEST(Survey, SoundModelComesWithItsGraph) {
  OnnxModel model;
  model.input("x", {"2", "3"}).output("y");
  model.node("Relu", {"x"}, {"r"});
  model.node("Relu", {"r"}, {"y"});
  const Survey s = survey(model);
  EXPECT_TRUE(s.refusals.empty());
  ASSERT_TRUE(s.graph);
  EXPECT_EQ(s.graph->nodes.size(), 2u);
  EXPECT_EQ(s.ops, (std::map<std::string, i64>{{"Relu", 2}}));
}

TEST(Survey, AllRefusalsAreToldButNoneThatOnlyFollow) {
  OnnxModel model;
  model.input("x", {"2", "3"}).output("y");
  model.node("Frobnicate", {"x"}, {"a"});
  model.node("Conv", {"a", "a"}, {"b"});  // may be right: nothing is known of a
  model.node("Wibble", {"b"}, {"c"});
  set_int(model.node("Softmax", {"x"}, {"d"}), "axis", 7);
  model.node("Add", {"c", "d"}, {"y"});
  const Survey s = survey(model);
  EXPECT_FALSE(s.graph);
  EXPECT_EQ(refusals(s), (std::vector<std::string>{"Frobnicate Frobnicate_a: operator Frobnicate is not supported",
                                                   "Wibble Wibble_c: operator Wibble is not supported",
                                                   "Softmax Softmax_d: axis 7 is outside rank 2"}));
}

TEST(Survey, FreeDimensionsHideNothingButTypes) {
  OnnxModel model;
  model.input("x", {"batch", "3"}).input("z", {"2", "?"}).output("y");
  model.node("Frobnicate", {"x"}, {"a"});
  model.node("MatMul", {"x", "z"}, {"y"});
  const Survey s = survey(model);
  ASSERT_EQ(s.free.size(), 2u);
  EXPECT_EQ(s.free[0].name, "batch");
  EXPECT_EQ(s.free[1].axis, 1);
  EXPECT_EQ(s.refusals.size(), 1u);
  EXPECT_EQ(survey(model, {.shapes = {{"z", {2, 4}}}, .dims = {{"batch", 1}}, .binds = {}}).free.size(), 0u);
}

TEST(Survey, NodesOfSubgraphsAndFunctionsAreNamedOnce) {
  OnnxModel model;
  model.input("x", {"2"}).ints("m", {3}).output("y");
  onnx::NodeProto& loop = model.node("Loop", {"m", "", "x"}, {"y"});
  onnx::GraphProto& body = set_graph(loop, "body");
  for (const char* name : {"i", "c", "s"}) body.add_input()->set_name(name);
  OnnxModel::add_node(body, "Identity", {"c"}, {"go"});
  OnnxModel::add_node(body, "Frobnicate", {"s"}, {"next"});
  for (const char* name : {"go", "next"}) body.add_output()->set_name(name);
  const Survey s = survey(model);
  EXPECT_EQ(refusals(s),
            (std::vector<std::string>{"Frobnicate Frobnicate_next: operator Frobnicate is not supported"}));
  EXPECT_EQ(s.ops.at("Frobnicate"), 1);
}

TEST(Survey, ErrorsInOptionsAreRefusalsOfTheModel) {
  OnnxModel model;
  model.input("x", {"batch"}).output("y");
  model.node("Relu", {"x"}, {"y"});
  const Survey s = survey(model, {.shapes = {}, .dims = {{"rows", 1}}, .binds = {}});
  ASSERT_EQ(s.refusals.size(), 1u);
  EXPECT_EQ(s.refusals[0].reason, "--dim names 'rows', but the model has no such named dimension; it has: batch");
}

}  // namespace
}  // namespace mcc
