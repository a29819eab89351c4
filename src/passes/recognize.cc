// Activations and layer normalisation as exporters spell them out -> one node. Matched at the last node of the pattern,
// backwards; the nodes in between go away as dead when nothing else needs them.
//
//   gates: number * x * gate(x), the factors in any order: Gelu (erf or tanh), Silu, HardSwish, Mish
//   LayerNormalization: d / sqrt(mean(d * d) + epsilon) with d = x - mean(x) over the last axes, then * scale + bias
#include <cmath>

#include "passes/match.h"
#include "passes/passes.h"

namespace mcc {
namespace {

struct Gate {
  ValueId x = kNone;
  double number = 1;  // that the product must have
  std::string op;
  Attrs attrs;
};

// 1 + erf(x / sqrt 2)
std::optional<Gate> erf_gate(const Rewriter& rw, ValueId v) {
  const auto sum = as_shifted(rw, v);
  const Node* erf = sum && close(sum->factor, 1) ? rw.maker(sum->x, "Erf") : nullptr;
  if (!erf) return std::nullopt;
  for (const Scaled& way : as_scaled(rw, erf->in[0]))
    if (close(way.factor, std::sqrt(0.5))) return Gate{way.x, 0.5, "Gelu", {}};
  return std::nullopt;
}

// x + 0.044715 x^3 or 1 + 0.044715 x^2 as the other factor of x: the polynomial in tanh's argument.
bool is_gelu_cubic(const Rewriter& rw, ValueId v, ValueId x) {
  const Node* sum = rw.maker(v, "Add");
  if (!sum) return false;
  for (size_t i = 0; i < 2; i++) {
    const auto cubic = sum->in[i] == x ? as_product(rw, {sum->in[1 - i]}, {x, x, x}) : std::nullopt;
    if (cubic && close(*cubic, 0.044715)) return true;
  }
  return false;
}

bool is_gelu_square(const Rewriter& rw, ValueId v, ValueId x) {
  const auto sum = as_shifted(rw, v);
  const auto square = sum && close(sum->factor, 1) ? as_product(rw, {sum->x}, {x, x}) : std::nullopt;
  return square && close(*square, 0.044715);
}

// 1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))
std::optional<Gate> tanh_gate(const Rewriter& rw, ValueId v) {
  const auto sum = as_shifted(rw, v);
  const Node* tanh = sum && close(sum->factor, 1) ? rw.maker(sum->x, "Tanh") : nullptr;
  if (!tanh) return std::nullopt;
  const double want = std::sqrt(2 / M_PI);
  const Gate gate{kNone, 0.5, "Gelu", attrs({{"approximate", std::string("tanh")}})};
  const auto with_x = [&gate](ValueId x) {
    Gate result = gate;
    result.x = x;
    return result;
  };
  for (const Scaled& way : as_scaled(rw, tanh->in[0])) {
    const Node* cubic = close(way.factor, want) ? rw.maker(way.x, "Add") : nullptr;
    for (size_t i = 0; cubic && i < 2; i++)
      if (is_gelu_cubic(rw, way.x, cubic->in[i])) return with_x(cubic->in[i]);
  }
  const std::vector<ValueId> factors = factors_of(rw, tanh->in[0]);
  for (const ValueId x : factors)
    for (const ValueId rest : factors) {
      const auto number =
          x != rest && is_gelu_square(rw, rest, x) ? as_product(rw, {tanh->in[0]}, {x, rest}) : std::nullopt;
      if (number && close(*number, want)) return with_x(x);
    }
  return std::nullopt;
}

// clip(x + 3, 0, 6)
std::optional<ValueId> clip_gate(const Rewriter& rw, ValueId v) {
  const Node* clip = rw.maker(v, "Clip");
  if (!clip || clip->attrs.get_float("min", -1) != 0 || clip->attrs.get_float("max", 0) != 6) return std::nullopt;
  const auto sum = as_shifted(rw, clip->in[0]);
  return sum && sum->factor == 3 ? std::optional(sum->x) : std::nullopt;
}

std::optional<Gate> gate_of(const Rewriter& rw, ValueId v) {
  if (const Node* sigmoid = rw.maker(v, "Sigmoid")) return Gate{sigmoid->in[0], 1, "Silu", {}};
  if (const auto x = clip_gate(rw, v)) return Gate{*x, 1.0 / 6, "HardSwish", {}};
  if (const Node* hard = rw.maker(v, "HardSigmoid")) {
    const bool is_swish =
        close(hard->attrs.get_float("alpha", 0.2), 1.0 / 6) && close(hard->attrs.get_float("beta", 0.5), 0.5);
    if (is_swish) return Gate{hard->in[0], 1, "HardSwish", {}};
  }
  if (const Node* tanh = rw.maker(v, "Tanh"))
    if (const Node* softplus = rw.maker(tanh->in[0], "Softplus")) return Gate{softplus->in[0], 1, "Mish", {}};
  if (const auto gate = erf_gate(rw, v)) return gate;
  return tanh_gate(rw, v);
}

// The parts of the node's product; `number` is what a constant divisor contributes.
std::optional<std::vector<ValueId>> parts_of(const Rewriter& rw, const Node& node, double& number) {
  if (node.op == "Mul") return node.in;
  const auto divisor = node.op == "Div" ? splat(rw.constant(node.in[1])) : std::nullopt;
  if (!divisor) return std::nullopt;
  number = 1 / *divisor;
  return std::vector<ValueId>{node.in[0]};
}

bool gated(Rewriter& rw, const Node& node) {
  double outer = 1;
  const auto parts = parts_of(rw, node, outer);
  if (!parts) return false;
  for (const ValueId part : *parts)
    for (const ValueId factor : factors_of(rw, part)) {
      const std::optional<Gate> gate = gate_of(rw, factor);
      if (!gate || rw.type(gate->x) != rw.type(node.out[0])) continue;
      const auto number = as_product(rw, *parts, {gate->x, factor});
      if (!number || !close(*number * outer, gate->number)) continue;
      rw.replace(node.out[0], rw.emit(gate->op, {gate->x}, gate->attrs));
      return true;
    }
  return false;
}

// clip(x + 3, 0, 6) / 6
bool hard_sigmoid(Rewriter& rw, const Node& node) {
  double outer = 1;
  const auto parts = parts_of(rw, node, outer);
  if (!parts) return false;
  for (const ValueId part : *parts) {
    const auto x = clip_gate(rw, part);
    const auto number = x ? as_product(rw, *parts, {part}) : std::nullopt;
    if (!number || !close(*number * outer, 1.0 / 6) || rw.type(*x) != rw.type(node.out[0])) continue;
    rw.replace(node.out[0], rw.emit("HardSigmoid", {*x}, attrs({{"alpha", 1.0 / 6}, {"beta", 0.5}})));
    return true;
  }
  return false;
}

// log(exp(x) + 1)
bool softplus(Rewriter& rw, const Node& node) {
  if (node.op != "Log") return false;
  const auto sum = as_shifted(rw, node.in[0]);
  const Node* exp = sum && sum->factor == 1 ? rw.maker(sum->x, "Exp") : nullptr;
  if (!exp) return false;
  rw.replace(node.out[0], rw.emit("Softplus", {exp->in[0]}));
  return true;
}

// How many of the last axes v is the mean of x over, kept as ones; 0 if it is not such a mean.
i64 mean_over_last(const Rewriter& rw, ValueId v, ValueId x) {
  const Node* mean = rw.maker(v, "ReduceMean");
  if (!mean || (x != kNone && mean->in[0] != x) || mean->attrs.get_int("keepdims", 1) == 0) return 0;
  const std::vector<i64> axes = mean->attrs.get_ints("axes", {});
  const i64 rank = rw.rank(v), count = static_cast<i64>(axes.size());
  for (const i64 axis : axes)
    if (normalize_axis(axis, rank) < rank - count) return 0;
  return count;
}

struct Deviation {
  ValueId x = kNone;
  i64 axes = 0;
};
// d as x - mean(x).
std::optional<Deviation> deviation_of(const Rewriter& rw, ValueId d) {
  const Node* difference = rw.maker(d, "Sub");
  if (!difference) return std::nullopt;
  const i64 axes = mean_over_last(rw, difference->in[1], difference->in[0]);
  return axes > 0 ? std::optional(Deviation{difference->in[0], axes}) : std::nullopt;
}

bool is_square(const Rewriter& rw, ValueId v, const Deviation& of) {
  const Node* node = rw.maker(v);
  if (!node || !is_op(*node, {"Mul", "Pow"})) return false;
  const bool squares = node->op == "Mul" ? node->in[0] == node->in[1] : splat(rw.constant(node->in[1])) == 2;
  const auto d = squares ? deviation_of(rw, node->in[0]) : std::nullopt;
  return d && d->x == of.x && d->axes == of.axes;
}

// The root as sqrt(mean(d * d) + epsilon); gives epsilon.
std::optional<double> deviation_root(const Rewriter& rw, ValueId v, const Deviation& of) {
  const Node* root = rw.maker(v, "Sqrt");
  const auto sum = root ? as_shifted(rw, root->in[0]) : std::nullopt;
  if (!sum || mean_over_last(rw, sum->x, kNone) != of.axes) return std::nullopt;
  return is_square(rw, rw.maker(sum->x)->in[0], of) ? std::optional(sum->factor) : std::nullopt;
}

bool normalise(Rewriter& rw, const Node& node) {
  if (!is_op(node, {"Div", "Mul"})) return false;
  for (size_t i = 0; i < (node.op == "Div" ? 1u : 2u); i++) {
    const auto d = deviation_of(rw, node.in[i]);
    ValueId root = node.in[1 - i];
    if (d && node.op == "Mul") {
      const Node* inverse = rw.maker(root, "Reciprocal");
      if (!inverse) continue;
      root = inverse->in[0];
    }
    const auto epsilon = d ? deviation_root(rw, root, *d) : std::nullopt;
    if (!epsilon || rw.type(d->x) != rw.type(node.out[0])) continue;
    const Shape& shape = rw.shape(d->x);
    Tensor ones({rw.type(d->x).dtype, Shape(shape.end() - d->axes, shape.end())});
    for (i64 k = 0; k < ones.size(); k++) ones.set(k, 1);
    const ValueId scale = rw.add_constant(std::move(ones));
    rw.replace(node.out[0], rw.emit("LayerNormalization", {d->x, scale},
                                    attrs({{"axis", rw.rank(d->x) - d->axes}, {"epsilon", *epsilon}})));
    return true;
  }
  return false;
}

// A factor or summand right behind a LayerNormalization that has none yet becomes its scale or bias.
bool normalise_affine(Rewriter& rw, const Node& node, const Node& old) {
  if (!is_op(node, {"Mul", "Add"})) return false;
  for (size_t i = 0; i < 2; i++) {
    const Node* norm = rw.maker(node.in[i], "LayerNormalization");
    const ValueId operand = node.in[1 - i];
    if (!norm || rw.uses(old.in[i]) != 1 || norm->out.size() != 1 || norm->in.size() > 2 || !rw.constant(operand))
      continue;
    const Shape& shape = rw.shape(norm->in[0]);
    const auto axis = static_cast<i64>(normalize_axis(norm->attrs.get_int("axis", -1), rw.rank(norm->in[0])));
    if (rw.shape(operand) != Shape(shape.begin() + axis, shape.end())) continue;
    if (node.op == "Mul" && splat(rw.constant(norm->in[1])) != 1) continue;
    std::vector<ValueId> in{norm->in[0], operand};
    if (node.op == "Add") in = {norm->in[0], norm->in[1], operand};
    const Attrs norm_attrs = norm->attrs;
    rw.replace(node.out[0], rw.emit("LayerNormalization", in, norm_attrs));
    return true;
  }
  return false;
}

}  // namespace

Graph recognize(const Graph& graph) {
  return rewrite_each(graph, [](Rewriter& rw, const Node& node, const Node& old) {
    const bool is_float_result = node.out[0] != kNone && is_float(rw.type(node.out[0]).dtype);
    return is_float_result && (gated(rw, node) || hard_sigmoid(rw, node) || softplus(rw, node) || normalise(rw, node) ||
                               normalise_affine(rw, node, old));
  });
}

}  // namespace mcc
