// The table of operators: look-up, checked inference with the node's name in every error, evaluation of whole graphs.
#include <gtest/gtest.h>

#include "ops/op_def.h"

namespace mcc {

namespace {

std::string infer_error(const Node& node, std::vector<TensorType> in) {
  try {
    infer_types(node, in);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OpsTable, FindsByName) {
  ASSERT_NE(find_op("Relu"), nullptr);
  EXPECT_EQ(find_op("Relu")->name, "Relu");
  EXPECT_EQ(find_op("NoSuchOp"), nullptr);
  for (size_t i = 1; i < all_ops().size(); i++) EXPECT_LT(all_ops()[i - 1]->name, all_ops()[i]->name);
}

TEST(OpsTable, ErrorsNameTheNode) {
  Node node{"Add", "sum", {}, {0}, {}};
  TensorType f32{DType::f32, {2, 3}}, f64{DType::f64, {2, 3}}, other{DType::f32, {2, 4}};
  EXPECT_NE(infer_error(node, {f32}).find("sum"), std::string::npos);
  EXPECT_NE(infer_error(node, {f32, f64}).find("f64"), std::string::npos);
  EXPECT_NE(infer_error(node, {f32, other}).find("sum"), std::string::npos);
  EXPECT_NE(infer_error(node, {f32, f32, f32}).find("at most 2 inputs"), std::string::npos);
  EXPECT_NE(infer_error(node, {f32, missing_type()}).find("missing"), std::string::npos);
  EXPECT_NE(infer_error({"Relu", "none", {}, {}, {}}, {f32}).find("has no outputs"), std::string::npos);
  node.op = "NoSuchOp";
  EXPECT_NE(infer_error(node, {f32}).find("NoSuchOp is not supported"), std::string::npos);
}

TEST(OpsTable, UnwantedOutputsHaveNoType) {
  Node node{"TopK", "top", {}, {kNone, 7}, {}};
  node.attrs.set("k", i64{2});
  TensorType x{DType::f32, {5}};
  std::vector<TensorType> out = infer_types(node, std::vector<TensorType>{x});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_TRUE(is_missing(out[0]));
  EXPECT_EQ(out[1], (TensorType{DType::i64, {2}}));
}

// y = (x + c) * x, with x an output too: it must survive its last use.
TEST(OpsTable, EvaluatesGraphs) {
  Graph graph;
  TensorType type{DType::f32, {3}};
  ValueId x = graph.add_value("x", type), c = graph.add_constant("c", Tensor::of<float>(DType::f32, {1}, {10}));
  ValueId sum = graph.add_value("sum", type), y = graph.add_value("y", type);
  graph.nodes = {{"Add", "add", {x, c}, {sum}, {}}, {"Mul", "mul", {sum, x}, {y}, {}}};
  graph.inputs = {x};
  graph.outputs = {y, x};
  std::vector<Tensor> in{Tensor::of<float>(DType::f32, {3}, {1, 2, 3})}, out = evaluate(graph, in);
  EXPECT_EQ(to_doubles(out[0]), (std::vector<double>{11, 24, 39}));
  EXPECT_EQ(to_doubles(out[1]), (std::vector<double>{1, 2, 3}));
}

}  // namespace

}  // namespace mcc
