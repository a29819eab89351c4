// Normalisation references: what the definitions imply (sums of one, means of zero), and a few numbers by hand.
#include <gtest/gtest.h>

#include "ops_instances.h"

namespace mcc::testing {
namespace {

std::vector<double> run(const OpInstance& instance, const std::vector<std::vector<float>>& values) {
  OpCase made = make_case(instance, 1);
  for (size_t i = 0; i < values.size(); i++)
    made.in[i] = Tensor::of<float>(DType::f32, made.in[i].type.shape, values[i]);
  return to_doubles(evaluate(made.node, made.in_pointers(), made.in_types)[0]);
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], want[i], 1e-4) << "element " << i;
}

TEST(SoftmaxReference, AlongEitherAxis) {
  std::vector<float> x = {0, std::log(3.0f), 0, 0};
  expect_near(run({"Softmax", {{"axis", i64{1}}}, {"f32[2,2]"}}, {x}), {0.25, 0.75, 0.5, 0.5});
  expect_near(run({"Softmax", {{"axis", i64{0}}}, {"f32[2,2]"}}, {x}), {0.5, 0.75, 0.5, 0.25});
  expect_near(run({"LogSoftmax", {}, {"f32[2,2]"}}, {x}),
              {std::log(0.25), std::log(0.75), std::log(0.5), std::log(0.5)});
}

TEST(SoftmaxReference, LargeInputsDoNotOverflow) {
  expect_near(run({"Softmax", {}, {"f32[2]"}}, {{1e30f, 1e30f}}), {0.5, 0.5});
}

TEST(HardmaxReference, TakesTheFirstOfEquals) {
  expect_near(run({"Hardmax", {}, {"f32[4]"}}, {{1, 3, 3, 2}}), {0, 1, 0, 0});
}

TEST(MomentsReference, ByHand) {
  const double d = std::sqrt(1.0 + 1e-5);
  expect_near(run({"LayerNormalization", {}, {"f32[2,2]", "f32[2]", "f32[2]"}}, {{1, 3, 10, 8}, {2, 2}, {0, 1}}),
              {-2 / d, 2 / d + 1, 2 / d, -2 / d + 1});
  expect_near(run({"InstanceNormalization", {}, {"f32[1,2,2]", "f32[2]", "f32[2]"}}, {{1, 3, 10, 8}, {1, 2}, {0, 1}}),
              {-1 / d, 1 / d, 2 / d + 1, -2 / d + 1});
  expect_near(run({"MeanVarianceNormalization", {{"axes", Ints{0}}}, {"f32[2,2]"}}, {{1, 3, 3, 7}}), {-1, -1, 1, 1});
}

TEST(MomentsReference, GroupsShareStatistics) {
  OpInstance instance{"GroupNormalization", {{"num_groups", i64{2}}}, {"f32[1,4,1]", "f32[4]", "f32[4]"}};
  expect_near(run(instance, {{1, 3, 10, 8}, {1, 2, 3, 4}, {0, 0, 0, 1}}), {-1, 2, 3, -3});
}

TEST(BatchNormalizationReference, ByHand) {
  OpInstance instance{"BatchNormalization", {{"epsilon", 0.0}}, {"f32[1,2,1]", "f32[2]", "f32[2]", "f32[2]", "f32[2]"}};
  expect_near(run(instance, {{5, 7}, {2, 3}, {1, 0}, {3, 4}, {4, 9}}), {3, 3});
}

TEST(LrnReference, SumsNeighbouringChannels) {
  OpInstance instance{"LRN", {{"size", i64{3}}, {"alpha", 3.0}, {"beta", 1.0}, {"bias", 1.0}}, {"f32[1,3,1]"}};
  expect_near(run(instance, {{1, 2, 3}}), {1.0 / 6, 2.0 / 15, 3.0 / 14});
}

TEST(LrnReference, HugeSizesReachNoFurther) {
  constexpr i64 kHuge = i64{1} << 62;
  OpInstance instance{"LRN", {{"size", kHuge}, {"alpha", 0x1p62}, {"beta", 1.0}, {"bias", 1.0}}, {"f32[1,3,1]"}};
  expect_near(run(instance, {{1, 2, 3}}), {1.0 / 15, 2.0 / 15, 3.0 / 15});
}

TEST(LpNormalizationReference, ByHand) {
  expect_near(run({"LpNormalization", {}, {"f32[2,2]"}}, {{3, 4, 0, 0}}), {0.6, 0.8, 0, 0});
  expect_near(run({"LpNormalization", {{"p", i64{1}}}, {"f32[2]"}}, {{-1, 3}}), {-0.25, 0.75});
}

}  // namespace
}  // namespace mcc::testing
