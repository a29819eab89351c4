// Types, tensors, attributes, and the files and inputs that tensors come from.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/graph.h"
#include "graph/npy.h"

namespace mcc {
namespace {

TEST(Types, NamesAndBroadcasting) {
  for (int d = 0; d <= static_cast<int>(DType::boolean); d++) {
    const auto dtype = static_cast<DType>(d);
    EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
  }
  EXPECT_EQ(min_value(DType::i8), -128);
  EXPECT_EQ(max_value(DType::u64), std::numeric_limits<i64>::max());
  EXPECT_EQ(broadcast({2, 1, 3}, {4, 1}), (Shape{2, 4, 3}));
  EXPECT_EQ(broadcast({1}, {0}), Shape{0});
  EXPECT_THROW(broadcast({2}, {3}), Error);
  EXPECT_THROW(elements({i64{1} << 40, i64{1} << 40}), Error);
  EXPECT_EQ(elements({i64{1} << 40, i64{1} << 40, 0}), 0);
  EXPECT_EQ(normalize_axis(-1, 4), 3);
  EXPECT_THROW(normalize_axis(4, 4), Error);
}

TEST(Tensor, EveryHalfSurvivesTheRoundTrip) {
  for (int bits = 0; bits < 65536; bits++) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float f = half_to_float(half), b = bf16_to_float(half);
    if (std::isnan(f))
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(f))));
    else
      EXPECT_EQ(float_to_half(f), half);
    if (std::isnan(b))
      EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(b))));
    else
      EXPECT_EQ(float_to_bf16(b), half);
  }
}

TEST(Tensor, HalfRoundsToNearestEven) {
  EXPECT_EQ(float_to_half(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(float_to_half(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(0x1p-25f), 0);
  EXPECT_EQ(float_to_half(0x1.8p-25f), 1);
  EXPECT_EQ(float_to_half(1023.75f * 0x1p-24f), 0x0400);
}

TEST(Tensor, GetAndSetOfEveryType) {
  for (int d = 0; d <= static_cast<int>(DType::boolean); d++) {
    Tensor t({static_cast<DType>(d), {2}});
    t.set(1, 1);
    EXPECT_EQ(t.get(0), 0);
    EXPECT_EQ(t.get(1), 1);
    t.set_int(0, 1);
    EXPECT_EQ(t.get_int(0), 1);
  }
  Tensor byte({DType::u8, {1}});
  byte.set(0, 300);
  EXPECT_EQ(byte.get_int(0), 255);
  byte.set_int(0, 300);
  EXPECT_EQ(byte.get_int(0), 44);
  byte.set(0, std::nan(""));
  EXPECT_EQ(byte.get_int(0), 0);
}

TEST(Tensor, CompareSeparatesErrorsFromSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor want = Tensor::of<float>(DType::f32, {4}, {1, nan, inf, -4}),
               got = Tensor::of<float>(DType::f32, {4}, {1.5f, nan, -inf, -4});
  const Comparison c = compare(got, want);
  EXPECT_EQ(c.max_abs_error, 0.5);
  EXPECT_EQ(c.max_abs_want, 4);
  EXPECT_EQ(c.mismatched_special, 1);
}

TEST(Attrs, AreSortedAndTyped) {
  Attrs attrs;
  attrs.set("b", i64{2});
  attrs.set("a", std::vector<i64>{1});
  attrs.set("b", i64{3});
  EXPECT_EQ(attrs.items.size(), 2u);
  EXPECT_EQ(attrs.items[0].first, "a");
  EXPECT_EQ(attrs.get_int("b"), 3);
  EXPECT_EQ(attrs.get_float("b", 0), 3.0);
  EXPECT_THROW(attrs.get_int("a"), Error);
  EXPECT_THROW(attrs.get_int("c"), Error);
  attrs.erase("a");
  EXPECT_FALSE(attrs.has("a"));
}

TEST(Npy, RoundTripsEveryType) {
  for (int d = 0; d <= static_cast<int>(DType::boolean); d++) {
    const auto dtype = static_cast<DType>(d);
    const Tensor t = random_input({dtype, {2, 3}}, "x", 0, 7);
    const Tensor back = parse_npy(to_npy(t), "test");
    if (dtype == DType::bf16)
      EXPECT_EQ(back.type.dtype, DType::f32);
    else
      EXPECT_EQ(back.type, t.type);
    for (i64 i = 0; i < t.size(); i++) EXPECT_EQ(back.get(i), t.get(i));
  }
  EXPECT_THROW(parse_npy("PK..........", "test"), Error);
}

TEST(RandomInput, IsTheDocumentedStream) {
  const Tensor t = random_input({DType::f32, {4}}, "x", 0, 1);
  EXPECT_EQ(t.get(0), 0.7442206144332886);
  EXPECT_EQ(t.get(1), -0.8082752227783203);
  EXPECT_EQ(t.get(2), 0.038350462913513184);
  EXPECT_EQ(t.get(3), 0.2501295804977417);
  const Tensor mask = random_input({DType::i64, {64}}, "Attention_MASK", 0, 1);
  for (const i64 v : to_ints(mask)) EXPECT_TRUE(v == 0 || v == 1);
}

}  // namespace
}  // namespace mcc
