// Windows read from attributes, their extents, and the two ways to walk them: a table of taps for the references, index
// expressions over an explicitly padded copy for the lowerings. The copy keeps the reduction that follows a perfect
// nest without conditions.
#include "ops/window.h"

#include <numeric>

namespace mcc::ops {

using loop::ExprOp;

std::vector<std::string> axis_names(const std::string& prefix, size_t rank) {
  constexpr std::string_view kLetters = "xyz";
  std::vector<std::string> names;
  for (size_t i = rank; i-- > 0;)
    names.push_back(prefix + (i < kLetters.size() ? std::string(1, kLetters[i]) : std::to_string(i)));
  return names;
}

bool is_channels_last(const Node& node, const char* attribute, const std::string& otherwise) {
  std::string layout = node.attrs.get_string(attribute, otherwise);
  if (layout != "NCHW" && layout != "NHWC") fail("layout {} is neither NCHW nor NHWC", layout);
  return layout == "NHWC";
}

Window read_window(const Node& node, const Shape& x, const Shape& kernel) {
  size_t rank = kernel.size();
  if (x.size() != rank + 2) fail("input {} needs {} dimensions for a kernel of {}", to_string(x), rank + 2, rank);
  Window w;
  w.channels_last = is_channels_last(node);
  w.in = split(w.channels_last, x).at;
  w.kernel = kernel;
  w.strides = node.attrs.get_ints("strides", Shape(rank, 1));
  w.dilations = node.attrs.get_ints("dilations", Shape(rank, 1));
  Shape pads = node.attrs.get_ints("pads", Shape(2 * rank, 0));
  if (w.strides.size() != rank || w.dilations.size() != rank || pads.size() != 2 * rank)
    fail("strides, dilations and pads do not fit {} spatial dimensions", rank);
  w.begin.assign(pads.begin(), pads.begin() + static_cast<i64>(rank));
  w.end.assign(pads.begin() + static_cast<i64>(rank), pads.end());
  for (size_t i = 0; i < rank; i++) {
    if (w.kernel[i] < 1 || w.strides[i] < 1 || w.dilations[i] < 1)
      fail("kernel, strides and dilations must be positive");
    if (w.begin[i] < 0 || w.end[i] < 0) fail("negative pads are not supported");
    constexpr i64 kMost = i64{1} << 30;  // of two such numbers the product is far from the limits of i64
    if (std::max({w.kernel[i], w.strides[i], w.dilations[i], w.begin[i], w.end[i]}) > kMost)
      fail("kernel, strides, dilations and pads must not be larger than {}", kMost);
  }
  constexpr i64 kMostTaps = i64{1} << 28;  // a reference lists them all
  if (elements(w.kernel) > kMostTaps) fail("a kernel of {} has more than {} elements", to_string(w.kernel), kMostTaps);
  return w;
}

namespace {

// Pixels between the first window's start and the last place where one still fits.
i64 slack(const Window& w, size_t i) {
  return w.in[i] + w.begin[i] + w.end[i] - (w.kernel[i] - 1) * w.dilations[i] - 1;
}

void check_fits(const Window& w, size_t i) {
  if (slack(w, i) < 0)
    fail("a kernel of {} with dilation {} does not fit {} pixels with pads {} and {}", w.kernel[i], w.dilations[i],
         w.in[i], w.begin[i], w.end[i]);
}

// Is there a window along axis i none of whose taps meets the image? Windows that start inside meet it, and so do those
// that start before it and reach it, if its pixels are as many as those from tap to tap. Otherwise each of the latter
// meets it when the first of its taps at or behind pixel 0 does; these come round after at most a dilation of windows.
bool misses_image(const Window& w, size_t i) {
  constexpr i64 kMostTried = i64{1} << 20;
  const i64 d = w.dilations[i], step = w.strides[i], begin = w.begin[i], pixels = w.in[i];
  if ((w.kernel[i] - 1) * d < begin || (w.out[i] - 1) * step - begin >= pixels) return true;
  if (d <= pixels || begin == 0) return false;
  const i64 before = std::min(ceil_div(begin, step), w.out[i]), tried = std::min(before, d / std::gcd(step, d));
  if (tried > kMostTried) return true;
  for (i64 o = 0; o < tried; o++) {
    const i64 ahead = begin - o * step;  // pixels from the window's start to pixel 0
    if (round_up(ahead, d) - ahead >= pixels) return true;
  }
  return false;
}

// The index of multi-dimensional position number `flat`.
Shape unflatten(i64 flat, const Shape& extents) {
  Shape at(extents.size());
  for (size_t i = extents.size(); i-- > 0; flat /= extents[i]) at[i] = flat % extents[i];
  return at;
}

// The input pixel that output pixel o meets with kernel element k along axis i, or -1.
i64 input_pixel(const Window& w, bool transposed, size_t i, i64 o, i64 k) {
  i64 at = transposed ? o + w.begin[i] - k * w.dilations[i] : o * w.strides[i] - w.begin[i] + k * w.dilations[i];
  if (transposed) {
    if (at < 0 || at % w.strides[i] != 0) return -1;
    at /= w.strides[i];
  }
  return at >= 0 && at < w.in[i] ? at : -1;
}

}  // namespace

i64 spread(i64 pixels, i64 stride) {
  if (pixels - 1 > kMostPixels / stride) fail("{} pixels {} apart are too many", pixels, stride);
  return (pixels - 1) * stride;
}

Shape conv_extents(const Window& w) { return pool_extents(w, false); }

Shape pool_extents(const Window& w, bool ceil_mode) {
  Shape out(w.rank());
  for (size_t i = 0; i < out.size(); i++) {
    check_fits(w, i);
    out[i] = slack(w, i) / w.strides[i] + 1;
    bool overhangs = ceil_mode && slack(w, i) % w.strides[i] != 0;
    if (overhangs && out[i] * w.strides[i] < w.in[i] + w.begin[i]) out[i]++;
  }
  return out;
}

void require_pixels_in_windows(const Window& w) {
  for (size_t i = 0; i < w.rank(); i++)
    if (misses_image(w, i))
      fail("with pads {} and {}, a kernel of {} with dilation {} and stride {} lies wholly in the padding of {} pixels",
           w.begin[i], w.end[i], w.kernel[i], w.dilations[i], w.strides[i], w.in[i]);
}

i64 band_size(i64 gathered) { return std::clamp<i64>((i64{1} << 22) / std::max<i64>(gathered, 1), 1, 256); }

std::vector<i64> tap_table(const Window& w, bool transposed, i64 first, i64 count) {
  i64 taps = elements(w.kernel);
  std::vector<i64> table(static_cast<size_t>(count * taps));
  for (i64 p = 0; p < count; p++) {
    Shape o = unflatten(first + p, w.out);
    for (i64 t = 0; t < taps; t++) {
      Shape k = unflatten(t, w.kernel);
      i64 flat = 0;
      for (size_t i = 0; i < w.rank() && flat >= 0; i++) {
        i64 at = input_pixel(w, transposed, i, o[i], k[i]);
        flat = at < 0 ? -1 : flat * w.in[i] + at;
      }
      table[static_cast<size_t>(p * taps + t)] = flat;
    }
  }
  return table;
}

Shape touched_extents(const Window& w) {
  Shape touched(w.rank());
  for (size_t i = 0; i < touched.size(); i++)
    touched[i] = (w.out[i] - 1) * w.strides[i] + (w.kernel[i] - 1) * w.dilations[i] + 1;
  return touched;
}

Expr within(const Expr& e, i64 extent, i64 min, i64 max) {
  Expr always = loop::constant(DType::boolean, 1);
  Expr low = min < 0 ? loop::binary(ExprOp::le, loop::const_int(0), e) : always;
  Expr high = max >= extent ? e < loop::const_int(extent) : always;
  return low && high;
}

int copy_input(FuncBuilder& b, int x, const TensorType& type, bool channels_last, const SpatialCopy& copy) {
  Parts<i64> parts = split(channels_last, type.shape);
  parts.at = copy.extents;
  const Shape shape = arrange(channels_last, parts);
  const int buffer = b.temp(copy.buffer, type.dtype, shape);
  b.axes(arrange(channels_last, Parts<std::string>{"n", "c", axis_names("", copy.extents.size())}));
  b.block(copy.block, shape, buffer, [&](const Vars& v) {
    Parts<Expr> at = split(channels_last, v);
    const Expr present = copy.source(at.at);
    return loop::select(present, b.load(x, arrange(channels_last, at)), copy.fill);
  });
  return buffer;
}

int pad_input(FuncBuilder& b, int x, const TensorType& type, const Window& w, const Expr& fill) {
  const Shape touched = touched_extents(w);
  bool padded = false;
  for (size_t i = 0; i < w.rank(); i++) padded |= w.begin[i] > 0 || touched[i] > w.in[i];
  if (!padded) return x;
  const auto source = [&](std::vector<Expr>& at) {
    Expr inside = loop::constant(DType::boolean, 1);
    for (size_t i = 0; i < w.rank(); i++) {
      at[i] = at[i] - w.begin[i];
      inside = inside && within(at[i], w.in[i], -w.begin[i], touched[i] - 1 - w.begin[i]);
    }
    return inside;
  };
  return copy_input(b, x, type, w.channels_last, {"p", "pad", touched, fill, source});
}

Vars window_index(const Window& w, const Vars& o, const Vars& k) {
  Vars at;
  for (size_t i = 0; i < w.rank(); i++) at.push_back(o[i] * w.strides[i] + k[i] * w.dilations[i]);
  return at;
}

}  // namespace mcc::ops
