// Arithmetic rules: neutral operands, powers with small exponents, division by constants, clips, casts, operands that
// are broadcast twice. Exact for finite values, but for division by a constant, whose reciprocal may be rounded.
#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/simplify.h"

namespace mcc {
namespace {

bool is_splat(Rewriter& rw, ValueId v, double value) { return splat(rw.constant(v)) == value; }

template <typename Fn>
Tensor mapped(const Tensor& tensor, const Fn& fn) {
  Tensor result(tensor.type);
  for (i64 i = 0; i < tensor.size(); i++) result.set(i, fn(tensor.get(i)));
  return result;
}

bool is_wide_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

bool divide(Rewriter& rw, const Node& node) {
  const Tensor* by = rw.constant(node.in[1]);
  if (!by || !is_wide_float(by->type.dtype)) return false;
  const double least = by->type.dtype == DType::f32 ? 1e-30 : 1e-280;
  for (i64 i = 0; i < by->size(); i++)
    if (!(std::abs(by->get(i)) > least && std::abs(by->get(i)) < 1 / least)) return false;
  const ValueId factor = rw.add_constant(mapped(*by, [](double x) { return 1 / x; }));
  rw.replace(node.out[0], rw.emit("Mul", {node.in[0], factor}));
  return true;
}

bool subtract(Rewriter& rw, const Node& node) {
  const Tensor* what = rw.constant(node.in[1]);
  if (!what || !is_float(what->type.dtype)) return false;
  const ValueId negated = rw.add_constant(mapped(*what, [](double x) { return -x; }));
  rw.replace(node.out[0], rw.emit("Add", {node.in[0], negated}));
  return true;
}

// Not below zero, whatever the inputs: squares and what is made of them, a few levels deep.
bool never_negative(const Rewriter& rw, ValueId v, int levels = 6) {
  if (const std::optional<double> number = splat(rw.constant(v))) return *number >= 0;
  const Node* maker = rw.maker(v);
  if (!maker || levels == 0) return false;
  const auto inputs = [&](size_t count) {
    return std::all_of(maker->in.begin(), maker->in.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](ValueId x) { return never_negative(rw, x, levels - 1); });
  };
  if (is_op(*maker, {"Relu", "Abs", "Exp", "Sigmoid", "ReduceSumSquare", "ReduceL1", "ReduceL2"})) return true;
  if (maker->op == "Mul" && maker->in[0] == maker->in[1]) return true;
  if (is_op(*maker, {"Add", "Mul", "Div"})) return inputs(2);
  return is_op(*maker, {"ReduceMean", "ReduceSum", "ReduceMax", "GlobalAveragePool", "Reshape", "Transpose"}) &&
         inputs(1);
}

bool power(Rewriter& rw, const Node& node) {
  const ValueId x = node.in[0];
  const std::optional<double> exponent = splat(rw.constant(node.in[1]));
  if (!exponent || rw.type(x) != rw.type(node.out[0])) return false;
  const bool real = is_float(rw.type(x).dtype);
  const bool rooted = real && std::abs(*exponent) == 0.5 && never_negative(rw, x);  // pow(-inf, 0.5) is inf
  ValueId result = kNone;
  if (*exponent == 1)
    result = x;
  else if (*exponent == 2)
    result = rw.emit("Mul", {x, x});
  else if (*exponent == 3)
    result = rw.emit("Mul", {rw.emit("Mul", {x, x}), x});
  else if (*exponent == 0.5 && rooted)
    result = rw.emit("Sqrt", {x});
  else if (*exponent == -1 && real)
    result = rw.emit("Reciprocal", {x});
  else if (*exponent == -0.5 && rooted)
    result = rw.emit("Reciprocal", {rw.emit("Sqrt", {x})});
  else
    return false;
  rw.replace(node.out[0], result);
  return true;
}

struct Bounds {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

Bounds bounds_of(const Node& clip) {
  Bounds result;
  if (clip.op == "Relu") return {0, result.high};
  return {clip.attrs.get_float("min", result.low), clip.attrs.get_float("max", result.high)};
}

ValueId clip(Rewriter& rw, ValueId x, Bounds bounds) {
  Attrs clip_attrs;
  if (bounds.low == 0 && std::isinf(bounds.high)) return rw.emit("Relu", {x});
  if (std::isfinite(bounds.low)) clip_attrs.set("min", bounds.low);
  if (std::isfinite(bounds.high)) clip_attrs.set("max", bounds.high);
  return rw.emit("Clip", {x}, std::move(clip_attrs));
}

// A Clip of a Clip (a Relu counts as one), and a Clip that is a Relu or nothing.
bool clip_or_relu(Rewriter& rw, const Node& node) {
  if (!is_float(rw.type(node.out[0]).dtype)) return false;
  Bounds bounds = bounds_of(node);
  ValueId x = node.in[0];
  const Node* inner = rw.maker(x);
  if (inner && is_op(*inner, {"Clip", "Relu"})) {
    const Bounds before = bounds_of(*inner);
    const Bounds both{std::max(bounds.low, before.low), std::min(bounds.high, before.high)};
    if (both.low <= both.high) {
      bounds = both;
      x = inner->in[0];
    }
  }
  if (std::isinf(bounds.low) && std::isinf(bounds.high)) return become(rw, node, x);
  const bool is_relu = bounds.low == 0 && std::isinf(bounds.high);
  if (x == node.in[0] && is_relu == (node.op == "Relu")) return false;
  rw.replace(node.out[0], clip(rw, x, bounds));
  return true;
}

// Max(x, 0) and the like are Clips.
bool min_or_max(Rewriter& rw, const Node& node) {
  if (node.in.size() == 1) return become(rw, node, node.in[0]);
  if (node.in.size() != 2 || !is_float(rw.type(node.out[0]).dtype)) return false;
  for (size_t i = 0; i < 2; i++) {
    const std::optional<double> limit = splat(rw.constant(node.in[i]));
    const ValueId x = node.in[1 - i];
    if (!limit || !std::isfinite(*limit) || rw.type(x) != rw.type(node.out[0])) continue;
    Bounds bounds;
    (node.op == "Max" ? bounds.low : bounds.high) = *limit;
    rw.replace(node.out[0], clip(rw, x, bounds));
    return true;
  }
  return false;
}

bool widens(DType from, DType to) {
  if (size_of(to) <= size_of(from)) return false;
  return (is_float(from) && is_float(to)) || (is_int(from) && is_int(to) && is_unsigned(from) == is_unsigned(to));
}

bool cast(Rewriter& rw, const Node& node) {
  if (become(rw, node, node.in[0])) return true;
  const Node* inner = rw.maker(node.in[0], "Cast");
  if (!inner || !widens(rw.type(inner->in[0]).dtype, rw.type(inner->out[0]).dtype)) return false;
  return become(rw, node, inner->in[0]);
}

// An Expand before an op that broadcasts anyway.
bool skip_expands(Rewriter& rw, const Node& node) {
  const OpDef* op = find_op(node.op);
  if (!op || op->fuse != FuseKind::elementwise || node.in.size() < 2 || is_op(node, {"PRelu", "BatchNormalization"}))
    return false;
  Node slim = node;
  for (ValueId& v : slim.in) {
    const Node* expand = rw.maker(v, "Expand");
    if (!expand) continue;
    const ValueId wide = v;
    v = expand->in[0];
    Shape shape;
    for (const ValueId other : slim.in) shape = broadcast(shape, rw.shape(other));
    if (shape != rw.shape(node.out[0])) v = wide;
  }
  if (slim.in == node.in) return false;
  rw.keep(std::move(slim));
  return true;
}

bool choose(Rewriter& rw, const Node& node) {
  const std::optional<double> condition = splat(rw.constant(node.in[0]));
  return condition && become(rw, node, node.in[*condition != 0 ? 1 : 2]);
}

bool undo(Rewriter& rw, const Node& node) {
  const Node* inner = rw.maker(node.in[0], node.op);
  if (!inner) return false;
  return become(rw, node, node.op == "Abs" ? node.in[0] : inner->in[0]);
}

bool neutral(Rewriter& rw, const Node& node, double value) {
  const bool commutes = is_op(node, {"Add", "Mul"});
  return (is_splat(rw, node.in[1], value) && become(rw, node, node.in[0])) ||
         (commutes && is_splat(rw, node.in[0], value) && become(rw, node, node.in[1]));
}

bool sum(Rewriter& rw, const Node& node) {
  if (node.in.size() == 1) return become(rw, node, node.in[0]);
  if (node.op != "Sum" || node.in.size() != 2) return false;
  rw.replace(node.out[0], rw.emit("Add", node.in));
  return true;
}

bool by_op(Rewriter& rw, const Node& node) {
  if (node.op == "Add") return neutral(rw, node, 0);
  if (node.op == "Sub") return neutral(rw, node, 0) || subtract(rw, node);
  if (node.op == "Mul") return neutral(rw, node, 1);
  if (node.op == "Div") return neutral(rw, node, 1) || divide(rw, node);
  if (node.op == "Pow") return power(rw, node);
  if (is_op(node, {"Clip", "Relu"})) return clip_or_relu(rw, node);
  if (is_op(node, {"Min", "Max"})) return min_or_max(rw, node);
  if (is_op(node, {"Sum", "Mean"})) return sum(rw, node);
  if (node.op == "Cast") return cast(rw, node);
  if (node.op == "Where") return choose(rw, node);
  if (is_op(node, {"Neg", "Not", "Abs"})) return undo(rw, node);
  return node.op == "Identity" && become(rw, node, node.in[0]);
}

}  // namespace

bool simplify_arithmetic(Rewriter& rw, const Node& node) { return by_op(rw, node) || skip_expands(rw, node); }

}  // namespace mcc
