// Resize with antialias: along an axis that shrinks, the filter is as much wider as the axis gets shorter, so an output
// element is the weighted sum of many input elements. All of it is static: a product with a constant matrix
// [out, in], one axis after the other. Axes that grow are resized as usual.
#include "frontend/compat_antialias.h"

#include <algorithm>
#include <cmath>

namespace mcc::frontend {
namespace {

struct Axis {
  i64 in = 0, out = 0;
  double scale = 1;
};

// Where output position v falls in the input.
double position(const Axis& axis, const std::string& mode, i64 v) {
  const double x = static_cast<double>(v), in = static_cast<double>(axis.in), out = in * axis.scale;
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "align_corners") return out <= 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode == "pytorch_half_pixel" && axis.out == 1) return 0;
  if (mode == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(axis.out) / out, center = in / 2;
    return center * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (mode != "half_pixel" && mode != "pytorch_half_pixel")
    fail("coordinate_transformation_mode '{}' is unknown", mode);
  return (x + 0.5) / axis.scale - 0.5;
}

double filter(double distance, bool cubic, double a) {
  const double t = std::fabs(distance);
  if (!cubic) return std::max(0.0, 1 - t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

Tensor filter_matrix(Builder& builder, const Axis& axis, const Attrs& attrs) {
  const TensorType type{DType::f32, {axis.out, axis.in}};
  builder.reserve_constant(type, "the matrix of the filter");
  Tensor matrix(type);
  const bool cubic = attrs.get_string("mode", "") == "cubic", excludes = attrs.get_int("exclude_outside", 0) != 0;
  const std::string mode = attrs.get_string("coordinate_transformation_mode", "half_pixel");
  const double a = attrs.get_float("cubic_coeff_a", -0.75), reach = (cubic ? 2 : 1) / axis.scale;
  for (i64 v = 0; v < axis.out; v++) {
    const double x = position(axis, mode, v);
    const i64 first = static_cast<i64>(std::floor(x - reach)), last = static_cast<i64>(std::ceil(x + reach));
    std::vector<double> weights(at(axis.in), 0);
    double total = 0;
    for (i64 i = first; i <= last; i++) {
      if (excludes && (i < 0 || i >= axis.in)) continue;
      const double weight = filter((static_cast<double>(i) - x) * axis.scale, cubic, a);
      weights[at(std::clamp(i, i64{0}, axis.in - 1))] += weight;
      total += weight;
    }
    for (i64 i = 0; i < axis.in && total != 0; i++) matrix.set(v * axis.in + i, weights[at(i)] / total);
  }
  return matrix;
}

i64 product(const Shape& shape, size_t first, size_t end) {
  i64 result = 1;
  for (size_t d = first; d < end; d++) result *= shape[d];
  return result;
}

}  // namespace

ValueId resize_antialiased(const OnnxCall& call, const Attrs& attrs) {
  ValueId x = call.need(0, "input");
  const DType dtype = call.dtype(0);
  const Shape in = call.shape(0), sizes = attrs.get_ints("sizes");
  std::vector<double> scales = attrs.get_floats("scales", {});
  if (attrs.get_string("coordinate_transformation_mode", "") == "tf_crop_and_resize")
    fail("antialias does not go together with tf_crop_and_resize");
  if (!is_float(dtype)) x = call.emit1("Cast", {x}, make_attrs({{"to", std::string("f32")}}));
  for (size_t d = 0; d < in.size(); d++) {
    if (scales[d] >= 1) continue;
    if (in[d] == 0) fail("axis {} is empty", d);
    Tensor matrix = filter_matrix(call.builder, {in[d], sizes[d], scales[d]}, attrs);
    ValueId weights = call.constant(std::move(matrix));
    const DType now = call.builder.type(x).dtype;
    if (now != DType::f32) weights = call.emit1("Cast", {weights}, make_attrs({{"to", std::string(name(now))}}));
    Shape shape = call.builder.shape(x);
    const ValueId planes = call.reshape(x, {product(shape, 0, d), shape[d], product(shape, d + 1, shape.size())});
    shape[d] = sizes[d];
    scales[d] = 1;
    x = call.reshape(call.emit1("MatMul", {weights, planes}), shape);
  }
  if (call.builder.shape(x) != sizes) {
    Attrs rest = attrs;
    rest.set("scales", scales);
    x = call.emit1("Resize", {x}, std::move(rest));
  }
  if (is_float(dtype)) return x;
  return call.emit1("Cast", {x}, make_attrs({{"to", std::string(name(dtype))}}));
}

}  // namespace mcc::frontend
