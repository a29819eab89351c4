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

// Is there a window of the node without a pixel? By trying all.
bool has_empty_window(i64 pixels, i64 kernel, i64 stride, i64 dilation, i64 begin, i64 outs) {
  for (i64 o = 0; o < outs; o++) {
    i64 inside = 0;
    for (i64 k = 0; k < kernel; k++) {
      const i64 at = o * stride - begin + k * dilation;
      inside += at >= 0 && at < pixels;
    }
    if (inside == 0) return true;
  }
  return false;
}

// Every small window: taken exactly when each of its places meets the image.
void check_window(const std::string& op, const Ints& digits) {
  const i64 pixels = digits[0], kernel = digits[1], stride = digits[2], dilation = digits[3], begin = digits[4],
            end = digits[5], ceil = digits[6];
  const i64 slack = pixels + begin + end - (kernel - 1) * dilation - 1;
  if (slack < 0) return;  // fits nowhere
  i64 outs = slack / stride + 1;
  if (ceil && slack % stride && outs * stride < pixels + begin) outs++;
  Node node{op, "", {}, {0}, {}};
  node.attrs.set("kernel_shape", Ints{kernel});
  node.attrs.set("strides", Ints{stride});
  node.attrs.set("dilations", Ints{dilation});
  node.attrs.set("pads", Ints{begin, end});
  node.attrs.set("ceil_mode", ceil);
  const TensorType x{DType::f32, {1, 1, pixels}};
  const bool want = !has_empty_window(pixels, kernel, stride, dilation, begin, outs);
  bool taken = true;
  try {
    infer_types(node, {&x, 1});
  } catch (const Error& error) {
    taken = false;
    EXPECT_NE(std::string(error.what()).find("wholly in the padding"), std::string::npos) << error.what();
  }
  EXPECT_EQ(taken, want) << fmt::format("{} {}", op, fmt::join(digits, " "));
}

TEST(PoolInference, RefusesWindowsOfPaddingAlone) {
  const Ints least = {1, 1, 1, 1, 0, 0, 0}, most = {4, 3, 3, 5, 5, 4, 1};
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    Ints digits = least;
    for (size_t d = 0; d < digits.size();) {
      check_window(op, digits);
      for (d = 0; d < digits.size() && ++digits[d] > most[d]; d++) digits[d] = least[d];
    }
  }
}

}  // namespace
}  // namespace mcc::testing
