// Convolutions: Conv and ConvTranspose in one, two, three spatial axes, any groups, strides, dilations, pads and both
// layouts. Weights are ONNX's: [OC, IC/group, kernel...] for Conv, [IC, OC/group, kernel...] for ConvTranspose.
// Attribute layout is the input's, out_layout the output's when that is another: an image in planes becomes
// channels-last.
#include "ops/conv.h"

namespace mcc::ops {
namespace {

void read_channels(ConvShape& c, const Shape& w) {
  if (c.group < 1) fail("group must be positive, not {}", c.group);
  i64 expected = c.transposed ? c.in_channels : c.in_channels / c.group;
  i64 given = c.transposed ? w[0] : w[1];
  if (c.in_channels % c.group != 0 || given != expected)
    fail("weights {} do not fit {} input channels in {} groups", to_string(w), c.in_channels, c.group);
  c.out_channels = c.transposed ? w[1] * c.group : w[0];
  if (c.out_channels % c.group != 0) fail("{} output channels do not divide into {} groups", c.out_channels, c.group);
}

Shape transposed_extents(const Window& w, const Shape& output_padding) {
  if (output_padding.size() != w.rank()) fail("output_padding needs {} entries", w.rank());
  Shape out(w.rank());
  for (size_t i = 0; i < out.size(); i++) {
    if (output_padding[i] < 0 || output_padding[i] > kMostPixels) fail("an output_padding is {}", output_padding[i]);
    out[i] = spread(w.in[i], w.strides[i]) + output_padding[i] + (w.kernel[i] - 1) * w.dilations[i] + 1 - w.begin[i] -
             w.end[i];
    if (out[i] < 1) fail("the pads leave no output along spatial axis {}", i);
  }
  return out;
}

std::vector<TensorType> infer_conv(const Node& node, Types in) {
  ConvShape c = conv_shape(node, in);
  return {{in[0].dtype, arrange(c.out_channels_last, Parts<i64>{c.batch, c.out_channels, c.window.out})}};
}

constexpr OpDef kOps[] = {
    {"Conv", FuseKind::anchor, 2, 3, infer_conv, lower_conv, conv_reference},
    {"ConvTranspose", FuseKind::anchor, 2, 3, infer_conv, lower_conv, conv_reference},
};

}  // namespace

ConvShape conv_shape(const Node& node, Types in) {
  const Shape &x = in[0].shape, &w = in[1].shape;
  if (w.size() < 3) fail("weights {} need at least one spatial dimension", to_string(w));
  if (in[0].dtype != in[1].dtype) fail("input {} and weights {} differ in type", to_string(in[0]), to_string(in[1]));
  ConvShape c;
  c.transposed = node.op == "ConvTranspose";
  Shape kernel(w.begin() + 2, w.end());
  if (node.attrs.get_ints("kernel_shape", kernel) != kernel)
    fail("kernel_shape differs from the weights {}", to_string(w));
  c.window = read_window(node, x, kernel);
  c.out_channels_last = is_channels_last(node, "out_layout", node.attrs.get_string("layout", "NCHW"));
  c.batch = x[0];
  c.group = node.attrs.get_int("group", 1);
  c.in_channels = split(c.window.channels_last, x).channel;
  read_channels(c, w);
  if (present(in, 2) && in[2] != TensorType{in[0].dtype, {c.out_channels}})
    fail("bias {} does not fit {} output channels of {}", to_string(in[2]), c.out_channels, name(in[0].dtype));
  c.window.out = c.transposed
                     ? transposed_extents(c.window, node.attrs.get_ints("output_padding", Shape(kernel.size(), 0)))
                     : conv_extents(c.window);
  return c;
}

}  // namespace mcc::ops

std::span<const mcc::OpDef> mcc::conv_ops() { return ops::kOps; }
