// The convolution references against the definition written out as loops: Conv gathers, ConvTranspose scatters.
#include <gtest/gtest.h>

#include "ops_instances.h"

namespace mcc::testing {
namespace {

struct Conv2d {
  Ints x, w, pads = {0, 0, 0, 0}, strides = {1, 1}, dilations = {1, 1};
  i64 group = 1;
};

OpCase conv_case(const std::string& op, const Conv2d& c) {
  auto spec = [](const Ints& shape) { return "f32[" + join(shape, ",") + "]"; };
  return make_case({op,
                    {{"pads", c.pads}, {"strides", c.strides}, {"dilations", c.dilations}, {"group", c.group}},
                    {spec(c.x), spec(c.w)}},
                   7);
}

double element(const Tensor& t, i64 a, i64 b, i64 y, i64 x) {
  const Shape& s = t.type.shape;
  return y < 0 || x < 0 || y >= s[2] || x >= s[3] ? 0 : t.get(((a * s[1] + b) * s[2] + y) * s[3] + x);
}

// Calls visit(image, output channel, channel within the group, input channel) for all that meet.
template <typename Visit>
void for_each_pair(i64 images, i64 in_channels, i64 out_channels, i64 group, Visit visit) {
  i64 ics = in_channels / group, ocs = out_channels / group;
  for (i64 n = 0; n < images; n++)
    for (i64 oc = 0; oc < out_channels; oc++)
      for (i64 ic = 0; ic < ics; ic++) visit(n, oc, ic, oc / ocs * ics + ic);
}

std::vector<double> conv_by_definition(const Conv2d& c, const Tensor& x, const Tensor& w, const Shape& y) {
  std::vector<double> sums(static_cast<size_t>(elements(y)));
  for_each_pair(y[0], c.x[1], y[1], c.group, [&](i64 n, i64 oc, i64 ic, i64 channel) {
    for (i64 oy = 0; oy < y[2]; oy++)
      for (i64 ox = 0; ox < y[3]; ox++)
        for (i64 k = 0; k < c.w[2] * c.w[3]; k++) {
          i64 ky = k / c.w[3], kx = k % c.w[3];
          sums[static_cast<size_t>(((n * y[1] + oc) * y[2] + oy) * y[3] + ox)] +=
              element(w, oc, ic, ky, kx) * element(x, n, channel, oy * c.strides[0] - c.pads[0] + ky * c.dilations[0],
                                                   ox * c.strides[1] - c.pads[1] + kx * c.dilations[1]);
        }
  });
  return sums;
}

std::vector<double> transpose_by_definition(const Conv2d& c, const Tensor& x, const Tensor& w, const Shape& y) {
  std::vector<double> sums(static_cast<size_t>(elements(y)));
  i64 ocs = c.w[1];
  for_each_pair(y[0], c.x[1], y[1], c.group, [&](i64 n, i64 oc, i64, i64 channel) {
    for (i64 p = 0; p < c.x[2] * c.x[3]; p++)
      for (i64 k = 0; k < c.w[2] * c.w[3]; k++) {
        i64 iy = p / c.x[3], ix = p % c.x[3], ky = k / c.w[3], kx = k % c.w[3];
        i64 oy = iy * c.strides[0] - c.pads[0] + ky * c.dilations[0],
            ox = ix * c.strides[1] - c.pads[1] + kx * c.dilations[1];
        if (oy < 0 || ox < 0 || oy >= y[2] || ox >= y[3]) continue;
        sums[static_cast<size_t>(((n * y[1] + oc) * y[2] + oy) * y[3] + ox)] +=
            element(x, n, channel, iy, ix) * element(w, channel, oc % ocs, ky, kx);
      }
  });
  return sums;
}

const Conv2d kConvs[] = {
    {{1, 3, 5, 6}, {4, 3, 3, 3}},
    {{2, 4, 7, 6}, {6, 2, 3, 2}, {1, 0, 2, 1}, {2, 1}, {1, 2}, 2},
    {{1, 4, 6, 6}, {4, 1, 3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}, 4},
    {{1, 2, 20, 20}, {3, 2, 1, 1}},
};

TEST(ConvReference, IsTheDefinition) {
  for (const Conv2d& c : kConvs) {
    OpCase made = conv_case("Conv", c);
    Tensor y = evaluate(made.node, made.in_pointers(), made.in_types)[0];
    EXPECT_EQ(to_doubles(y), conv_by_definition(c, made.in[0], made.in[1], y.type.shape));
  }
}

TEST(ConvTransposeReference, IsTheDefinition) {
  const Conv2d cases[] = {
      {{1, 3, 4, 5}, {3, 2, 3, 3}},
      {{2, 4, 4, 3}, {4, 3, 3, 2}, {1, 0, 1, 1}, {2, 3}, {1, 2}, 2},
      {{1, 2, 4, 4}, {2, 1, 2, 2}, {0, 0, 0, 0}, {2, 2}, {1, 1}, 2},
  };
  for (const Conv2d& c : cases) {
    OpCase made = conv_case("ConvTranspose", c);
    Tensor y = evaluate(made.node, made.in_pointers(), made.in_types)[0];
    EXPECT_EQ(to_doubles(y), transpose_by_definition(c, made.in[0], made.in[1], y.type.shape));
  }
}

TEST(ConvInference, Extents) {
  auto shape_of = [](const std::string& op, const Conv2d& c) {
    OpCase made = conv_case(op, c);
    return infer_types(made.node, made.in_types)[0].shape;
  };
  EXPECT_EQ(shape_of("Conv", {{1, 3, 224, 224}, {64, 3, 7, 7}, {3, 3, 3, 3}, {2, 2}}), (Shape{1, 64, 112, 112}));
  EXPECT_EQ(shape_of("ConvTranspose", {{1, 3, 4, 4}, {3, 2, 4, 4}, {1, 1, 1, 1}, {2, 2}}), (Shape{1, 2, 8, 8}));
}

TEST(ConvInference, RefusesWhatDoesNotFit) {
  auto error_of = [](const Conv2d& c) -> std::string {
    OpCase made = conv_case("Conv", c);
    try {
      infer_types(made.node, made.in_types);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(error_of({{1, 3, 5, 5}, {4, 2, 3, 3}}).find("do not fit 3 input channels"), std::string::npos);
  EXPECT_NE(error_of({{1, 3, 2, 2}, {4, 3, 3, 3}}).find("does not fit"), std::string::npos);
  EXPECT_NE(error_of({{1, 4, 5, 5}, {3, 2, 3, 3}, {0, 0, 0, 0}, {1, 1}, {1, 1}, 2}).find("groups"), std::string::npos);
  EXPECT_NE(error_of({{1, 3, 5, 5}, {4, 3, 3, 3}, {-1, 0, 0, 0}}).find("negative"), std::string::npos);
}

}  // namespace
}  // namespace mcc::testing
