// GridSample as the ONNX document's example implementation writes it: one output element after the other, in double.
#include <algorithm>
#include <cmath>

#include "ops/sample.h"

namespace mcc::ops {

namespace {

double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range == 0) return low;
  if (x >= low && x <= high) return x;
  const double outside = x < low ? low - x : x - high;
  const double turns = std::floor(outside / range), rest = outside - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

struct Axis {
  i64 extent;
  double low, high;
};

Axis axis_of_grid(const GridSample& g, size_t d) {
  const double extent = static_cast<double>(g.in[d]);
  return {g.in[d], g.aligned ? 0 : -0.5, g.aligned ? extent - 1 : extent - 0.5};
}

double position(const GridSample& g, const Axis& axis, double from_grid) {
  const double extent = static_cast<double>(axis.extent);
  double x = g.aligned ? (from_grid + 1) / 2 * (extent - 1) : ((from_grid + 1) * extent - 1) / 2;
  if (g.kind == GridSample::nearest) x = std::nearbyint(x);
  if (!g.moves() || (x >= axis.low && x <= axis.high)) return x;
  if (g.outside == GridSample::border) return std::clamp(x, 0.0, extent - 1);
  return g.outside == GridSample::reflection ? reflect(x, axis.low, axis.high) : x;
}

double weight(const GridSample& g, double distance) {
  const double t = std::fabs(distance), a = -0.75;
  if (g.kind == GridSample::nearest) return 1;
  if (g.kind == GridSample::linear) return std::max(0.0, 1 - t);
  if (t <= 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
  return t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : 0;
}

struct Neighbour {
  i64 index;  // -1: a zero outside
  double weight;
};

std::vector<Neighbour> neighbours(const GridSample& g, size_t d, double from_grid) {
  const Axis axis = axis_of_grid(g, d);
  const double x = position(g, axis, from_grid), base = std::floor(x);
  const int reach = g.kind == GridSample::nearest ? 0 : g.kind == GridSample::linear ? 1 : 2;
  std::vector<Neighbour> found;
  for (int i = std::min(0, 1 - reach); i <= reach; i++) {
    const double tap = reach == 0 ? x : base + i;
    double pixel = tap;
    if (g.outside == GridSample::border) pixel = std::clamp(tap, 0.0, static_cast<double>(axis.extent - 1));
    if (g.outside == GridSample::reflection) pixel = std::trunc(reflect(tap, axis.low, axis.high));
    const bool inside = pixel >= 0 && pixel <= static_cast<double>(axis.extent - 1);
    found.push_back({inside ? static_cast<i64>(pixel) : -1, weight(g, x - tap)});
  }
  return found;
}

double sum_over(const Tensor& x, const std::vector<std::vector<Neighbour>>& axes, Index& index) {
  const size_t d = index.size() - 2;
  if (d == axes.size()) return x.get(flat_index(x.type.shape, index));
  double sum = 0;
  for (const Neighbour& n : axes[d]) {
    if (n.index < 0) continue;
    index.push_back(n.index);
    sum += n.weight * sum_over(x, axes, index);
    index.pop_back();
  }
  return sum;
}

}  // namespace

void grid_sample_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const GridSample g = read_grid_sample(node, in[0]->type.shape);
  const size_t rank = g.in.size();
  for_each_index(out[0].type.shape, [&](const Index& v, i64 flat) {
    Index point{v[0]}, index{v[0], v[1]};
    point.insert(point.end(), v.begin() + 2, v.end());
    point.push_back(0);
    const i64 first = flat_index(in[1]->type.shape, point);
    std::vector<std::vector<Neighbour>> axes;
    for (size_t d = 0; d < rank; d++)
      axes.push_back(neighbours(g, d, in[1]->get(first + static_cast<i64>(rank - 1 - d))));
    out[0].set(flat, sum_over(*in[0], axes, index));
  });
}

}  // namespace mcc::ops
