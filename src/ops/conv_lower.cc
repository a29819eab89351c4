// Convolutions as loop programs.
//
// Conv: a block "pad" when there is padding, then a perfect nest "conv" over output pixels and channels that reduces
// over kernel and input channels. Output channels last: spatial n, o..., oc; else n, oc, o.... Input channels last:
// reduction k..., ic; else ic, k.... Depthwise has no ic. Other groups compute [.., group, channel of the group] and a
// last block flattens the two.
//
// ConvTranspose: a block "dilate" spreads the input with zeros between, and then it is a convolution of stride one with
// the kernel turned around. Bias is an elementwise block "bias"; narrow floats accumulate in f32 and are cast there.
#include "ops/conv.h"
#include "ops/lib.h"

namespace mcc::ops {

using loop::ExprOp;

namespace {

// Zeros everywhere but at multiples of the stride, so that a stride-one window with the turned kernel element K-1-k
// meets input i where i * stride = o + begin - k * dilation.
int dilate_input(FuncBuilder& b, int x, const TensorType& type, const ConvShape& c) {
  const Window& w = c.window;
  Shape extents(w.rank());
  for (size_t i = 0; i < extents.size(); i++) extents[i] = w.out[i] + (w.kernel[i] - 1) * w.dilations[i];
  const auto source = [&](std::vector<Expr>& at) {
    Expr present = loop::constant(DType::boolean, 1);
    for (size_t i = 0; i < w.rank(); i++) {
      i64 shift = (w.kernel[i] - 1) * w.dilations[i] - w.begin[i];
      Expr q = at[i] - shift;
      present = present && within(q, (w.in[i] - 1) * w.strides[i] + 1, -shift, extents[i] - 1 - shift);
      if (w.strides[i] > 1)
        present = present && loop::binary(ExprOp::eq, floormod(q, w.strides[i]), loop::const_int(0));
      at[i] = floordiv(q, w.strides[i]);
    }
    return present;
  };
  return copy_input(b, x, type, w.channels_last, {"d", "dilate", extents, loop::constant(type.dtype, 0), source});
}

// The loops of the main nest, and how its variables name an output pixel, the channel within a group, and the group.
struct Nest {
  Shape spatial, reduction;
  std::vector<std::string> axes;  // names of both
};

struct Point {
  Expr n, g, oc, ic;  // oc and ic within the group
  Vars o, k;
};

bool has_group_axis(const ConvShape& c) { return c.group > 1 && !c.depthwise(); }

Nest nest_of(const ConvShape& c) {
  const Window& w = c.window;
  bool last = c.out_channels_last;
  Nest nest;
  nest.spatial = arrange(last, Parts<i64>{c.batch, c.out_channels, w.out});
  nest.axes = arrange(last, Parts<std::string>{"n", c.depthwise() ? "c" : "oc", axis_names("o", w.rank())});
  if (has_group_axis(c)) {
    i64 channel = last ? static_cast<i64>(nest.spatial.size()) - 1 : 1;
    nest.spatial[at(channel)] = c.group_out();
    nest.spatial.insert(nest.spatial.begin() + channel, c.group);
    nest.axes.insert(nest.axes.begin() + channel, "g");
  }
  nest.reduction = w.kernel;
  std::vector<std::string> inner = axis_names("k", w.rank());
  if (!c.depthwise()) {
    nest.reduction.insert(w.channels_last ? nest.reduction.end() : nest.reduction.begin(), c.group_in());
    inner.insert(w.channels_last ? inner.end() : inner.begin(), "ic");
  }
  nest.axes.insert(nest.axes.end(), inner.begin(), inner.end());
  return nest;
}

Point point_of(const ConvShape& c, Vars s, Vars r) {
  bool last = c.out_channels_last;
  Point p;
  p.g = p.oc = p.ic = loop::const_int(0);
  if (has_group_axis(c)) {
    auto group = last ? s.end() - 2 : s.begin() + 1;
    p.g = *group;
    s.erase(group);
  }
  if (!c.depthwise()) {
    auto channel = c.window.channels_last ? r.end() - 1 : r.begin();
    p.ic = *channel;
    r.erase(channel);
  }
  Parts<Expr> parts = split(last, s);
  p.n = parts.batch;
  (c.depthwise() ? p.g : p.oc) = parts.channel;
  p.o = parts.at;
  p.k = r;
  return p;
}

Vars weight_index(const ConvShape& c, const Point& p) {
  Expr outer = c.transposed ? p.g * c.group_in() + p.ic : p.g * c.group_out() + p.oc;
  Vars index{outer, c.transposed ? p.oc : p.ic};
  for (size_t i = 0; i < p.k.size(); i++)
    index.push_back(c.transposed ? loop::const_int(c.window.kernel[i] - 1) - p.k[i] : p.k[i]);
  return index;
}

// y from the accumulators: flattens groups, adds the bias, casts.
void finish(FuncBuilder& b, const ConvShape& c, int sums, int bias, int y, const TensorType& type, DType acc) {
  bool last = c.out_channels_last;
  const char* name = bias >= 0 ? "bias" : has_group_axis(c) ? "ungroup" : "cast";
  b.axes(arrange(last, Parts<std::string>{"n", "oc", axis_names("o", c.window.rank())}));
  b.block(name, type.shape, y, [&](const Vars& v) {
    Vars index = v;
    Expr channel = split(last, v).channel;
    if (has_group_axis(c)) {
      auto at = last ? index.end() - 1 : index.begin() + 1;
      *at = floormod(channel, c.group_out());
      index.insert(at, floordiv(channel, c.group_out()));
    }
    Expr sum = b.load(sums, index);
    if (bias >= 0) sum = sum + loop::cast(acc, b.load(bias, {channel}));
    return loop::cast(type.dtype, sum);
  });
}

}  // namespace

loop::Func lower_conv(const Node& node, Types in, Types out) {
  ConvShape c = conv_shape(node, in);
  DType dtype = in[0].dtype, acc = compute_type(dtype);
  FuncBuilder b(node.op);
  int x = b.input("x", dtype, in[0].shape), w = b.input("w", dtype, in[1].shape);
  int bias = in.size() > 2 && !is_missing(in[2]) ? b.input("b", dtype, in[2].shape) : -1;
  int y = b.output("y", out[0].dtype, out[0].shape);

  Nest nest = nest_of(c);
  Window unit = c.window;  // how the main nest walks the buffer it reads
  if (c.transposed) unit.strides.assign(unit.rank(), 1);
  int source = c.transposed ? dilate_input(b, x, in[0], c) : pad_input(b, x, in[0], c.window, loop::constant(dtype, 0));
  bool direct = bias < 0 && acc == dtype && !has_group_axis(c);
  int sums = direct ? y : b.temp("conv", acc, nest.spatial);
  b.axes(nest.axes);
  b.reduce("conv", nest.spatial, nest.reduction, sums, loop::StoreOp::add, loop::constant(acc, 0),
           [&](const Vars& s, const Vars& r) {
             Point p = point_of(c, s, r);
             Vars at = window_index(unit, p.o, p.k);
             Expr value = b.load(source, arrange(unit.channels_last, Parts<Expr>{p.n, p.g * c.group_in() + p.ic, at}));
             return loop::cast(acc, value) * loop::cast(acc, b.load(w, weight_index(c, p)));
           });
  if (!direct) finish(b, c, sums, bias, y, out[0], acc);
  return b.take();
}

}  // namespace mcc::ops
