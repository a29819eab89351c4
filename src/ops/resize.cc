// Resize (one input; attributes sizes = the whole output shape, scales = one for each axis, mode nearest | linear |
// cubic, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, exclude_outside, extrapolation_value, roi,
// antialias).
//
// In every coordinate mode the input position is an affine function of the output position, and float scales are
// rational numbers, so a position is (a * v + b) / d in exact integers: no rounding can choose the wrong neighbour, and
// index expressions divide by constants only (nearest upsampling by two reads v floordiv 2). Each axis that changes
// contributes taps - input positions with weights - and an output element is the nested weighted sum over the taps of
// all those axes. Outside the input, the edge repeats.
#include "ops/resize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mcc::ops {

namespace {

using namespace loop;

// p/q == scale exactly, or out/in where that is what the scale stands for.
struct Ratio {
  i64 p, q;
};

Ratio ratio_of(double scale, i64 in, i64 out) {
  if (!(scale > 0) || !std::isfinite(scale)) fail("scale {} is not positive", scale);
  double exact = static_cast<double>(out), got = scale * static_cast<double>(in);
  double p = exact;
  i64 q = in;
  if (std::abs(got - exact) > 1e-6 * exact) {
    p = scale;
    q = 1;
    while (q < (i64{1} << 24) && p != std::floor(p)) {
      p *= 2;
      q *= 2;
    }
    p = std::max(1.0, std::round(p));
  }
  constexpr double kMost = 1e17;  // positions are sums of a few such numbers
  if (p * static_cast<double>(in) > kMost || static_cast<double>(q) * static_cast<double>(out) > kMost)
    fail("scale {} does not fit an axis of {} that becomes one of {}", scale, in, out);
  i64 common = std::gcd(static_cast<i64>(p), q);
  return {static_cast<i64>(p) / common, q / common};
}

Position reduced(i64 a, i64 b, i64 d) {
  i64 common = std::gcd(std::gcd(a, b), d);
  return {a / common, b / common, d / common};
}

// A roi is real numbers; 2^-30 is fine enough for any position.
Position crop(double start, double end, i64 in, double out) {
  double one = static_cast<double>(i64{1} << 30), last = static_cast<double>(in - 1);
  for (const double edge : {start, end})
    if (!(std::abs(edge) * std::max(1.0, last) < one)) fail("roi has {}, too far from an image of {}", edge, in);
  if (out <= 1) return reduced(0, std::llround(0.5 * (start + end) * last * one), i64{1} << 30);
  return reduced(std::llround((end - start) * last / (out - 1) * one), std::llround(start * last * one), i64{1} << 30);
}

Position position_of(const Node& node, size_t d, size_t rank, i64 in, i64 out, Ratio s) {
  std::string mode = node.attrs.get_string("coordinate_transformation_mode", "half_pixel");
  if (mode == "pytorch_half_pixel" && out == 1) return {0, 0, 1};
  if (mode == "tf_half_pixel_for_nn") return reduced(2 * s.q, s.q, 2 * s.p);
  if (mode == "half_pixel" || mode == "pytorch_half_pixel") return reduced(2 * s.q, s.q - s.p, 2 * s.p);
  if (mode == "half_pixel_symmetric") return reduced(2 * s.q, (in - 1) * s.p + (1 - out) * s.q, 2 * s.p);
  if (mode == "asymmetric") return reduced(s.q, 0, s.p);
  if (mode == "align_corners") return in * s.p <= s.q ? Position{0, 0, 1} : reduced((in - 1) * s.q, 0, in * s.p - s.q);
  if (mode != "tf_crop_and_resize") fail("coordinate_transformation_mode '{}' is unknown", mode);
  std::vector<double> roi = node.attrs.get_floats("roi", {});
  if (roi.size() != 2 * rank) fail("roi has {} numbers for rank {}", roi.size(), rank);
  return crop(roi[d], roi[rank + d], in, static_cast<double>(in) * static_cast<double>(s.p) / static_cast<double>(s.q));
}

}  // namespace

