// The table of all operators and what is done with any of them: look-up, checked inference, evaluation by reference.
//
// Errors in a model are found here: inference checks the number of inputs and puts the node's name before the family's
// own message, so that a family only says what is wrong ("axis 4 is outside rank 3").
#include <algorithm>

#include "ops/evaluate.h"

namespace mcc {

namespace {

using Family = std::span<const OpDef> (*)();
constexpr Family kFamilies[] = {elementwise_ops, reduce_ops,   movement_ops,  gather_ops,    conv_ops,
                                pool_ops,        matmul_ops,   normalize_ops, recurrent_ops, resize_ops,
                                attention_ops,   quantize_ops, sample_ops,    select_ops};

std::vector<const OpDef*> collect() {
  std::vector<const OpDef*> all;
  for (Family family : kFamilies)
    for (const OpDef& op : family()) all.push_back(&op);
  std::sort(all.begin(), all.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return all;
}

void check_inputs(const Node& node, const OpDef& op, Types in) {
  int count = static_cast<int>(in.size());
  if (count > op.max_inputs && op.max_inputs >= 0) fail("takes at most {} inputs, not {}", op.max_inputs, count);
  for (int i = 0; i < op.min_inputs; i++)
    if (i >= count || is_missing(in[at(i)])) fail("input {} of {} is missing", i + 1, op.min_inputs);
  MCC_CHECK(node.in.empty() || node.in.size() == in.size());
}

const OpDef& known_op(const Node& node) {
  const OpDef* op = find_op(node.op);
  if (!op) fail("{}: operator {} is not supported", describe(node), node.op);
  return *op;
}

// Types of every output, absent ones too.
std::vector<TensorType> infer_all(const Node& node, const OpDef& op, Types in) {
  try {
    check_inputs(node, op, in);
    if (node.out.empty()) fail("has no outputs");
    std::vector<TensorType> types = op.infer(node, in);
    if (types.size() < node.out.size()) fail("has at most {} outputs, not {}", types.size(), node.out.size());
    types.resize(node.out.size());
    return types;
  } catch (const Error& error) {
    fail("{}: {}", describe(node), error.what());
  }
}

}  // namespace

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*> all = collect();
  return all;
}

const OpDef* find_op(std::string_view name) {
  std::span<const OpDef* const> all = all_ops();
  auto at =
      std::lower_bound(all.begin(), all.end(), name, [](const OpDef* op, std::string_view n) { return op->name < n; });
  return at != all.end() && (*at)->name == name ? *at : nullptr;
}

std::vector<TensorType> infer_types(const Node& node, Types in) {
  std::vector<TensorType> types = infer_all(node, known_op(node), in);
  for (size_t i = 0; i < types.size(); i++)
    if (node.out[i] == kNone) types[i] = missing_type();
  return types;
}

std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor* const> in, Types in_types) {
  const OpDef& op = known_op(node);
  std::vector<Tensor> out;
  for (TensorType& type : infer_all(node, op, in_types)) out.emplace_back(std::move(type));
  if (!op.reference) fail("{}: operator {} cannot be evaluated", describe(node), node.op);
  op.reference(node, in, out);
  return out;
}

std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs) {
  return evaluate(graph, inputs, [](const Node&, std::span<const Tensor* const>, std::span<const Tensor>) {});
}

std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs, const NodeVisit& visit) {
  MCC_CHECK(inputs.size() == graph.inputs.size());
  std::vector<Tensor> values(graph.values.size());
  std::vector<int> reads(graph.values.size(), 0);  // still to come; an output is never freed
  for (size_t i = 0; i < inputs.size(); i++) values[at(graph.inputs[i])] = inputs[i];
  for (size_t v = 0; v < values.size(); v++)
    if (graph.values[v].constant) values[v] = *graph.values[v].constant;
  for (const Node& node : graph.nodes)
    for (ValueId v : node.in)
      if (v != kNone) reads[at(v)]++;
  for (ValueId v : graph.outputs) reads[at(v)]++;

  for (const Node& node : graph.nodes) {
    std::vector<const Tensor*> in;
    std::vector<TensorType> types;
    for (ValueId v : node.in) {
      in.push_back(v == kNone ? nullptr : &values[at(v)]);
      types.push_back(v == kNone ? missing_type() : graph.value(v).type);
    }
    std::vector<Tensor> out = evaluate(node, in, types);
    visit(node, in, out);
    for (size_t i = 0; i < out.size(); i++)
      if (node.out[i] != kNone) values[at(node.out[i])] = std::move(out[i]);
    for (ValueId v : node.in)
      if (v != kNone && --reads[at(v)] == 0) values[at(v)] = Tensor();
  }
  std::vector<Tensor> outputs;
  for (ValueId v : graph.outputs) outputs.push_back(values[at(v)]);
  return outputs;
}

}  // namespace mcc
