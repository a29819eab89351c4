// Pooling over regions of interest, boxes that are data.
//
//   RoiAlign(x[n, c, h, w], rois[k, 4], batches[k]) with output_height, output_width, sampling_ratio, spatial_scale,
//     coordinate_transformation_mode, mode avg | max: bilinear samples at a lattice of points in each bin
//   MaxRoiPool(x, rois[k, 5]) with pooled_shape, spatial_scale: the largest pixel of each bin
//
// With sampling_ratio 0 the number of points depends on the size of the box. The program loops over as many as a bin of
// the whole image would have; a box larger than the image gets no more than that. MaxRoiPool looks at all pixels of the
// plane and takes those of the bin.
#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/sample.h"

namespace mcc::ops {

namespace {

using namespace loop;

// --- RoiAlign --------------------------------------------------------------------------------------------------------

struct Align {
  i64 extent[2], bins[2], ratio, most[2];  // most: sampling points of a bin along each axis
  double scale, offset;
  bool half_pixel, largest;

  Align(const Node& node, const Shape& x)
      : extent{x[2], x[3]},
        bins{node.attrs.get_int("output_height", 1), node.attrs.get_int("output_width", 1)},
        ratio(node.attrs.get_int("sampling_ratio", 0)),
        most{0, 0},
        scale(node.attrs.get_float("spatial_scale", 1)),
        offset(0),
        half_pixel(node.attrs.get_string("coordinate_transformation_mode", "half_pixel") == "half_pixel"),
        largest(node.attrs.get_string("mode", "avg") == "max") {
    if (half_pixel) offset = 0.5;
    for (int a = 0; a < 2; a++) {
      if (bins[a] < 1 || extent[a] < 1) fail("an extent is {}", std::min(bins[a], extent[a]));
      most[a] = ratio > 0 ? ratio : ceil_div(extent[a], bins[a]);
    }
  }
};

std::vector<TensorType> infer_align(const Node& node, Types in) {
  require_rank(in[0], 4, "the input");
  if (!is_float(in[0].dtype)) fail("takes floating-point numbers, not {}", name(in[0].dtype));
  require_same_dtype(in[0], in[1]);
  if (in[1].shape.size() != 2 || in[1].shape[1] != 4 || in[2].shape != Shape{in[1].shape[0]})
    fail("rois {} and batch indices {} do not fit", to_string(in[1].shape), to_string(in[2].shape));
  const std::string mode = node.attrs.get_string("mode", "avg");
  if (mode != "avg" && mode != "max") fail("mode '{}' is unknown", mode);
  const std::string coordinates = node.attrs.get_string("coordinate_transformation_mode", "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    fail("coordinate_transformation_mode '{}' is unknown", coordinates);
  const Align r(node, in[0].shape);
  return {{in[0].dtype, {in[1].shape[0], in[0].shape[1], r.bins[0], r.bins[1]}}};
}

// Per region and axis (0 is y): start, size of a bin, number of sampling points.
struct AlignLowering {
  FuncBuilder& b;
  const Align& r;
  DType acc;
  i64 batch;
  int x, rois, batches, start = -1, step = -1, count = -1;

  Expr number(double v) const { return constant(acc, v); }
  // An edge of a region, which is given as x1, y1, x2, y2.
  Expr edge(const Expr& roi, const Expr& axis, i64 first) const {
    return loop::cast(acc, b.load(rois, {roi, const_int(first + 1) - axis})) * number(r.scale) - number(r.offset);
  }
  void measure(i64 regions) {
    start = b.temp("start", acc, {regions, 2});
    step = b.temp("step", acc, {regions, 2});
    count = b.temp("count", DType::i64, {regions, 2});
    b.block("start", {regions, 2}, start, [&](const Vars& v) { return edge(v[0], v[1], 0); });
    b.block("step", {regions, 2}, step, [&](const Vars& v) {
      Expr size = edge(v[0], v[1], 2) - edge(v[0], v[1], 0);
      if (!r.half_pixel) size = max(size, number(1));
      return size / select(v[1] < const_int(1), number(static_cast<double>(r.bins[0])),
                           number(static_cast<double>(r.bins[1])));
    });
    b.block("count", {regions, 2}, count, [&](const Vars& v) {
      if (r.ratio > 0) return const_int(r.ratio);
      const Expr most = select(v[1] < const_int(1), const_int(r.most[0]), const_int(r.most[1]));
      return max(min(loop::cast(DType::i64, unary(ExprOp::ceil, b.load(step, v))), most), const_int(0));
    });
  }
  Expr points(const Expr& roi, i64 axis) const { return b.load(count, {roi, const_int(axis)}); }

  // Where sampling point i of a bin lies: between two pixels, `part` of the way.
  struct Place {
    Expr outside, low, high, part;
  };
  Place place(const Expr& roi, i64 axis, const Expr& bin, const Expr& i) const {
    const Expr extent = number(static_cast<double>(r.extent[axis]));
    const Expr within = (loop::cast(acc, i) + number(0.5)) / loop::cast(acc, points(roi, axis));
    const Expr p =
        b.load(start, {roi, const_int(axis)}) + (loop::cast(acc, bin) + within) * b.load(step, {roi, const_int(axis)});
    const Expr kept = max(min(p, extent - number(1)), number(0));
    const Expr low = max(min(loop::cast(DType::i64, kept), const_int(r.extent[axis] - 1)), const_int(0));
    return {p < number(-1) || extent < p, low, min(low + 1, const_int(r.extent[axis] - 1)),
            kept - loop::cast(acc, low)};
  }
  // Sampling point g of bin s = (region, channel, row, column).
  Expr sample(const Vars& s, const Vars& g) const {
    const Place v = place(s[0], 0, s[2], g[0]), h = place(s[0], 1, s[3], g[1]);
    const Expr image = safe_index(b.load(batches, {s[0]}), batch), one = number(1);
    const auto corner = [&](const Expr& row, const Expr& column, const Expr& weight) {
      return loop::cast(acc, b.load(x, {image, s[1], row, column})) * weight;
    };
    const Expr upper_left = corner(v.low, h.low, (one - v.part) * (one - h.part));
    const Expr upper_right = corner(v.low, h.high, (one - v.part) * h.part);
    const Expr lower_left = corner(v.high, h.low, v.part * (one - h.part));
    const Expr lower_right = corner(v.high, h.high, v.part * h.part);
    const Expr value = r.largest ? max(max(upper_left, upper_right), max(lower_left, lower_right))
                                 : upper_left + upper_right + lower_left + lower_right;
    return select(v.outside || h.outside, number(0), value);
  }
};

Func lower_align(const Node& node, Types in, Types out) {
  const Align r(node, in[0].shape);
  FuncBuilder b("roialign");
  const std::vector<int> xs = add_inputs(b, in, {"x", "rois", "batches"});
  const int y = b.output("y", out[0].dtype, out[0].shape);
  AlignLowering low{b, r, compute_type(in[0].dtype), in[0].shape[0], xs[0], xs[1], xs[2]};
  low.measure(in[1].shape[0]);
  const int found = b.temp("found", low.acc, out[0].shape);
  const StoreOp op = r.largest ? StoreOp::max : StoreOp::add;
  const Expr start = identity(op, low.acc);
  b.reduce("sample", out[0].shape, {r.most[0], r.most[1]}, found, op, start, [&](const Vars& s, const Vars& g) {
    return select(g[0] < low.points(s[0], 0) && g[1] < low.points(s[0], 1), low.sample(s, g), start);
  });
  b.block("y", out[0].shape, y, [&](const Vars& v) {
    const Expr points = low.points(v[0], 0) * low.points(v[0], 1), value = b.load(found, v);
    if (!r.largest) return loop::cast(out[0].dtype, value / loop::cast(low.acc, max(points, const_int(1))));
    return loop::cast(out[0].dtype, select(points < const_int(1), low.number(0), value));
  });
  return b.take();
}

struct Corner {
  i64 low, high;
  double part;
};

// No value: the point lies outside.
std::optional<Corner> corner_at(double p, i64 extent) {
  if (p < -1 || p > static_cast<double>(extent)) return std::nullopt;
  p = std::max(p, 0.0);
  const i64 low = static_cast<i64>(p);
  if (low >= extent - 1) return Corner{extent - 1, extent - 1, 0};
  return Corner{low, low + 1, p - static_cast<double>(low)};
}

void align_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor &x = *in[0], &rois = *in[1];
  const Shape& shape = x.type.shape;
  const Align r(node, shape);
  for_each_index(out[0].type.shape, [&](const Index& v, i64 flat) {
    double start[2], step[2];
    i64 count[2];
    for (int a = 0; a < 2; a++) {
      start[a] = rois.get(v[0] * 4 + 1 - a) * r.scale - r.offset;
      double size = rois.get(v[0] * 4 + 3 - a) * r.scale - r.offset - start[a];
      if (!r.half_pixel) size = std::max(size, 1.0);
      step[a] = size / static_cast<double>(r.bins[a]);
      count[a] = r.ratio > 0 ? r.ratio : std::clamp(static_cast<i64>(std::ceil(step[a])), i64{0}, r.most[a]);
    }
    const i64 plane = wrap_index(in[2]->get_int(v[0]), shape[0]) * shape[1] + v[1];
    double sum = 0, largest = -INFINITY;
    for (i64 gy = 0; gy < count[0]; gy++)
      for (i64 gx = 0; gx < count[1]; gx++) {
        const auto at_point = [&](int a, i64 bin, i64 g) {
          const double part = (static_cast<double>(g) + 0.5) / static_cast<double>(count[a]);
          return corner_at(start[a] + (static_cast<double>(bin) + part) * step[a], shape[at(a + 2)]);
        };
        const std::optional<Corner> row = at_point(0, v[2], gy), column = at_point(1, v[3], gx);
        double most = row && column ? -INFINITY : 0;
        for (int i = 0; row && column && i < 4; i++) {
          const i64 pixel = (i < 2 ? row->low : row->high) * shape[3] + (i % 2 == 0 ? column->low : column->high);
          const double weight = (i < 2 ? 1 - row->part : row->part) * (i % 2 == 0 ? 1 - column->part : column->part);
          const double term = weight * x.get(plane * shape[2] * shape[3] + pixel);
          sum += term;
          most = std::max(most, term);
        }
        largest = std::max(largest, most);
      }
    const i64 points = count[0] * count[1];
    if (r.largest)
      out[0].set(flat, points > 0 ? largest : 0);
    else
      out[0].set(flat, sum / static_cast<double>(std::max<i64>(points, 1)));
  });
}

// --- MaxRoiPool ------------------------------------------------------------------------------------------------------

struct RoiPool {
  i64 extent[2], bins[2];
  double scale;

