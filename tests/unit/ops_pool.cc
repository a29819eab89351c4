// Pool references on small images whose results are plain to see.
#include <gtest/gtest.h>

#include "ops_instances.h"

namespace mcc::testing {
namespace {

std::vector<Tensor> pool(const OpInstance& instance, const Tensor& x) {
  OpCase made = make_case(instance, 1);
  const Tensor* in[] = {&x};
  return evaluate(made.node, in, {&x.type, 1});
}

// 1 2 3 / 4 5 6 / 7 8 9
Tensor nine() { return Tensor::of<float>(DType::f32, {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}); }

using Doubles = std::vector<double>;

TEST(PoolReference, MaxWithIndices) {
  OpInstance by_two{"MaxPool", {{"kernel_shape", Ints{2, 2}}}, {"f32[1,1,3,3]"}, 2};
  std::vector<Tensor> out = pool(by_two, nine());
  EXPECT_EQ(to_doubles(out[0]), (Doubles{5, 6, 8, 9}));
  EXPECT_EQ(to_ints(out[1]), (Ints{4, 5, 7, 8}));
  by_two.attrs.push_back({"storage_order", i64{1}});
  EXPECT_EQ(to_ints(pool(by_two, nine())[1]), (Ints{4, 7, 5, 8}));
}

TEST(PoolReference, CeilModeOverhangs) {
  OpInstance instance{
      "MaxPool", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"ceil_mode", i64{1}}}, {"f32[1,1,3,3]"}};
  EXPECT_EQ(to_doubles(pool(instance, nine())[0]), (Doubles{5, 6, 8, 9}));
}

TEST(PoolReference, CeilModeNeverStartsInTheEndPadding) {
  OpInstance instance{
      "AveragePool",
      {{"kernel_shape", Ints{1, 1}}, {"strides", Ints{2, 2}}, {"pads", Ints{0, 0, 1, 1}}, {"ceil_mode", i64{1}}},
      {"f32[1,1,3,3]"}};
  EXPECT_EQ(to_doubles(pool(instance, nine())[0]), (Doubles{1, 3, 7, 9}));
}

TEST(PoolReference, AverageCountsPaddingOrNot) {
  OpInstance instance{"AveragePool",
                      {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}},
                      {"f32[1,1,3,3]"}};
  EXPECT_EQ(to_doubles(pool(instance, nine())[0]), (Doubles{1, 2.5, 5.5, 7}));
  instance.attrs.push_back({"count_include_pad", i64{1}});
  EXPECT_EQ(to_doubles(pool(instance, nine())[0]), (Doubles{0.25, 1.25, 2.75, 7}));
}

TEST(PoolReference, Global) {
  EXPECT_EQ(to_doubles(pool({"GlobalAveragePool", {}, {"f32[1,1,3,3]"}}, nine())[0]), (Doubles{5}));
  EXPECT_EQ(to_doubles(pool({"GlobalMaxPool", {}, {"f32[1,1,3,3]"}}, nine())[0]), (Doubles{9}));
  EXPECT_EQ(to_doubles(pool({"GlobalLpPool", {{"p", i64{1}}}, {"f32[1,1,3,3]"}}, nine())[0]), (Doubles{45}));
}

}  // namespace
}  // namespace mcc::testing
