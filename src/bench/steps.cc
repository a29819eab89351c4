// See steps.h. One walk over the nodes: an op of the table starts a step; an Add, Relu, Clip or Gelu that follows joins
// the step before it; anything else ends the attempt.
#include "bench/steps.h"

#include <functional>
#include <optional>

namespace mcc {
namespace {

using Json = nlohmann::ordered_json;
using Step = std::optional<Json>;  // none: not expressible

const TensorType& type_of(const Graph& g, ValueId v) { return g.value(v).type; }
const Shape& shape_of(const Graph& g, ValueId v) { return type_of(g, v).shape; }
bool is_constant(const Graph& g, ValueId v) { return g.value(v).constant != nullptr; }

Json with_epilogue(Json step, bool bias) {
  step["bias"] = bias;
  step["residual"] = false;
  step["activation"] = "";
  return step;
}

Step conv_step(const Graph& g, const Node& n) {
  const Shape& in = shape_of(g, n.in[0]);
  if (in.size() != 4) return {};
  return with_epilogue({{"op", "conv"},
                        {"in", in},
                        {"out", shape_of(g, n.out[0])},
                        {"kernel", n.attrs.get_ints("kernel_shape")},
                        {"strides", n.attrs.get_ints("strides", {1, 1})},
                        {"pads", n.attrs.get_ints("pads", {0, 0, 0, 0})},
                        {"dilations", n.attrs.get_ints("dilations", {1, 1})},
                        {"groups", n.attrs.get_int("group", 1)}},
                       n.in.size() > 2 && n.in[2] != kNone);
}

// A weight of rank 2 makes one product of all rows; otherwise both operands have the same batch.
Step matmul_step(const Graph& g, const Node& n) {
  const Shape &a = shape_of(g, n.in[0]), &b = shape_of(g, n.in[1]);
  if (a.size() < 2 || b.size() < 2 || n.attrs.get_int("transA", 0) != 0) return {};
  const bool transposed = n.attrs.get_int("transB", 0) != 0;
  const i64 k = a.back(), columns = transposed ? b[b.size() - 2] : b.back();
  i64 batch = 1, rows = a[a.size() - 2];
  if (b.size() > 2 && !std::equal(a.begin(), a.end() - 2, b.begin(), b.end() - 2)) return {};
  for (size_t i = 0; i + 2 < a.size(); i++) (b.size() > 2 ? batch : rows) *= a[i];
  return with_epilogue({{"op", "matmul"},
                        {"batch", batch},
                        {"m", rows},
                        {"n", columns},
                        {"k", k},
                        {"transposed", transposed},
                        {"constant", is_constant(g, n.in[1])}},
                       n.in.size() > 2 && n.in[2] != kNone);
}

Step pool_step(const Graph& g, const Node& n) {
  const Shape& in = shape_of(g, n.in[0]);
  if (in.size() != 4) return {};
  const bool global = n.op.starts_with("Global");
  return Json{{"op", "pool"},
              {"kind", n.op.ends_with("MaxPool") ? "max" : "average"},
              {"in", in},
              {"out", shape_of(g, n.out[0])},
              {"kernel", global ? std::vector<i64>{in[2], in[3]} : n.attrs.get_ints("kernel_shape")},
              {"strides", n.attrs.get_ints("strides", {1, 1})},
              {"pads", n.attrs.get_ints("pads", {0, 0, 0, 0})}};
}

Step row_step(const char* op, const Graph& g, const Node& n) {
  const Shape& shape = shape_of(g, n.in[0]);
  if (shape.empty()) return {};
  const i64 rank = static_cast<i64>(shape.size()), axis = n.attrs.get_int("axis", rank - 1);
  if (axis != rank - 1 && axis != -1) return {};
  return Json{{"op", op}, {"rows", elements(shape) / std::max<i64>(1, shape.back())}, {"columns", shape.back()}};
}

Step eltwise_step(const char* kind, const Graph& g, const Node& n) {
  Step step = row_step("eltwise", g, n);
  if (step) (*step)["kind"] = kind;
  return step;
}

Step transpose_step(const Graph& g, const Node& n) {
  return Json{{"op", "transpose"}, {"in", shape_of(g, n.in[0])}, {"perm", n.attrs.get_ints("perm")}};
}

struct Starter {
  std::string_view op;
  std::function<Step(const Graph&, const Node&)> make;
};
const std::vector<Starter>& starters() {
  static const std::vector<Starter> table = {
      {"Conv", conv_step},
      {"MatMul", matmul_step},
      {"Gemm", matmul_step},
      {"MaxPool", pool_step},
      {"AveragePool", pool_step},
      {"GlobalAveragePool", pool_step},
      {"GlobalMaxPool", pool_step},
      {"Softmax", [](const Graph& g, const Node& n) { return row_step("softmax", g, n); }},
      {"LayerNormalization", [](const Graph& g, const Node& n) { return row_step("layernorm", g, n); }},
      {"Gelu", [](const Graph& g, const Node& n) { return eltwise_step("gelu", g, n); }},
      {"Neg", [](const Graph& g, const Node& n) { return eltwise_step("neg", g, n); }},
      {"Transpose", transpose_step},
  };
  return table;
}

// Whether the node could be made part of the step before it; it then is.
bool joins(const Graph& g, const Node& n, Json& step) {
  if (!step.value("activation", "none").empty()) return false;
  if (n.op == "Relu" || n.op == "Gelu") {
    step["activation"] = n.op == "Relu" ? "relu" : "gelu";
    return true;
  }
  if (n.op == "Clip") {
    step["activation"] = "clip";
    step["low"] = n.attrs.get_float("min", -3e38);
    step["high"] = n.attrs.get_float("max", 3e38);
    return true;
  }
  if (n.op == "Add") {
    const bool weight = is_constant(g, n.in[0]) || is_constant(g, n.in[1]);
    step[weight ? "bias" : "residual"] = true;
    return true;
  }
  // Scaling by a constant, as before the softmax of an attention: peers have it for free.
  return (n.op == "Mul" || n.op == "Div") && is_constant(g, n.in[1]) && elements(shape_of(g, n.in[1])) == 1;
}

}  // namespace

Json peer_steps(const Graph& graph) {
  Json steps = Json::array();
  for (const Node& node : graph.nodes) {
    if (type_of(graph, node.out[0]).dtype != DType::f32) return Json::array();
    if (!steps.empty() && joins(graph, node, steps.back())) continue;
    Step step;
    for (const Starter& starter : starters()) {
      if (node.op == starter.op) step = starter.make(graph, node);
    }
    if (!step) return Json::array();
    steps.push_back(*step);
  }
  return steps;
}

}  // namespace mcc
