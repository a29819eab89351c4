// BatchNormalization (inference: an affine map for each channel), LRN (scaling by the energy of neighbouring channels)
// and LpNormalization (scaling to length one along an axis).
#include <algorithm>
#include <cmath>

#include "ops/normalize.h"

namespace mcc::ops {

using loop::ExprOp;
using loop::StoreOp;

namespace {

constexpr double kEpsilon = 1e-5;

// The constants of an LRN. Channel c sees channels c - before .. c - before + window - 1, of `size` those that there
// may be: a larger size reaches no further.
struct Lrn {
  i64 size, before, window;
  double alpha, beta, bias;

  Lrn(const Node& node, i64 channels)
      : size(node.attrs.get_int("size")),
        before(std::min((size - 1) / 2, channels)),
        window(before + 1 + std::min(size - 1 - (size - 1) / 2, channels)),
        alpha(node.attrs.get_float("alpha", 1e-4)),
        beta(node.attrs.get_float("beta", 0.75)),
        bias(node.attrs.get_float("bias", 1)) {}
  double scale() const { return alpha / static_cast<double>(size); }
};

// x^2 with zero channels around, so that the window sums are a perfect nest.
int padded_squares(FuncBuilder& b, const Lrn& lrn, int x, const Shape& shape, DType dtype, size_t axis) {
  DType acc = compute_type(dtype);
  Shape padded = shape;
  padded[axis] += lrn.window - 1;
  int squares = b.temp("p", acc, padded);
  b.block("square", padded, squares, [&](const Vars& v) {
    Vars at_x = v;
    at_x[axis] = v[axis] - lrn.before;
    Expr low = loop::binary(ExprOp::le, loop::const_int(0), at_x[axis]);
    Expr value = loop::cast(acc, b.load(x, at_x));
    return loop::select(low && at_x[axis] < loop::const_int(shape[axis]), value * value, loop::constant(acc, 0));
  });
  return squares;
}

}  // namespace

loop::Func lower_batch_norm(const Node& node, Types in, Types out) {
  DType acc = compute_type(in[0].dtype);
  size_t axis = at(channel_axis(node, rank(in[0])));
  FuncBuilder b(node.op);
  std::vector<int> params = add_inputs(b, in, {"x", "scale", "bias", "mean", "var"});
  int y = b.output("y", out[0].dtype, out[0].shape);
  b.block("batchnorm", out[0].shape, y, [&](const Vars& v) {
    auto parameter = [&](size_t i) { return loop::cast(acc, b.load(params[i], {v[axis]})); };
    Expr deviation =
        loop::unary(ExprOp::sqrt, parameter(4) + loop::constant(acc, node.attrs.get_float("epsilon", kEpsilon)));
    Expr centered = loop::cast(acc, b.load(params[0], v)) - parameter(3);
    return loop::cast(out[0].dtype, centered * (parameter(1) / deviation) + parameter(2));
  });
  return b.take();
}

void batch_norm_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor &x = *in[0], &scale = *in[1], &bias = *in[2], &mean = *in[3], &var = *in[4];
  size_t axis = at(channel_axis(node, rank(x.type)));
  double epsilon = node.attrs.get_float("epsilon", kEpsilon);
  for_each_index(x.type.shape, [&](const Index& index, i64 flat) {
    i64 c = index[axis];
    out[0].set(flat, (x.get(flat) - mean.get(c)) / std::sqrt(var.get(c) + epsilon) * scale.get(c) + bias.get(c));
  });
}

loop::Func lower_lrn(const Node& node, Types in, Types out) {
  DType dtype = in[0].dtype, acc = compute_type(dtype);
  const Shape& shape = in[0].shape;
  size_t axis = at(channel_axis(node, rank(in[0])));
  Lrn lrn(node, shape[axis]);
  FuncBuilder b(node.op);
  int x = b.input("x", dtype, shape), y = b.output("y", dtype, out[0].shape);
  int squares = padded_squares(b, lrn, x, shape, dtype, axis), sums = b.temp("sums", acc, shape);
  b.reduce("sum", shape, {lrn.window}, sums, StoreOp::add, loop::constant(acc, 0), [&](const Vars& s, const Vars& r) {
    Vars at_p = s;
    at_p[axis] = s[axis] + r[0];
    return b.load(squares, at_p);
  });
  b.block("lrn", shape, y, [&](const Vars& v) {
    Expr base = loop::constant(acc, lrn.bias) + b.load(sums, v) * loop::constant(acc, lrn.scale());
    return loop::cast(dtype,
                      loop::cast(acc, b.load(x, v)) * loop::binary(ExprOp::pow, base, loop::constant(acc, -lrn.beta)));
  });
  return b.take();
}

void lrn_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor& x = *in[0];
  const Shape& shape = x.type.shape;
  size_t axis = at(channel_axis(node, rank(x.type)));
  Lrn lrn(node, shape[axis]);
  i64 step = row_major_strides(shape)[axis];
  for_each_index(shape, [&](const Index& index, i64 flat) {
    double sum = 0;
    for (i64 k = 0; k < lrn.window; k++) {
      i64 c = index[axis] - lrn.before + k;
      if (c < 0 || c >= shape[axis]) continue;
      double value = x.get(flat + (c - index[axis]) * step);
      sum += value * value;
    }
    out[0].set(flat, x.get(flat) / std::pow(lrn.bias + lrn.scale() * sum, lrn.beta));
  });
}

loop::Func lower_lp_norm(const Node& node, Types in, Types out) {
  DType dtype = in[0].dtype, acc = compute_type(dtype);
  i64 axis = axis_of(node, rank(in[0]), -1), p = node.attrs.get_int("p", 2);
  Shape kept = in[0].shape;
  kept[at(axis)] = 1;
  FuncBuilder b(node.op);
  int x = b.input("x", dtype, in[0].shape), y = b.output("y", dtype, out[0].shape), norm = b.temp("norm", acc, kept);
  b.reduce("norm", kept, {in[0].shape[at(axis)]}, norm, StoreOp::add, loop::constant(acc, 0),
           [&](const Vars& s, const Vars& r) {
             Vars v = s;
             v[at(axis)] = r[0];
             Expr value = loop::cast(acc, b.load(x, v));
             return p == 1 ? loop::unary(ExprOp::abs, value) : value * value;
           });
  b.block("normalize", out[0].shape, y, [&](const Vars& v) {
    Expr length = b.load(norm, broadcast_index(kept, v));
    if (p == 2) length = loop::unary(ExprOp::sqrt, length);
    Expr is_zero = loop::binary(ExprOp::eq, length, loop::constant(acc, 0));
    return loop::cast(dtype, loop::cast(acc, b.load(x, v)) / loop::select(is_zero, loop::constant(acc, 1), length));
  });
  return b.take();
}

void lp_norm_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor& x = *in[0];
  i64 axis = axis_of(node, rank(x.type), -1), p = node.attrs.get_int("p", 2);
  Shape kept = x.type.shape;
  kept[at(axis)] = 1;
  std::vector<double> sums(at(elements(kept)));
  for_each_index(x.type.shape, [&](const Index& index, i64 flat) {
    sums[at(flat_broadcast(kept, index))] += std::pow(std::abs(x.get(flat)), static_cast<double>(p));
  });
  for_each_index(x.type.shape, [&](const Index& index, i64 flat) {
    double length = std::pow(sums[at(flat_broadcast(kept, index))], 1.0 / static_cast<double>(p));
    out[0].set(flat, length == 0 ? 0 : x.get(flat) / length);
  });
}

}  // namespace mcc::ops
