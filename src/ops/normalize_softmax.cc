// Softmax, LogSoftmax and Hardmax along one axis.
//
// Lowered to "max" over the axis, then "exp" of the distance to it, "sum" of those, and an elementwise last block.
// Subtracting the maximum first keeps exp from overflowing. Hardmax finds the first index that holds the maximum.
#include <cmath>

#include "ops/normalize.h"

namespace mcc::ops {

using loop::ExprOp;
using loop::StoreOp;

namespace {

// Elements along one axis: lines() of them, element i of line l is first(l) + i * step.
struct Lines {
  i64 outer = 1, length = 1, step = 1;

  Lines(const Shape& shape, i64 axis) : length(shape[at(axis)]) {
    for (i64 d = 0; d < static_cast<i64>(shape.size()); d++)
      if (d != axis) (d < axis ? outer : step) *= shape[at(d)];
  }
  i64 count() const { return outer * step; }
  i64 first(i64 line) const { return line / step * length * step + line % step; }
};

std::vector<double> line_of(const Tensor& x, const Lines& lines, i64 line) {
  std::vector<double> values;
  for (i64 i = 0; i < lines.length; i++) values.push_back(x.get(lines.first(line) + i * lines.step));
  return values;
}

void normalize_line(std::string_view op, std::vector<double>& values) {
  auto top = std::max_element(values.begin(), values.end());
  if (op == "Hardmax") {
    auto first = top - values.begin();
    std::fill(values.begin(), values.end(), 0);
    values[at(first)] = 1;
    return;
  }
  double max = *top, sum = 0;
  for (double& v : values) sum += std::exp(v -= max);
  for (double& v : values) v = op == "Softmax" ? std::exp(v) / sum : v - std::log(sum);
}

// The axis of a softmax as loops: positions without the axis, and both put together.
struct AxisNest {
  size_t axis;
  Shape kept;
  i64 length;

  AxisNest(const Shape& shape, i64 a) : axis(at(a)), kept(shape), length(shape[at(a)]) { kept.erase(kept.begin() + a); }
  Vars with(Vars kept_at, const Expr& i) const {
    kept_at.insert(kept_at.begin() + static_cast<i64>(axis), i);
    return kept_at;
  }
  Vars without(Vars v) const {
    v.erase(v.begin() + static_cast<i64>(axis));
    return v;
  }
};

void finish_hardmax(FuncBuilder& b, const AxisNest& nest, const TensorType& type, int x, int max, int y) {
  int first = b.temp("first", DType::i64, nest.kept);
  b.reduce("first", nest.kept, {nest.length}, first, StoreOp::min, loop::const_int(nest.length),
           [&](const Vars& s, const Vars& r) {
             Expr value = loop::cast(compute_type(type.dtype), b.load(x, nest.with(s, r[0])));
             return loop::select(loop::binary(ExprOp::eq, value, b.load(max, s)), r[0], loop::const_int(nest.length));
           });
  b.block("hardmax", type.shape, y, [&](const Vars& v) {
    Expr hit = loop::binary(ExprOp::eq, b.load(first, nest.without(v)), v[nest.axis]);
    return loop::select(hit, loop::constant(type.dtype, 1), loop::constant(type.dtype, 0));
  });
}

void finish_softmax(FuncBuilder& b, const AxisNest& nest, const TensorType& type, int x, int max, int y, bool is_log) {
  DType acc = compute_type(type.dtype);
  auto distance = [&](const Vars& v) { return loop::cast(acc, b.load(x, v)) - b.load(max, nest.without(v)); };
  int exps = b.temp("e", acc, type.shape), sum = b.temp("sum", acc, nest.kept);
  b.block("exp", type.shape, exps, [&](const Vars& v) { return loop::unary(ExprOp::exp, distance(v)); });
  b.reduce("sum", nest.kept, {nest.length}, sum, StoreOp::add, loop::constant(acc, 0),
           [&](const Vars& s, const Vars& r) { return b.load(exps, nest.with(s, r[0])); });
  if (!is_log) {
    b.block("softmax", type.shape, y,
            [&](const Vars& v) { return loop::cast(type.dtype, b.load(exps, v) / b.load(sum, nest.without(v))); });
    return;
  }
  int log = b.temp("log", acc, nest.kept);
  b.block("log", nest.kept, log, [&](const Vars& v) { return loop::unary(ExprOp::log, b.load(sum, v)); });
  b.block("logsoftmax", type.shape, y,
          [&](const Vars& v) { return loop::cast(type.dtype, distance(v) - b.load(log, nest.without(v))); });
}

}  // namespace

loop::Func lower_softmax(const Node& node, Types in, Types out) {
  AxisNest nest(in[0].shape, axis_of(node, rank(in[0]), -1));
  DType acc = compute_type(in[0].dtype);
  FuncBuilder b(node.op);
  int x = b.input("x", in[0].dtype, in[0].shape), y = b.output("y", out[0].dtype, out[0].shape);
  int max = b.temp("max", acc, nest.kept);
  b.reduce("max", nest.kept, {nest.length}, max, StoreOp::max, loop::identity(StoreOp::max, acc),
           [&](const Vars& s, const Vars& r) { return loop::cast(acc, b.load(x, nest.with(s, r[0]))); });
  if (node.op == "Hardmax")
    finish_hardmax(b, nest, out[0], x, max, y);
  else
    finish_softmax(b, nest, out[0], x, max, y, node.op == "LogSoftmax");
  return b.take();
}

void softmax_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor& x = *in[0];
  Lines lines(x.type.shape, axis_of(node, rank(x.type), -1));
  if (x.size() == 0) return;
  for (i64 line = 0; line < lines.count(); line++) {
    std::vector<double> values = line_of(x, lines, line);
    normalize_line(node.op, values);
    for (i64 i = 0; i < lines.length; i++) out[0].set(lines.first(line) + i * lines.step, values[at(i)]);
  }
}

}  // namespace mcc::ops
