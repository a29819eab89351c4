// Sums that pass the range of their type in some order: which node is blamed, and when none is.
#include <gtest/gtest.h>

#include <limits>

#include "ops/overflow.h"
#include "ops_instances.h"

namespace mcc::testing {
namespace {

// A graph of one node on these inputs, all of them constants.
std::optional<Overflow> overflow_of(Node node, std::span<const Tensor* const> in, Types types) {
  Graph graph;
  node.name = "it";
  node.in.clear();
  for (const Tensor* x : in) node.in.push_back(x ? graph.add_constant("c", *x) : kNone);
  const std::vector<TensorType> results = infer_types(node, types);
  for (size_t o = 0; o < results.size(); o++) node.out[o] = graph.add_value("y", results[o]);
  graph.outputs = node.out;
  graph.nodes = {node};
  return find_overflow(graph, {}, graph.outputs);
}

// All elements of the first input are `value`, those of the others one.
std::optional<Overflow> overflow_of(const OpInstance& instance, double value) {
  OpCase made = make_case(instance, 1);
  for (size_t i = 0; i < made.in.size(); i++)
    for (i64 e = 0; e < made.in[i].size(); e++) made.in[i].set(e, i == 0 ? value : 1);
  return overflow_of(made.node, made.in_pointers(), made.in_types);
}

struct Sum {
  OpInstance instance;
  double small, large, reached;  // values of x that cannot pass the range, and that do; what the sum is then (0: more)
};

TEST(Overflow, NamesTheNodeAndWhatItReaches) {
  const Sum sums[] = {
      {{"AveragePool", {{"kernel_shape", Ints{2, 2}}}, {"f32[1,1,2,2]"}}, 8e37, 3e38, 1.2e39},
      {{"GlobalAveragePool", {}, {"f32[1,2,5,5]"}}, 1e37, 3e37, 7.5e38},
      {{"Conv", {{"kernel_shape", Ints{2, 2}}}, {"f32[1,3,4,4]", "f32[5,3,2,2]"}}, 2e37, 1e38, 1.2e39},
      {{"MatMul", {}, {"f32[2,8]", "f32[8,3]"}}, 4e37, 1e38, 8e38},
      {{"Gemm", {{"alpha", -2.0}}, {"f32[2,8]", "f32[8,3]", "f32[3]"}}, 2e37, 1e38, 1.6e39},
      {{"Einsum", {{"equation", "ij,j->i"}}, {"f32[2,8]", "f32[8]"}}, 4e37, -1e38, 8e38},
      {{"ReduceMean", {{"axes", Ints{1}}}, {"f32[2,8]"}}, -4e37, -1e38, 8e38},
      {{"ReduceSumSquare", {{"axes", Ints{1}}}, {"f32[2,4]"}}, 9e18, 1e19, 4e38},
      {{"ReduceL2", {{"axes", Ints{1}}}, {"f32[2,4]"}}, 9e18, 1e19, 4e38},
      {{"ReduceProd", {{"axes", Ints{1}}}, {"f32[2,4]"}}, 4e9, 1e10, 1e40},
      {{"CumSum", {{"axis", i64{0}}}, {"f32[4]"}}, 8e37, 1e38, 4e38},
      {{"LpPool", {{"kernel_shape", Ints{4}}, {"p", i64{3}}}, {"f32[1,1,4]"}}, 4e12, 1e13, 4e39},
      {{"Conv", {{"kernel_shape", Ints{3, 3}}}, {"f32[1,3,4,4]", "f32[5,3,3,3]"}}, 1e30, 1e36, 0},
      {{"Conv", {{"kernel_shape", Ints{3, 3}}, {"group", i64{3}}}, {"f32[1,3,4,4]", "f32[6,1,3,3]"}},
       3e37,
       4e37,
       3.6e38},
      {{"LayerNormalization", {}, {"f32[2,8]", "f32[8]"}}, 1e17, 1e20, 0},
      {{"RNN", {{"hidden_size", i64{2}}}, {"f32[3,1,4]", "f32[1,2,4]", "f32[1,2,2]"}}, 8e37, 1e38, 0},
      {{"MatMul", {}, {"f16[2,8]", "f16[8,3]"}}, 8000, 8192, 65536},
      {{"MatMul", {}, {"f64[2,8]", "f64[8,3]"}}, 1e307, 1e308, 0},
  };
  for (const auto& [instance, small, large, reached] : sums) {
    EXPECT_FALSE(overflow_of(instance, small)) << instance.op;
    const std::optional<Overflow> found = overflow_of(instance, large);
    ASSERT_TRUE(found) << instance.op;
    EXPECT_EQ(found->node, instance.op + " node 'it'");
    EXPECT_EQ(found->range, largest_number(found->dtype));
    if (reached == 0) continue;
    EXPECT_NEAR(found->magnitude / reached, 1, 1e-6) << instance.op << ' ' << found->magnitude;
  }
}

TEST(Overflow, InfiniteInputsExplainThemselves) {
  const OpInstance mean{"ReduceMean", {{"axes", Ints{1}}}, {"f32[2,8]"}};
  EXPECT_FALSE(overflow_of(mean, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(overflow_of(mean, std::numeric_limits<double>::quiet_NaN()));
}

TEST(Overflow, OperatorsWithoutASumHaveNone) {
  EXPECT_FALSE(overflow_of({"Exp", {}, {"f32[4]"}}, 100));
  EXPECT_FALSE(overflow_of({"Mul", {}, {"f32[4]", "f32[4]"}}, 3e38));
  EXPECT_FALSE(overflow_of({"MatMul", {}, {"i32[2,8]", "i32[8,3]"}}, 2e9));
}

TEST(Overflow, OrdinaryNumbersAreFarFromIt) {
  for (const OpInstance& instance : op_instances()) {
    const OpCase made = make_case(instance, 1);
    const std::optional<Overflow> found = overflow_of(made.node, made.in_pointers(), made.in_types);
    EXPECT_FALSE(found) << describe(instance) << ' ' << found->magnitude;
  }
}

// y = ReduceSum(x) passes the range, z = Relu(x) does not depend on it.
TEST(Overflow, OnlyWhatAnOutputDependsOnMatters) {
  Graph graph;
  const TensorType type{DType::f32, {8}};
  const ValueId x = graph.add_value("x", type), y = graph.add_value("y", {DType::f32, {1}});
  const ValueId z = graph.add_value("z", type);
  graph.nodes = {{"ReduceSum", "sum", {x}, {y}, {}}, {"Relu", "relu", {x}, {z}, {}}};
  graph.nodes[0].attrs.set("axes", Ints{0});
  graph.inputs = {x};
  graph.outputs = {y, z};
  const std::vector<Tensor> in{Tensor::of<float>(DType::f32, {8}, std::vector<float>(8, 3e38f))};
  ASSERT_TRUE(find_overflow(graph, in, std::vector<ValueId>{y}));
  EXPECT_FALSE(find_overflow(graph, in, std::vector<ValueId>{z}));
}

}  // namespace
}  // namespace mcc::testing