  RoiPool(const Node& node, const Shape& x)
      : extent{x[2], x[3]}, bins{}, scale(node.attrs.get_float("spatial_scale", 1)) {
    const std::vector<i64> shape = node.attrs.get_ints("pooled_shape");
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) fail("pooled_shape is [{}]", fmt::join(shape, ", "));
    bins[0] = shape[0];
    bins[1] = shape[1];
  }
};

std::vector<TensorType> infer_roi_pool(const Node& node, Types in) {
  require_rank(in[0], 4, "the input");
  if (!is_float(in[0].dtype)) fail("takes floating-point numbers, not {}", name(in[0].dtype));
  require_same_dtype(in[0], in[1]);
  if (in[1].shape.size() != 2 || in[1].shape[1] != 5) fail("rois have shape {}, not n x 5", to_string(in[1].shape));
  const RoiPool r(node, in[0].shape);
  return {{in[0].dtype, {in[1].shape[0], in[0].shape[1], r.bins[0], r.bins[1]}}};
}

Func lower_roi_pool(const Node& node, Types in, Types out) {
  const RoiPool r(node, in[0].shape);
  const DType dtype = in[0].dtype, acc = compute_type(dtype);
  FuncBuilder b("roipool");
  const int x = b.input("x", dtype, in[0].shape), rois = b.input("rois", dtype, in[1].shape);
  const int y = b.output("y", dtype, out[0].shape), largest = b.temp("largest", acc, out[0].shape);
  const i64 regions = in[1].shape[0];
  const Shape edges_shape{regions, 2};
  const int first = b.temp("first", acc, edges_shape), size = b.temp("size", acc, edges_shape);
  const auto number = [&](double v) { return constant(acc, v); };
  // Columns of a region: batch, x1, y1, x2, y2; axis 0 is y.
  const auto edge = [&](const Vars& v, i64 column) {
    const Expr value = loop::cast(acc, b.load(rois, {v[0], const_int(column + 1) - v[1]}));
    return unary(ExprOp::floor, value * number(r.scale) + number(0.5));
  };
  b.block("first", edges_shape, first, [&](const Vars& v) { return edge(v, 1); });
  b.block("size", edges_shape, size, [&](const Vars& v) {
    const Expr bins =
        select(v[1] < const_int(1), number(static_cast<double>(r.bins[0])), number(static_cast<double>(r.bins[1])));
    return max(edge(v, 3) - edge(v, 1) + number(1), number(1)) / bins;
  });
  const auto in_bin = [&](const Expr& roi, i64 axis, const Expr& bin, const Expr& pixel) {
    const Expr of_bin = b.load(size, {roi, const_int(axis)}), from = b.load(first, {roi, const_int(axis)});
    const Expr place = loop::cast(acc, pixel), number_of_bin = loop::cast(acc, bin);
    const Expr low = unary(ExprOp::floor, number_of_bin * of_bin) + from;
    const Expr high = unary(ExprOp::ceil, (number_of_bin + number(1)) * of_bin) + from;
    return unary(ExprOp::logical_not, place < low) && place < high;
  };
  const Expr none = identity(StoreOp::max, acc);
  b.reduce("pool", out[0].shape, {r.extent[0], r.extent[1]}, largest, StoreOp::max, none,
           [&](const Vars& s, const Vars& p) {
             const Expr image = safe_index(loop::cast(DType::i64, b.load(rois, {s[0], const_int(0)})), in[0].shape[0]);
             return select(in_bin(s[0], 0, s[2], p[0]) && in_bin(s[0], 1, s[3], p[1]),
                           loop::cast(acc, b.load(x, {image, s[1], p[0], p[1]})), none);
           });
  b.block("y", out[0].shape, y, [&](const Vars& v) {
    const Expr value = b.load(largest, v);
    return loop::cast(dtype, select(binary(ExprOp::eq, value, none), number(0), value));
  });
  return b.take();
}

void roi_pool_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor &x = *in[0], &rois = *in[1];
  const Shape& shape = x.type.shape;
  const RoiPool r(node, shape);
  for_each_index(out[0].type.shape, [&](const Index& v, i64 flat) {
    i64 low[2], high[2];
    for (int a = 0; a < 2; a++) {
      const double first = std::floor(rois.get(v[0] * 5 + 2 - a) * r.scale + 0.5);
      const double last = std::floor(rois.get(v[0] * 5 + 4 - a) * r.scale + 0.5);
      const double size = std::max(last - first + 1, 1.0) / static_cast<double>(r.bins[a]);
      const double bin = static_cast<double>(v[at(a + 2)]), extent = static_cast<double>(r.extent[a]);
      low[a] = static_cast<i64>(std::clamp(std::floor(bin * size) + first, 0.0, extent));
      high[a] = static_cast<i64>(std::clamp(std::ceil((bin + 1) * size) + first, 0.0, extent));
    }
    const i64 plane = wrap_index(rois.get_int(v[0] * 5), shape[0]) * shape[1] + v[1];
    double largest = -INFINITY;
    for (i64 row = low[0]; row < high[0]; row++)
      for (i64 column = low[1]; column < high[1]; column++)
        largest = std::max(largest, x.get((plane * shape[2] + row) * shape[3] + column));
    out[0].set(flat, largest == -INFINITY ? 0 : largest);
  });
}

const OpDef kOps[] = {
    {"MaxRoiPool", FuseKind::opaque, 2, 2, infer_roi_pool, lower_roi_pool, roi_pool_reference},
    {"RoiAlign", FuseKind::opaque, 3, 3, infer_align, lower_align, align_reference},
};

}  // namespace

std::span<const OpDef> region_ops() { return kOps; }

}  // namespace mcc::ops
