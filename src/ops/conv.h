// What the convolution files share: the shape of one Conv or ConvTranspose, with everything read and checked once.
#pragma once
#include "ops/op_def.h"
#include "ops/window.h"

namespace mcc::ops {

struct ConvShape {
  Window window;  // `out` filled; its layout is the input's
  bool out_channels_last = false;
  bool transposed = false;
  i64 batch = 0, group = 1;
  i64 in_channels = 0, out_channels = 0;  // of all groups together

  i64 group_in() const { return in_channels / group; }
  i64 group_out() const { return out_channels / group; }
  bool depthwise() const { return group > 1 && group_in() == 1 && group_out() == 1; }
};

ConvShape conv_shape(const Node& node, Types in);  // throws Error when the inputs do not fit

loop::Func lower_conv(const Node& node, Types in, Types out);
void conv_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);

}  // namespace mcc::ops
