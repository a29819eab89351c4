// Sliding windows: the geometry that convolutions and pools share, in any number of spatial axes and in both layouts.
//
// Spatial axis i of an output pixel o meets input pixel o * strides[i] - begin[i] + k * dilations[i] for k in 0 ..
// kernel[i]-1. Input pixels outside the image count as padding. A transposed window (ConvTranspose) is the same
// relation read backwards: the output pixel is i * strides - begin + k * dilations for input pixel i.
//
// Layouts: channels first is N C spatial..., channels last is N spatial... C. arrange() and split() convert between a
// list in layout order and its parts, so that no other code depends on the layout.
#pragma once
#include <string>
#include <vector>

#include "ops/lib.h"

namespace mcc::ops {

struct Window {
  bool channels_last = false;
  Shape in, out, kernel, strides, dilations, begin, end;  // one entry for each spatial axis

  size_t rank() const { return kernel.size(); }
};

template <typename T>
struct Parts {
  T batch, channel;
  std::vector<T> at;  // spatial
};

template <typename T>
std::vector<T> arrange(bool channels_last, const Parts<T>& parts) {
  std::vector<T> list{parts.batch};
  if (!channels_last) list.push_back(parts.channel);
  list.insert(list.end(), parts.at.begin(), parts.at.end());
  if (channels_last) list.push_back(parts.channel);
  return list;
}

template <typename T>
Parts<T> split(bool channels_last, const std::vector<T>& list) {
  if (channels_last) return {list.front(), list.back(), {list.begin() + 1, list.end() - 1}};
  return {list[0], list[1], {list.begin() + 2, list.end()}};
}

// Names for `rank` spatial loops: {"oy", "ox"} for prefix "o".
std::vector<std::string> axis_names(const std::string& prefix, size_t rank);

// Throws Error for a layout that is neither NCHW nor NHWC.
bool is_channels_last(const Node& node, const char* attribute = "layout", const std::string& otherwise = "NCHW");

// The window a node's attributes describe over an input of shape x; `out` is left empty. Throws Error when they do not
// fit.
Window read_window(const Node& node, const Shape& x, const Shape& kernel);
constexpr i64 kMostPixels = i64{1} << 46;  // along an axis; no machine has more
// From the first to the last of `pixels` that lie `stride` apart; Error beyond kMostPixels.
i64 spread(i64 pixels, i64 stride);
Shape conv_extents(const Window& window);  // output extents, rounding down
// A ceil_mode window may overhang, but never starts in the end padding.
Shape pool_extents(const Window& window, bool ceil_mode);
// Throws Error when some window would meet nothing but padding: a pool has no value to give there. `out` is filled.
void require_pixels_in_windows(const Window& window);

// For references, which go through the output pixels in bands. Entry i * taps + k is the flat input pixel that output
// pixel first + i meets with kernel element k, or -1 in the padding; for `count` output pixels.
std::vector<i64> tap_table(const Window& window, bool transposed, i64 first, i64 count);
i64 band_size(i64 gathered);  // how many pixels to take at a time, so that what is gathered for each stays in bounds

// For lowerings. Input extents that the windows touch, padding included.
Shape touched_extents(const Window& window);
// A copy of x with other spatial extents, made by a block: where source(at) holds, the element of x at `at`, which it
// turns from a spatial index of the copy into one of x; elsewhere `fill`.
struct SpatialCopy {
  std::string buffer, block;
  Shape extents;
  Expr fill;
  std::function<Expr(std::vector<Expr>& at)> source;
};
int copy_input(FuncBuilder& b, int x, const TensorType& type, bool channels_last, const SpatialCopy& copy);
// The buffer to read through the windows at o * strides + k * dilations: x itself when nothing is padded, else a copy
// of exactly the touched extents made by a block "pad" that puts `fill` outside the image.
int pad_input(FuncBuilder& b, int x, const TensorType& type, const Window& window, const Expr& fill);
// o * strides + k * dilations for every axis.
Vars window_index(const Window& window, const Vars& o, const Vars& k);
// The condition that 0 <= e < extent, given that e lies in min .. max; a constant true when it always holds.
Expr within(const Expr& e, i64 extent, i64 min, i64 max);

}  // namespace mcc::ops
