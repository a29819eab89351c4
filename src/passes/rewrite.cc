// See rewrite.h.
#include "passes/rewrite.h"

#include <algorithm>

namespace mcc {

Rewriter::Rewriter(const Graph& from) : old_values_(from.values.size()) {
  graph_.values = from.values;
  graph_.inputs = from.inputs;
  graph_.outputs = from.outputs;
  graph_.nodes.reserve(from.nodes.size());
  now_.resize(old_values_);
  for (size_t v = 0; v < old_values_; v++) now_[v] = static_cast<ValueId>(v);
  maker_.assign(old_values_, -1);
  uses_.assign(old_values_, 0);
  renamed_.assign(old_values_, 1);
  for (const Node& node : from.nodes)
    for (const ValueId v : node.in)
      if (v != kNone) uses_[at(v)]++;
  for (const ValueId v : from.outputs) uses_[at(v)]++;
}

ValueId Rewriter::now(ValueId v) const {
  while (v != kNone && now_[at(v)] != v) v = now_[at(v)];
  return v;
}

const Tensor* Rewriter::constant(ValueId v) const { return v == kNone ? nullptr : graph_.value(v).constant.get(); }

const Node* Rewriter::maker(ValueId v) const {
  if (v == kNone || maker_[at(v)] < 0) return nullptr;
  return &graph_.nodes[at(maker_[at(v)])];
}

const Node* Rewriter::maker(ValueId v, std::string_view op) const {
  const Node* node = maker(v);
  return node && node->op == op ? node : nullptr;
}

Node Rewriter::visit(const Node& old) {
  Node node = old;
  for (ValueId& v : node.in) v = now(v);
  node_name_ = old.name;
  for (const ValueId v : old.out)
    if (v != kNone) {
      value_name_ = graph_.value(v).name;
      break;
    }
  return node;
}

void Rewriter::keep(Node node) {
  for (const ValueId v : node.out)
    if (v != kNone) maker_[at(v)] = static_cast<int>(graph_.nodes.size());
  graph_.nodes.push_back(std::move(node));
}

ValueId Rewriter::add_value(TensorType type) {
  const ValueId id = graph_.add_value(value_name_ + ".part", std::move(type));
  now_.push_back(id);
  maker_.push_back(-1);
  uses_.push_back(0);
  renamed_.push_back(0);
  return id;
}

ValueId Rewriter::emit(std::string op, std::vector<ValueId> in, Attrs attrs) {
  return emit_many(std::move(op), std::move(in), std::move(attrs), 1)[0];
}

std::vector<ValueId> Rewriter::emit_many(std::string op, std::vector<ValueId> in, Attrs attrs, size_t outputs) {
  Node node{std::move(op), node_name_, std::move(in), std::vector<ValueId>(outputs, 0), std::move(attrs)};
  std::vector<TensorType> types = infer_types(node, input_types(graph_, node));
  for (size_t i = 0; i < outputs; i++) node.out[i] = add_value(std::move(types[i]));
  const std::vector<ValueId> made = node.out;
  keep(std::move(node));
  return made;
}

ValueId Rewriter::add_constant(Tensor tensor) {
  const ValueId id = add_value(tensor.type);
  Value& value = graph_.value(id);
  value.name = value_name_ + ".const";
  value.constant = std::make_shared<const Tensor>(std::move(tensor));
  renamed_[at(id)] = 1;
  return id;
}

ValueId Rewriter::scalar(double value, DType dtype) {
  Tensor tensor({dtype, {}});
  tensor.set(0, value);
  return add_constant(std::move(tensor));
}

void Rewriter::replace(ValueId from, ValueId to) {
  MCC_CHECK(from != to && type(from) == type(to));
  now_[at(from)] = to;
  if (renamed_[at(to)]) return;
  renamed_[at(to)] = 1;
  graph_.value(to).name = graph_.value(from).name;
}

Graph Rewriter::finish() {
  std::vector<char> taken(graph_.values.size(), 0);  // values that cannot become another output
  for (const ValueId v : graph_.inputs) taken[at(v)] = 1;
  for (const ValueId v : graph_.outputs) taken[at(v)] = now(v) == v;
  for (ValueId& v : graph_.outputs) {
    const ValueId to = now(v);
    if (to == v) continue;
    if (taken[at(to)] || constant(to)) {
      if (maker_[at(v)] < 0) keep({"Identity", "", {to}, {v}, {}});
      continue;
    }
    graph_.value(to).name = graph_.value(v).name;
    taken[at(to)] = 1;
    v = to;
  }
  return std::move(graph_);
}

std::vector<TensorType> input_types(const Graph& graph, const Node& node) {
  std::vector<TensorType> types;
  for (const ValueId v : node.in) types.push_back(v == kNone ? missing_type() : graph.value(v).type);
  return types;
}

std::optional<double> splat(const Tensor* tensor) {
  if (!tensor || tensor->size() == 0) return std::nullopt;
  const double value = tensor->get(0);
  for (i64 i = 1; i < tensor->size(); i++)
    if (tensor->get(i) != value) return std::nullopt;
  return value;
}

Attrs attrs(std::initializer_list<std::pair<std::string_view, AttrValue>> items) {
  Attrs result;
  for (const auto& [name, value] : items) result.set(name, value);
  return result;
}

bool is_op(const Node& node, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), node.op) != ops.end();
}

bool is_identity(const Perm& perm) {
  for (size_t d = 0; d < perm.size(); d++)
    if (perm[d] != static_cast<i64>(d)) return false;
  return true;
}

Perm inverse(const Perm& perm) {
  Perm result(perm.size());
  for (size_t d = 0; d < perm.size(); d++) result[at(perm[d])] = static_cast<i64>(d);
  return result;
}

Perm compose(const Perm& first, const Perm& then) {
  Perm result;
  for (const i64 d : then) result.push_back(first[at(d)]);
  return result;
}

Shape permuted(const Shape& shape, const Perm& perm) { return compose(shape, perm); }

bool moves_only_units(const Shape& shape, const Perm& perm) {
  i64 last = -1;
  for (const i64 d : perm) {
    if (shape[at(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

}  // namespace mcc
