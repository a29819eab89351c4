// A ConvTranspose spreads its input with zeros between and multiplies mostly by them: three of four times for a stride
// of two by two. Instead (Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
// Convolutional Neural Network", 2016) the output pixels are sorted by their phase, their place modulo the stride.
// Those of one phase are an ordinary convolution of the input with the kernel elements of that phase, so all phases
// together are one convolution with more output channels, whose results are then dealt out.
//
// Along one axis, with kernel K, stride s, and o counted before the begin pad is cut away: o = q * s + f meets input
// pixel q - j with kernel element f + j * s, for j in 0 .. J-1 where J = ceil(K / s); elements from K on are zero.
// Turning j around makes it a convolution over the input with J-1 pads on both sides. Where output_padding reaches
// beyond the last such pixel, there is more padding at the end.
#include "passes/decompose_transposed_conv.h"

#include <algorithm>

#include "passes/simplify.h"

namespace mcc {
namespace {

struct Axes {  // one entry for each spatial axis
  Shape kernel, strides, begin, taps, pixels;
  std::vector<i64> pads;  // of the new convolution: all begins, then all ends
};

bool all_are(const std::vector<i64>& values, i64 value) {
  return std::all_of(values.begin(), values.end(), [value](i64 v) { return v == value; });
}

Axes read_axes(Rewriter& rw, const Node& node) {
  const Shape &x = rw.shape(node.in[0]), &w = rw.shape(node.in[1]), &y = rw.shape(node.out[0]);
  Axes a;
  a.kernel.assign(w.begin() + 2, w.end());
  const size_t rank = a.kernel.size();
  a.strides = node.attrs.get_ints("strides", Shape(rank, 1));
  a.begin = node.attrs.get_ints("pads", Shape(2 * rank, 0));
  a.begin.resize(rank);
  a.pads.resize(2 * rank);
  for (size_t i = 0; i < rank; i++) {
    a.taps.push_back(ceil_div(a.kernel[i], a.strides[i]));
    const i64 least = x[i + 2] + a.taps[i] - 1;
    a.pixels.push_back(std::max(least, ceil_div(a.begin[i] + y[i + 2], a.strides[i])));
    a.pads[i] = a.taps[i] - 1;
    a.pads[rank + i] = a.taps[i] - 1 + a.pixels[i] - least;
  }
  return a;
}

// [IC, OC, K...] -> [phases... OC, IC, J...]
ValueId weights_by_phase(Rewriter& rw, ValueId w, const Axes& a) {
  const size_t rank = a.kernel.size();
  const Shape from = rw.shape(w);
  Shape pads(2 * (rank + 2), 0), split{from[0], from[1]}, starts, ends, axes, to{from[1], from[0]};
  Perm perm;
  for (size_t i = 0; i < rank; i++) {
    pads[rank + 4 + i] = a.taps[i] * a.strides[i] - a.kernel[i];
    split.insert(split.end(), {a.taps[i], a.strides[i]});
    axes.push_back(static_cast<i64>(2 + 2 * i));
    starts.push_back(-1);
    ends.push_back(std::numeric_limits<i64>::min());
    perm.push_back(static_cast<i64>(3 + 2 * i));
    to[0] *= a.strides[i];
    to.push_back(a.taps[i]);
  }
  perm.insert(perm.end(), {1, 0});
  perm.insert(perm.end(), axes.begin(), axes.end());
  if (!all_are(pads, 0)) w = rw.emit("Pad", {w}, attrs({{"pads", pads}}));
  w = reshape(rw, w, split);
  w = rw.emit("Slice", {w}, attrs({{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", Shape(rank, -1)}}));
  return reshape(rw, transpose(rw, w, perm), to);
}

// [N, phases... OC, Q...] -> [N, OC, Q * stride...], then the part that is the output.
ValueId deal_out(Rewriter& rw, ValueId y, const Axes& a, const Shape& out) {
  const size_t rank = a.kernel.size();
  Shape split{out[0]}, whole{out[0], out[1]}, starts, ends, axes;
  split.insert(split.end(), a.strides.begin(), a.strides.end());
  split.push_back(out[1]);
  split.insert(split.end(), a.pixels.begin(), a.pixels.end());
  Perm perm{0, static_cast<i64>(rank + 1)};
  for (size_t i = 0; i < rank; i++) {
    perm.insert(perm.end(), {static_cast<i64>(rank + 2 + i), static_cast<i64>(1 + i)});
    whole.push_back(a.pixels[i] * a.strides[i]);
    starts.push_back(a.begin[i]);
    ends.push_back(a.begin[i] + out[i + 2]);
    axes.push_back(static_cast<i64>(i + 2));
  }
  y = reshape(rw, transpose(rw, reshape(rw, y, split), perm), whole);
  if (whole == out) return y;
  return rw.emit("Slice", {y}, attrs({{"starts", starts}, {"ends", ends}, {"axes", axes}}));
}

}  // namespace

ValueId decompose_transposed_conv(Rewriter& rw, const Node& node) {
  const Shape strides = node.attrs.get_ints("strides", {});
  if (node.attrs.get_int("group", 1) != 1 || !all_are(node.attrs.get_ints("dilations", {}), 1) || all_are(strides, 1) ||
      node.attrs.get_string("layout", "NCHW") != "NCHW" || !rw.constant(node.in[1]))
    return kNone;
  const Axes a = read_axes(rw, node);
  for (size_t i = 0; i < a.kernel.size(); i++)
    if (a.kernel[i] < a.strides[i]) return kNone;
  std::vector<ValueId> in{node.in[0], weights_by_phase(rw, node.in[1], a)};
  if (node.in.size() > 2 && node.in[2] != kNone) {
    const std::vector<ValueId> same(static_cast<size_t>(elements(a.strides)), node.in[2]);
    in.push_back(rw.emit("Concat", same, attrs({{"axis", i64{0}}})));
  }
  const ValueId y = rw.emit("Conv", std::move(in), attrs({{"kernel_shape", a.taps}, {"pads", a.pads}}));
  return deal_out(rw, y, a, rw.shape(node.out[0]));
}

}  // namespace mcc