Resize read_resize(const Node& node, const Shape& in, const Shape& out) {
  Resize r;
  std::string mode = node.attrs.get_string("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "cubic") fail("mode '{}' is unknown", mode);
  r.kind = mode == "nearest" ? Resize::nearest : mode == "linear" ? Resize::linear : Resize::cubic;
  r.rounding = node.attrs.get_string("nearest_mode", "round_prefer_floor");
  r.cubic_a = node.attrs.get_float("cubic_coeff_a", -0.75);
  r.exclude_outside = node.attrs.get_int("exclude_outside", 0) != 0;
  r.outside_value = node.attrs.get_float("extrapolation_value", 0);
  r.crops = node.attrs.get_string("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  std::vector<double> scales = node.attrs.get_floats("scales", {});
  if (!scales.empty() && scales.size() != in.size()) fail("{} scales for rank {}", scales.size(), in.size());
  bool antialias = node.attrs.get_int("antialias", 0) != 0 && r.kind != Resize::nearest;
  for (size_t d = 0; d < in.size(); d++) {
    if (out[d] == 0) continue;  // no positions
    double natural = static_cast<double>(out[d]) / static_cast<double>(in[d]),
           scale = scales.empty() ? natural : scales[d];
    if (antialias && scale < 1) fail("antialias of a shrinking axis is not supported");
    if (in[d] == out[d] && scale == 1 && !r.crops) continue;
    Position position = position_of(node, d, in.size(), in[d], out[d], ratio_of(scale, in[d], out[d]));
    if (in[d] != out[d] || position.a != position.d || position.b != 0) r.axes.push_back({d, in[d], position});
  }
  return r;
}

namespace {

Expr f32(double value) { return const_float(value, DType::f32); }

// The nearest input position to p, as floor((a * v + b) / d) of the result.
Position rounding_of(const Position& p, const std::string& mode) {
  if (mode == "floor") return p;
  if (mode == "ceil") return {p.a, p.b + p.d - 1, p.d};
  if (mode == "round_prefer_floor") return {2 * p.a, 2 * p.b + p.d - 1, 2 * p.d};
  if (mode == "round_prefer_ceil") return {2 * p.a, 2 * p.b + p.d, 2 * p.d};
  fail("nearest_mode '{}' is unknown", mode);
}

std::vector<TensorType> infer(const Node& node, Types in) {
  Shape sizes = node.attrs.get_ints("sizes");
  if (sizes.size() != in[0].shape.size()) fail("{} sizes for rank {}", sizes.size(), in[0].shape.size());
  for (size_t d = 0; d < sizes.size(); d++) {
    if (sizes[d] < 0) fail("size {} is negative", sizes[d]);
    if (in[0].shape[d] == 0 && sizes[d] > 0) fail("axis {} is empty", d);
  }
  Resize r = read_resize(node, in[0].shape, sizes);
  if (r.kind != Resize::nearest && in[0].dtype == DType::boolean) fail("bool cannot be interpolated");
  rounding_of({1, 0, 1}, r.rounding);
  return {{in[0].dtype, sizes}};
}

// --- lowering --------------------------------------------------------------------------------------------------------

// floor((a * v + b) / d), in the smallest numbers.
Expr floor_of(const Position& p, const Expr& v) {
  i64 common = std::gcd(p.a, p.d);
  return floordiv(v * (p.a / common) + floor_div(p.b, common), p.d / common);
}

Expr clamped(Expr i, i64 n) { return max(min(std::move(i), const_int(n - 1)), const_int(0)); }

struct Tap {
  Expr index;   // within the input
  Expr weight;  // f32; unused for a single tap
};

Expr cubic_near(const Expr& t, double a) {  // |t| <= 1
  return ((t * f32(a + 2)) - f32(a + 3)) * t * t + f32(1);
}

Expr cubic_far(const Expr& t, double a) {  // 1 < |t| < 2
  return ((t * f32(a) - f32(5 * a)) * t + f32(8 * a)) * t - f32(4 * a);
}

std::vector<Tap> taps_of(const Resize& r, const ResizeAxis& axis, const Expr& v) {
  const Position& p = axis.position;
  if (r.kind == Resize::nearest) {
    Position to = rounding_of(p, r.rounding);
    return {{clamped(floor_of(to, v), axis.in), f32(1)}};
  }
  Expr base = floor_of(p, v), one = f32(1);
  Expr part = loop::cast(DType::f32, floormod(v * p.a + p.b, p.d)) * f32(1 / static_cast<double>(p.d));
  std::vector<Expr> weights{one - part, part};
  i64 first = 0;
  if (r.kind == Resize::cubic) {
    first = -1;
    weights = {cubic_far(part + one, r.cubic_a), cubic_near(part, r.cubic_a), cubic_near(one - part, r.cubic_a),
               cubic_far(f32(2) - part, r.cubic_a)};
  }
  std::vector<Tap> taps;
  Expr total = f32(0);
  for (size_t i = 0; i < weights.size(); i++) {
    Expr at = base + (first + static_cast<i64>(i));
    Expr inside = const_int(-1) < at && at < const_int(axis.in);
    Expr weight = r.exclude_outside ? select(inside, weights[i], f32(0)) : weights[i];
    total = total + weight;
    taps.push_back({clamped(at, axis.in), weight});
  }
  for (Tap& tap : taps)
    if (r.exclude_outside) tap.weight = tap.weight / total;
  return taps;
}

// The weighted sum over the taps of axes[next..], with the earlier axes of `index` already decided.
Expr sample(const FuncBuilder& b, int x, const Resize& r, size_t next, Vars& index, const Vars& v) {
  if (next == r.axes.size()) {
    Expr value = b.load(x, index);
    return r.kind == Resize::nearest ? value : loop::cast(DType::f32, value);
  }
  size_t d = r.axes[next].axis;
  std::vector<Tap> taps = taps_of(r, r.axes[next], v[d]);
  Expr sum;
  for (size_t i = 0; i < taps.size(); i++) {
    index[d] = taps[i].index;
    Expr value = sample(b, x, r, next + 1, index, v);
    if (taps.size() > 1) value = value * taps[i].weight;
    sum = i == 0 ? value : sum + value;
  }
  return sum;
}

// Every position lies within the input.
Expr all_inside(const Resize& r, const Vars& v) {
  Expr inside = const_int(1, DType::boolean);
  for (const ResizeAxis& axis : r.axes) {
    const Position& p = axis.position;
    Expr scaled = v[axis.axis] * p.a + p.b;
    inside = inside && const_int(-1) < scaled && scaled < const_int((axis.in - 1) * p.d + 1);
  }
  return inside;
}

Func lower(const Node& node, Types in, Types out) {
  Resize r = read_resize(node, in[0].shape, out[0].shape);
  DType dtype = out[0].dtype;
  FuncBuilder b("resize");
  int x = b.input("x", dtype, in[0].shape), y = b.output("y", dtype, out[0].shape);
  b.block("resize", out[0].shape, y, [&](const Vars& v) {
    Vars index = v;
    Expr value = loop::cast(dtype, sample(b, x, r, 0, index, v));
    return r.crops ? select(all_inside(r, v), value, constant(dtype, r.outside_value)) : value;
  });
  return b.take();
}

const OpDef kOps[] = {
    {"Resize", FuseKind::movement, 1, 1, infer, lower, resize_reference},
};

}  // namespace

}  // namespace mcc::ops

std::span<const mcc::OpDef> mcc::resize_ops() { return ops::kOps; }
