// Resize as the ONNX document writes it: neighbours and their weights along one axis after the other, in double.
#include <algorithm>
#include <cmath>

#include "ops/resize.h"

namespace mcc::ops {

namespace {

struct Neighbour {
  i64 index;
  double weight;
};

double round_by(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);
}

double cubic_weight(double distance, double a) {
  double t = std::fabs(distance);
  if (t <= 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
  return t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : 0;
}

double position_at(const ResizeAxis& axis, i64 v) {
  return static_cast<double>(axis.position.a * v + axis.position.b) / static_cast<double>(axis.position.d);
}

std::vector<Neighbour> neighbours(const Resize& r, const ResizeAxis& axis, i64 v) {
  double x = position_at(axis, v), total = 0;
  if (r.kind == Resize::nearest)
    return {{std::clamp(static_cast<i64>(round_by(r.rounding, x)), i64{0}, axis.in - 1), 1}};
  i64 reach = r.kind == Resize::linear ? 1 : 2, base = static_cast<i64>(std::floor(x));
  std::vector<Neighbour> found;
  for (i64 i = base + 1 - reach; i <= base + reach; i++) {
    double distance = x - static_cast<double>(i);
    double weight = r.kind == Resize::linear ? 1 - std::fabs(distance) : cubic_weight(distance, r.cubic_a);
    if (r.exclude_outside && (i < 0 || i >= axis.in)) weight = 0;
    total += weight;
    found.push_back({std::clamp(i, i64{0}, axis.in - 1), weight});
  }
  for (Neighbour& n : found) n.weight /= total;
  return found;
}

// One axis of x resized to n positions.
Tensor resize_axis(const Resize& r, const ResizeAxis& axis, const Tensor& x, i64 n) {
  TensorType type = x.type;
  type.shape[axis.axis] = n;
  Tensor y(type);
  std::vector<std::vector<Neighbour>> of;
  for (i64 v = 0; v < n; v++) of.push_back(neighbours(r, axis, v));
  for_each_index(type.shape, [&](Index index, i64 flat) {
    double sum = 0;
    for (const Neighbour& neighbour : of[at(index[axis.axis])]) {
      index[axis.axis] = neighbour.index;
      i64 from = flat_index(x.type.shape, index);
      if (r.kind == Resize::nearest) return copy_element(y, flat, x, from);
      sum += neighbour.weight * x.get(from);
    }
    y.set(flat, sum);
  });
  return y;
}

bool inside(const Resize& r, const Index& index) {
  for (const ResizeAxis& axis : r.axes) {
    double x = position_at(axis, index[axis.axis]);
    if (x < 0 || x > static_cast<double>(axis.in - 1)) return false;
  }
  return true;
}

}  // namespace

void resize_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  Resize r = read_resize(node, in[0]->type.shape, out[0].type.shape);
  Tensor x = *in[0];
  if (r.kind != Resize::nearest) {
    x = Tensor({DType::f64, in[0]->type.shape});
    for (i64 i = 0; i < x.size(); i++) x.set(i, in[0]->get(i));
  }
  for (const ResizeAxis& axis : r.axes) x = resize_axis(r, axis, x, out[0].type.shape[axis.axis]);
  for_each_index(out[0].type.shape, [&](const Index& index, i64 flat) {
    if (r.crops && !inside(r, index))
      set_saturated(out[0], flat, r.outside_value);
    else if (r.kind == Resize::nearest)
      copy_element(out[0], flat, x, flat);
    else
      set_saturated(out[0], flat, x.get(flat));
  });
}

}  // namespace mcc::ops
