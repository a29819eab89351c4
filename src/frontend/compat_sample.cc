// Operators that read images at places of their own: GridSample, RoiAlign, MaxRoiPool, MaxUnpool, DeformConv,
// AffineGrid, Col2Im and CenterCropPad. The last three end here: an affine grid is a product with a constant grid,
// columns become an image by a transposed convolution whose weights are ones, and the centre is cut out or padded. A
// deformable convolution samples its columns and multiplies them.
#include <algorithm>
#include <numeric>

#include "frontend/importer.h"
#include "ops/window.h"

namespace mcc::frontend {
namespace {

// Modes have been called linear and cubic since opset 20.
Outputs grid_sample(OnnxCall& call) {
  std::string mode = call.attrs.get_string("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  Attrs attrs = make_attrs({{"mode", mode},
                            {"padding_mode", call.attrs.get_string("padding_mode", "zeros")},
                            {"align_corners", call.attrs.get_int("align_corners", 0)}});
  return call.emit("GridSample", {call.need(0, "X"), call.need(1, "grid")}, std::move(attrs));
}

// Until opset 15 boxes were not shifted by half a pixel.
Outputs roi_align(OnnxCall& call) {
  Attrs attrs = call.attrs;
  const i64 ratio = attrs.get_int("sampling_ratio", 0);
  if (ratio < 0 || ratio > 4096) fail("sampling_ratio is {}", ratio);
  if (call.opset < 16) attrs.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return call.emit("RoiAlign", {call.need(0, "X"), call.need(1, "rois"), call.need(2, "batch_indices")},
                   std::move(attrs));
}

// Indices are those of the pool's own input; a larger output_shape has more room at the ends.
Outputs max_unpool(OnnxCall& call) {
  const Shape& x = call.shape(0);
  if (x.size() < 3) fail("input {} has no spatial dimension", to_string(x));
  const size_t spatial = x.size() - 2;
  const std::vector<i64> kernel = small_ints(call.attrs.get_ints("kernel_shape"), "kernel_shape", 1, spatial);
  const std::vector<i64> strides =
      small_ints(call.attrs.get_ints("strides", std::vector<i64>(spatial, 1)), "strides", 1, spatial);
  const std::vector<i64> pads =
      small_ints(call.attrs.get_ints("pads", std::vector<i64>(2 * spatial, 0)), "pads", 0, 2 * spatial);
  Shape shape(x.begin(), x.begin() + 2);
  for (size_t i = 0; i < spatial; i++)
    shape.push_back(ops::spread(x[i + 2], strides[i]) + kernel[i] - pads[i] - pads[spatial + i]);
  if (std::any_of(shape.begin(), shape.end(), [](i64 extent) { return extent < 0; }))
    fail("the output would be [{}]", fmt::join(shape, ", "));
  const ValueId placed =
      call.emit1("MaxUnpool", {call.need(0, "input"), call.need(1, "I")}, make_attrs({{"shape", shape}}));
  if (!call.has(2)) return {placed};
  const std::vector<i64> wanted = call.known_ints(2, "output_shape");
  if (wanted.size() != shape.size()) fail("output_shape has {} entries", wanted.size());
  std::vector<i64> more(2 * shape.size(), 0);
  for (size_t d = 0; d < shape.size(); d++) {
    if (wanted[d] < shape[d]) fail("output_shape [{}] is smaller than {}", fmt::join(wanted, ", "), to_string(shape));
    more[shape.size() + d] = wanted[d] - shape[d];
  }
  if (wanted == shape) return {placed};
  return call.emit("Pad", {placed}, make_attrs({{"pads", more}, {"mode", std::string("constant")}, {"value", 0.0}}));
}

// The groups of channels are a batch of products: weights [group, m / group, rows] times columns [n, group, rows,
// pixels].
Outputs deform_conv(OnnxCall& call) {
  const ValueId x = call.need(0, "X"), w = call.need(1, "W");
  const Shape in = call.shape(0), weights = call.shape(1);
  const i64 groups = call.attrs.get_int("group", 1);
  if (in.size() != 4 || weights.size() != 4) fail("only two spatial dimensions are supported");
  if (groups < 1 || weights[0] % groups != 0 || in[1] != weights[1] * groups)
    fail("weights {} in {} groups do not fit input {}", to_string(weights), groups, to_string(in));
  Attrs attrs = make_attrs({{"kernel_shape", std::vector<i64>{weights[2], weights[3]}}});
  attrs.set("strides", small_ints(call.attrs.get_ints("strides", {1, 1}), "strides", 1, 2));
  attrs.set("dilations", small_ints(call.attrs.get_ints("dilations", {1, 1}), "dilations", 1, 2));
  attrs.set("pads", small_ints(call.attrs.get_ints("pads", {0, 0, 0, 0}), "pads", 0, 4));
  attrs.set("offset_group", call.attrs.get_int("offset_group", 1));
  const ValueId columns = call.emit1("DeformSample", {x, call.need(2, "offset"), call.input(4)}, std::move(attrs));
  const Shape sampled = call.builder.shape(columns);
  const i64 rows = weights[1] * weights[2] * weights[3], pixels = sampled[3] * sampled[4];
  const ValueId left = call.reshape(w, {groups, weights[0] / groups, rows});
  const ValueId right = call.reshape(columns, {in[0], groups, rows, pixels});
  const ValueId y = call.reshape(call.emit1("MatMul", {left, right}), {in[0], weights[0], sampled[3], sampled[4]});
  return call.has(3) ? call.emit("Add", {y, call.reshape(call.in[3], {weights[0], 1, 1})}) : Outputs{y};
}

// The homogeneous coordinates of all pixels, last axis first, as [pixels, axes + 1].
Tensor base_grid(Builder& builder, const Shape& extents, bool aligned) {
  const i64 pixels = elements(extents), axes = static_cast<i64>(extents.size());
  builder.reserve_constant({DType::f32, {pixels, axes + 1}}, "the grid");
  Tensor grid(TensorType{DType::f32, {pixels, axes + 1}});
  const Shape strides = row_major_strides(extents);
  for (i64 p = 0; p < pixels; p++) {
    for (i64 a = 0; a < axes; a++) {
      const i64 d = axes - 1 - a;
      const double i = static_cast<double>(p / strides[at(d)] % extents[at(d)]),
                   n = static_cast<double>(extents[at(d)]);
      grid.set(p * (axes + 1) + a, aligned ? (n > 1 ? 2 * i / (n - 1) - 1 : 0) : (2 * i + 1) / n - 1);
    }
    grid.set(p * (axes + 1) + axes, 1);
  }
  return grid;
}

Outputs affine_grid(OnnxCall& call) {
  const ValueId theta = call.need(0, "theta");
  const std::vector<i64> size = call.known_ints(1, "size");
  const i64 axes = static_cast<i64>(size.size()) - 2;
  if (axes < 1 || call.shape(0) != Shape{size[0], axes, axes + 1})
    fail("theta {} does not fit size [{}]", to_string(call.shape(0)), fmt::join(size, ", "));
  const Shape extents(size.begin() + 2, size.end());
  if (std::any_of(size.begin(), size.end(), [](i64 n) { return n < 1; })) fail("size is [{}]", fmt::join(size, ", "));
  ValueId grid = call.constant(base_grid(call.builder, extents, call.attrs.get_int("align_corners", 0) != 0));
  if (call.dtype(0) != DType::f32)
    grid = call.emit1("Cast", {grid}, make_attrs({{"to", std::string(name(call.dtype(0)))}}));
  const ValueId product = call.emit1("MatMul", {grid, call.transpose(theta, {0, 2, 1})});
  Shape shape = {size[0]};
  shape.insert(shape.end(), extents.begin(), extents.end());
  shape.push_back(axes);
  return {call.reshape(product, shape)};
}

// Each column is a window of the image, and windows that overlap add up.
Outputs col2im(OnnxCall& call) {
  const size_t spatial = call.known_ints(1, "image_shape").size();
  const auto list = [&](const char* key, i64 otherwise, size_t count) {
    return small_ints(call.attrs.get_ints(key, std::vector<i64>(count, otherwise)), key, otherwise, count);
  };
  const std::vector<i64> image = small_ints(call.known_ints(1, "image_shape"), "image_shape", 1, spatial);
  const std::vector<i64> block = small_ints(call.known_ints(2, "block_shape"), "block_shape", 1, spatial);
  const std::vector<i64> strides = list("strides", 1, spatial), dilations = list("dilations", 1, spatial),
                         pads = list("pads", 0, 2 * spatial);
  if (spatial == 0) fail("the image has no dimension");
  Shape windows;
  std::vector<i64> output_padding;
  for (size_t i = 0; i < spatial; i++) {
    const i64 room = image[i] + pads[i] + pads[i + spatial] - dilations[i] * (block[i] - 1) - 1;
    if (room < 0) fail("a block does not fit axis {} of the image", i);
    windows.push_back(room / strides[i] + 1);
    output_padding.push_back(room % strides[i]);
  }
  const i64 taps = elements(block);
  if (call.rank(0) != 3 || taps == 0 || call.shape(0)[1] % taps != 0 || call.shape(0)[2] != elements(windows))
    fail("input {} does not fit {} windows of {} elements", to_string(call.shape(0)), elements(windows), taps);
  const i64 batch = call.shape(0)[0], rows = call.shape(0)[1], channels = rows / taps;
  Shape weights_shape = {rows, 1}, columns = {batch, rows};
  weights_shape.insert(weights_shape.end(), block.begin(), block.end());
  columns.insert(columns.end(), windows.begin(), windows.end());
  call.builder.reserve_constant({call.dtype(0), weights_shape}, "the weights");
  Tensor weights(TensorType{call.dtype(0), weights_shape});
  for (i64 row = 0; row < rows; row++) weights.set(row * taps + row % taps, 1);
  return call.emit("ConvTranspose", {call.reshape(call.need(0, "input"), columns), call.constant(std::move(weights))},
                   make_attrs({{"kernel_shape", block},
                               {"strides", strides},
                               {"dilations", dilations},
                               {"pads", pads},
                               {"output_padding", output_padding},
                               {"group", channels}}));
}

Outputs center_crop_pad(OnnxCall& call) {
  ValueId x = call.need(0, "input_data");
  const std::vector<i64> wanted = call.known_ints(1, "shape");
  std::vector<i64> axes = call.attrs.get_ints("axes", range(call.rank(0))), pads(at(2 * call.rank(0)), 0);
  if (axes.size() != wanted.size()) fail("{} extents are given for {} axes", wanted.size(), axes.size());
  bool grows = false;
  for (size_t i = 0; i < axes.size(); i++) {
    const i64 axis = normalize_axis(axes[i], call.rank(0)), extent = call.shape(0)[at(axis)];
    if (wanted[i] < 0 || wanted[i] > (i64{1} << 31)) fail("an extent is {}", wanted[i]);
    const i64 first = (extent - wanted[i]) / 2;
    if (wanted[i] < extent) x = slice(call, x, axis, first, first + wanted[i]);
    if (wanted[i] <= extent) continue;
    grows = true;
    pads[at(axis)] = (wanted[i] - extent) / 2;
    pads[at(axis + call.rank(0))] = wanted[i] - extent - pads[at(axis)];
  }
  if (!grows) return {x};
  return call.emit("Pad", {x}, make_attrs({{"pads", pads}, {"mode", std::string("constant")}, {"value", 0.0}}));
}

constexpr OnnxOp kOps[] = {
    {"GridSample", grid_sample, "align_corners mode padding_mode"},
    {"RoiAlign", roi_align,
     "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale"},
    {"MaxRoiPool", import_plain, "pooled_shape spatial_scale"},
    {"MaxUnpool", max_unpool, "kernel_shape pads strides", "output_shape known"},
    {"AffineGrid", affine_grid, "align_corners", "size known"},
    {"Col2Im", col2im, "dilations pads strides", "image_shape, block_shape known"},
    {"CenterCropPad", center_crop_pad, "axes", "shape known"},
    {"DeformConv", deform_conv, "dilations group kernel_shape offset_group pads strides", "two spatial dimensions"},
    {"Det", import_plain, ""},
};

}  // namespace

std::span<const OnnxOp> sample_imports() { return kOps; }

}  // namespace mcc::frontend
