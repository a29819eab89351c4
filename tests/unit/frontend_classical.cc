// Classical models (ai.onnx.ml). The families forests and classical (scripts/zoo/classical.py) compare them with ONNX
// Runtime; here are numbers worked out by hand, and refusals.
#include <gtest/gtest.h>

#include "onnx_models.h"
#include "ops/op_def.h"

namespace mcc {
namespace {

using Doubles = std::vector<double>;

void set_strings(onnx::NodeProto& node, const std::string& name, const std::vector<std::string>& values) {
  onnx::AttributeProto& added = attribute(node, name);
  added.set_type(onnx::AttributeProto::STRINGS);
  for (const std::string& value : values) added.add_strings(value);
}

OnnxModel classical_model(const std::vector<std::string>& dims) {
  OnnxModel model = model_of(15, dims);
  onnx::OperatorSetIdProto& ml = *model.proto.add_opset_import();
  ml.set_domain("ai.onnx.ml");
  ml.set_version(3);
  return model;
}

onnx::NodeProto& classical_node(OnnxModel& model, const std::string& op, const std::vector<std::string>& in,
                                const std::vector<std::string>& out) {
  onnx::NodeProto& node = model.node(op, in, out);
  node.set_domain("ai.onnx.ml");
  return node;
}

// One tree: x[1] <= 0.5 ? (x[0] < 2 ? a : b) : c. `yes` are the nodes that come next where a comparison holds.
onnx::NodeProto& add_tree(OnnxModel& model, const std::string& op, const std::vector<std::string>& out,
                          const std::vector<i64>& yes = {1, 3, 0, 0, 0}) {
  onnx::NodeProto& node = classical_node(model, op, {"x"}, out);
  set_ints(node, "nodes_treeids", {0, 0, 0, 0, 0});
  set_ints(node, "nodes_nodeids", {0, 1, 2, 3, 4});
  set_ints(node, "nodes_featureids", {1, 0, 0, 0, 0});
  set_strings(node, "nodes_modes", {"BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF"});
  set_floats(node, "nodes_values", {0.5f, 2, 0, 0, 0});
  set_ints(node, "nodes_truenodeids", yes);
  set_ints(node, "nodes_falsenodeids", {2, 4, 0, 0, 0});
  return node;
}

OnnxModel regression(const std::vector<i64>& yes = {1, 3, 0, 0, 0}) {
  OnnxModel model = classical_model({"4", "2"});
  onnx::NodeProto& node = add_tree(model, "TreeEnsembleRegressor", {"y"}, yes);
  set_ints(node, "target_treeids", {0, 0, 0});
  set_ints(node, "target_nodeids", {3, 4, 2});
  set_ints(node, "target_ids", {0, 0, 0});
  set_floats(node, "target_weights", {10, 20, 30});
  return model;
}

TEST(Trees, ComparisonsAtTheirThresholds) {
  const Graph graph = regression().import();
  const Tensor x = floats({4, 2}, {1, 0.5f, 2, 0.5f, 2, 0.6f, std::nextafterf(2, 0), 0});
  EXPECT_EQ(to_doubles(evaluate(graph, std::vector{x})[0]), (Doubles{10, 20, 30, 10}));
}

TEST(Trees, EachNodeHangsOnOneRoot) {
  expect_refused(regression({1, 2, 0, 0, 0}), "a node of a tree has two parents");
  expect_refused(regression({1, 0, 0, 0, 0}), "nodes of the trees go in circles");
  expect_refused(regression({1, 9, 0, 0, 0}), "tree 0 has no node 9");
}

OnnxModel classification(const std::vector<std::string>& out, const std::string& transform = "NONE") {
  OnnxModel model = classical_model({"4", "2"});
  onnx::NodeProto& node = add_tree(model, "TreeEnsembleClassifier", out);
  set_ints(node, "class_treeids", {0, 0, 0});
  set_ints(node, "class_nodeids", {3, 4, 2});
  set_ints(node, "class_ids", {0, 0, 0});
  set_floats(node, "class_weights", {0.25f, 0.75f, 1});
  set_strings(node, "classlabels_strings", {"certainly not", ""});
  set_string(node, "post_transform", transform);
  return model;
}

TEST(Trees, LabelsThatAreStringsLeaveTheScores) {
  const Graph graph = classification({"", "y"}).import();
  const Tensor x = floats({4, 2}, {1, 0, 3, 0, 0, 1, 0, 0});
  EXPECT_EQ(to_doubles(evaluate(graph, std::vector{x})[0]), (Doubles{0.75, 0.25, 0.25, 0.75, 0, 1, 0.75, 0.25}));
  OnnxModel labelled = classification({"label", "y"});
  labelled.output("label");
  expect_refused(labelled, "the labels are strings");
  expect_refused(classification({"", "y"}, "PROBIT"), "post_transform PROBIT is not supported");
}

TEST(Classical, ZipMapHandsTheScoresOn) {
  OnnxModel model = classical_model({"2", "2"});
  set_ints(classical_node(model, "ZipMap", {"x"}, {"y"}), "classlabels_int64s", {0, 1});
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(to_doubles(evaluate(model.import(), std::vector{x})[0]), (Doubles{1, 2, 3, 4}));
}

TEST(Classical, RowsOfZerosAreNotDivided) {
  OnnxModel model = classical_model({"2", "2"});
  set_string(classical_node(model, "Normalizer", {"x"}, {"y"}), "norm", "L2");
  EXPECT_EQ(to_doubles(evaluate(model.import(), std::vector{floats({2, 2}, {0, 0, 3, -4})})[0]),
            (Doubles{0, 0, 3.0f / 5, -4.0f / 5}));
}

TEST(Classical, LabelsWithoutAKeyGetTheDefault) {
  OnnxModel model = classical_model({});
  model.graph().clear_input();
  model.input("x", {"3"}, onnx::TensorProto::INT64);
  onnx::NodeProto& node = classical_node(model, "LabelEncoder", {"x"}, {"y"});
  set_ints(node, "keys_int64s", {5, 1});
  set_ints(node, "values_int64s", {50, 10});
  set_int(node, "default_int64", 7);
  const Tensor x = Tensor::of<i64>(DType::i64, {3}, {1, 2, 5});
  EXPECT_EQ(to_ints(evaluate(model.import(), std::vector{x})[0]), (std::vector<i64>{10, 7, 50}));
}

}  // namespace
}  // namespace mcc
