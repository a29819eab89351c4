// The reference of pools: for every output element, its taps inside the image one by one.
#include <cmath>

#include "ops/pool.h"

namespace mcc::ops {
namespace {

// The divisor of AveragePool at each output pixel.
std::vector<double> divisors(const PoolShape& pool) {
  const Window& w = pool.window;
  std::vector<double> counts;
  for_each_index(w.out, [&](const Index& o, i64) {
    double count = 1;
    for (size_t i = 0; i < w.rank(); i++) {
      Counted range = counted(pool, i);
      i64 taps = 0;
      for (i64 k = 0; k < w.kernel[i]; k++) {
        i64 at = o[i] * w.strides[i] - w.begin[i] + k * w.dilations[i];
        taps += at >= range.low && at < range.high;
      }
      count *= static_cast<double>(taps);
    }
    counts.push_back(count);
  });
  return counts;
}

// The flat number of a pixel as MaxPool reports it.
i64 reported_pixel(const PoolShape& pool, i64 pixel) {
  if (!pool.column_major) return pixel;
  const Shape& in = pool.window.in;
  i64 flat = 0, stride = elements(in);
  for (size_t i = in.size(); i-- > 0; pixel /= in[i]) {
    stride /= in[i];
    flat += pixel % in[i] * stride;
  }
  return flat;
}

struct Plane {
  const Tensor& x;
  i64 first, step;  // element of pixel 0, distance between pixels
  double get(i64 pixel) const { return x.get(first + pixel * step); }
};

// The pixel of the largest of the taps, of which one at least is no padding; the first of equals; NaN wins.
i64 largest(const Plane& plane, std::span<const i64> taps) {
  i64 best = -1;
  double value = 0;
  for (i64 pixel : taps) {
    if (pixel < 0) continue;
    double candidate = plane.get(pixel);
    if (best >= 0 && !(candidate > value) && !std::isnan(candidate)) continue;
    best = pixel;
    value = candidate;
    if (std::isnan(value)) break;
  }
  return best;
}

double sum_of_powers(const Plane& plane, std::span<const i64> taps, i64 p) {
  double sum = 0;
  for (i64 pixel : taps)
    if (pixel >= 0) sum += std::pow(std::abs(plane.get(pixel)), static_cast<double>(p));
  return sum;
}

double sum_of(const Plane& plane, std::span<const i64> taps) {
  double sum = 0;
  for (i64 pixel : taps)
    if (pixel >= 0) sum += plane.get(pixel);
  return sum;
}

// Output element `to` of one plane, whose first pixel is number `plane_start` of the input in N C order.
void pool_max(const PoolShape& pool, const Plane& plane, std::span<const i64> taps, i64 plane_start, i64 to,
              std::span<Tensor> out) {
  i64 best = largest(plane, taps);
  copy_element(out[0], to, plane.x, plane.first + best * plane.step);
  if (out.size() > 1) out[1].set_int(to, plane_start + reported_pixel(pool, best));
}

// Output pixels first .. first+count-1 of every plane.
void pool_band(const PoolShape& pool, std::span<const i64> table, std::span<const double> divisor, i64 first, i64 count,
               const Tensor& x, std::span<Tensor> out) {
  const i64 pixels = elements(pool.window.in), outs = elements(pool.window.out), taps = elements(pool.window.kernel);
  const bool last = pool.window.channels_last;
  for (i64 n = 0; n < pool.batch; n++)
    for (i64 c = 0; c < pool.channels; c++) {
      i64 plane_start = (n * pool.channels + c) * pixels;
      Plane plane{x, last ? n * pixels * pool.channels + c : plane_start, last ? pool.channels : 1};
      for (i64 o = first; o < first + count; o++) {
        std::span<const i64> under = table.subspan(at((o - first) * taps), at(taps));
        i64 to = last ? (n * outs + o) * pool.channels + c : (n * pool.channels + c) * outs + o;
        switch (pool.kind) {
          case PoolKind::max: pool_max(pool, plane, under, plane_start, to, out); break;
          case PoolKind::average: out[0].set(to, sum_of(plane, under) / divisor[at(o)]); break;
          case PoolKind::lp:
            out[0].set(to, std::pow(sum_of_powers(plane, under, pool.p), 1.0 / static_cast<double>(pool.p)));
        }
      }
    }
}

}  // namespace

void pool_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  PoolShape pool = pool_shape(node, {&in[0]->type, 1});
  const i64 outs = elements(pool.window.out), band = band_size(elements(pool.window.kernel));
  const std::vector<double> divisor = divisors(pool);
  for (i64 first = 0; first < outs; first += band) {
    const i64 count = std::min(band, outs - first);
    pool_band(pool, tap_table(pool.window, false, first, count), divisor, first, count, *in[0], out);
  }
}

}  // namespace mcc::ops
