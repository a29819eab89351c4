// DeformSample(x[n, c, h, w], offsets[n, g * k * 2, oh, ow], mask[n, g * k, oh, ow]?) with kernel_shape, strides, pads,
// dilations, offset_group = g: the columns [n, c, k, oh, ow] that a deformable convolution multiplies with its weights,
// k being the elements of the kernel. Each is a bilinear sample of x, zero outside, at the place where a convolution
// would read, moved by the offsets (row, then column) of its kernel element and its group of channels.
#include <algorithm>
#include <cmath>

#include "ops/sample.h"

namespace mcc::ops {

namespace {

using namespace loop;

struct Deform {
  i64 extent[2], kernel[2], stride[2], begin[2], end[2], dilation[2], out[2];
  i64 channels, groups, taps;

  Deform(const Node& node, const Shape& x) : channels(x[1]), groups(node.attrs.get_int("offset_group", 1)) {
    const std::vector<i64> shape = node.attrs.get_ints("kernel_shape"),
                           pads = node.attrs.get_ints("pads", {0, 0, 0, 0});
    const std::vector<i64> strides = node.attrs.get_ints("strides", {1, 1}),
                           dilations = node.attrs.get_ints("dilations", {1, 1});
    if (shape.size() != 2 || pads.size() != 4 || strides.size() != 2 || dilations.size() != 2)
      fail("only windows of two dimensions are supported");
    if (groups < 1 || channels % groups != 0) fail("offset_group {} does not fit {} channels", groups, channels);
    for (size_t a = 0; a < 2; a++) {
      extent[a] = x[a + 2];
      kernel[a] = shape[a];
      stride[a] = strides[a];
      dilation[a] = dilations[a];
      begin[a] = pads[a];
      end[a] = pads[a + 2];
      const i64 room = extent[a] + begin[a] + end[a] - dilation[a] * (kernel[a] - 1) - 1;
      if (kernel[a] < 1 || stride[a] < 1 || dilation[a] < 1 || room < 0 || extent[a] < 1)
        fail("the window does not fit axis {}", a + 2);
      out[a] = room / stride[a] + 1;
    }
    taps = kernel[0] * kernel[1];
  }
};

std::vector<TensorType> infer(const Node& node, Types in) {
  require_rank(in[0], 4, "the input");
  if (!is_float(in[0].dtype)) fail("takes floating-point numbers, not {}", name(in[0].dtype));
  require_same_dtype(in[0], in[1]);
  const Deform d(node, in[0].shape);
  const i64 batch = in[0].shape[0], per_tap = d.groups * d.taps;
  if (in[1].shape != Shape{batch, per_tap * 2, d.out[0], d.out[1]})
    fail("offsets {} do not fit {} windows of {} elements in {} groups", to_string(in[1].shape), d.out[0] * d.out[1],
         d.taps, d.groups);
  if (present(in, 2) && in[2].shape != Shape{batch, per_tap, d.out[0], d.out[1]})
    fail("the mask {} does not fit the offsets {}", to_string(in[2].shape), to_string(in[1].shape));
  return {{in[0].dtype, {batch, d.channels, d.taps, d.out[0], d.out[1]}}};
}

Func lower(const Node& node, Types in, Types out) {
  const Deform d(node, in[0].shape);
  const DType acc = compute_type(in[0].dtype);
  FuncBuilder b("deformsample");
  const std::vector<int> xs = add_inputs(b, in, {"x", "offsets", "mask"});
  const int y = b.output("y", out[0].dtype, out[0].shape);
  const Shape places{in[0].shape[0], d.groups * d.taps, d.out[0], d.out[1]};  // batch, group and tap, output pixel
  const int at_row = b.temp("row", acc, places), at_column = b.temp("column", acc, places);
  const auto number = [&](double v) { return constant(acc, v); };
  const auto place = [&](const Vars& v, size_t a) {
    const Expr tap = floormod(v[1], d.taps), k = a == 0 ? floordiv(tap, d.kernel[1]) : floormod(tap, d.kernel[1]);
    const Expr fixed = v[a + 2] * d.stride[a] - d.begin[a] + k * d.dilation[a];
    const Expr offset = b.load(xs[1], {v[0], v[1] * 2 + static_cast<i64>(a), v[2], v[3]});
    return loop::cast(acc, fixed) + loop::cast(acc, offset);
  };
  b.block("row", places, at_row, [&](const Vars& v) { return place(v, 0); });
  b.block("column", places, at_column, [&](const Vars& v) { return place(v, 1); });
  b.block("sample", out[0].shape, y, [&](const Vars& v) {
    const Expr group = floordiv(v[1], d.channels / d.groups);
    const Vars from{v[0], group * d.taps + v[2], v[3], v[4]};
    const auto pixel = [&](const Expr& row, const Expr& column, const Expr& weight) {
      const Expr inside = number(-1) < row && row < number(static_cast<double>(d.extent[0])) && number(-1) < column &&
                          column < number(static_cast<double>(d.extent[1]));
      const auto index = [&](const Expr& f, i64 extent) {
        return max(min(loop::cast(DType::i64, f), const_int(extent - 1)), const_int(0));
      };
      const Expr value = b.load(xs[0], {v[0], v[1], index(row, d.extent[0]), index(column, d.extent[1])});
      return select(inside, loop::cast(acc, value) * weight, number(0));
    };
    const Expr row = b.load(at_row, from), column = b.load(at_column, from), one = number(1);
    const Expr up = unary(ExprOp::floor, row), left = unary(ExprOp::floor, column);
    const Expr down_part = row - up, right_part = column - left;
    Expr sum = pixel(up, left, (one - down_part) * (one - right_part)) +
               pixel(up, left + one, (one - down_part) * right_part) +
               pixel(up + one, left, down_part * (one - right_part)) +
               pixel(up + one, left + one, down_part * right_part);
    if (present(in, 2)) sum = sum * loop::cast(acc, b.load(xs[2], from));
    return loop::cast(out[0].dtype, sum);
  });
  return b.take();
}

double bilinear(const Tensor& x, i64 plane, const Deform& d, double row, double column) {
  double sum = 0;
  for (i64 i = 0; i < 4; i++) {
    const i64 below = i / 2, right = i % 2;
    const double r = std::floor(row) + static_cast<double>(below), c = std::floor(column) + static_cast<double>(right);
    if (!(r >= 0 && r < static_cast<double>(d.extent[0]) && c >= 0 && c < static_cast<double>(d.extent[1]))) continue;
    const double weight = (1 - std::fabs(row - r)) * (1 - std::fabs(column - c));
    sum += weight * x.get((plane * d.extent[0] + static_cast<i64>(r)) * d.extent[1] + static_cast<i64>(c));
  }
  return sum;
}

void reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Deform d(node, in[0]->type.shape);
  for_each_index(out[0].type.shape, [&](const Index& v, i64 flat) {
    const i64 group = v[1] / (d.channels / d.groups), tap = group * d.taps + v[2];
    double place[2];
    for (i64 a = 0; a < 2; a++) {
      const i64 k = a == 0 ? v[2] / d.kernel[1] : v[2] % d.kernel[1];
      const i64 at_offset = flat_index(in[1]->type.shape, {v[0], 2 * tap + a, v[3], v[4]});
      place[a] =
          static_cast<double>(v[at(a + 3)] * d.stride[a] - d.begin[a] + k * d.dilation[a]) + in[1]->get(at_offset);
    }
    double value = bilinear(*in[0], v[0] * d.channels + v[1], d, place[0], place[1]);
    if (present(in, 2)) value *= in[2]->get(flat_index(in[2]->type.shape, {v[0], tap, v[3], v[4]}));
    out[0].set(flat, value);
  });
}

}  // namespace

OpDef deform_sample_op() { return {"DeformSample", FuseKind::opaque, 2, 3, infer, lower, reference}; }

}  // namespace mcc::ops
