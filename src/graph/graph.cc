// The graph's small operations: attributes by name, new values, and who makes and reads each value.
#include "graph/graph.h"

#include <algorithm>

namespace mcc {
namespace {

auto position(auto& items, std::string_view name) {
  return std::lower_bound(items.begin(), items.end(), name,
                          [](const auto& item, std::string_view n) { return item.first < n; });
}

template <typename T>
const T* typed(const AttrValue* value, std::string_view name, std::string_view kind) {
  if (!value) return nullptr;
  const T* found = std::get_if<T>(value);
  if (!found) fail("attribute '{}' is not {}", name, kind);
  return found;
}

template <typename T>
T required(const T* found, std::string_view name) {
  if (!found) fail("attribute '{}' is missing", name);
  return *found;
}

}  // namespace

const AttrValue* Attrs::find(std::string_view name) const {
  const auto at = position(items, name);
  return at != items.end() && at->first == name ? &at->second : nullptr;
}

void Attrs::set(std::string_view name, AttrValue value) {
  const auto at = position(items, name);
  if (at != items.end() && at->first == name)
    at->second = std::move(value);
  else
    items.emplace(at, std::string(name), std::move(value));
}

void Attrs::erase(std::string_view name) {
  const auto at = position(items, name);
  if (at != items.end() && at->first == name) items.erase(at);
}

i64 Attrs::get_int(std::string_view name) const { return required(typed<i64>(find(name), name, "an integer"), name); }

i64 Attrs::get_int(std::string_view name, i64 otherwise) const {
  const i64* found = typed<i64>(find(name), name, "an integer");
  return found ? *found : otherwise;
}

double Attrs::get_float(std::string_view name, double otherwise) const {
  const AttrValue* value = find(name);
  if (!value) return otherwise;
  if (const i64* whole = std::get_if<i64>(value)) return static_cast<double>(*whole);
  return *typed<double>(value, name, "a number");
}

std::string Attrs::get_string(std::string_view name, std::string otherwise) const {
  const std::string* found = typed<std::string>(find(name), name, "a string");
  if (found) return *found;
  return otherwise;
}

std::vector<i64> Attrs::get_ints(std::string_view name) const {
  return required(typed<std::vector<i64>>(find(name), name, "a list of integers"), name);
}

std::vector<i64> Attrs::get_ints(std::string_view name, std::vector<i64> otherwise) const {
  const auto* found = typed<std::vector<i64>>(find(name), name, "a list of integers");
  if (found) return *found;
  return otherwise;
}

std::vector<double> Attrs::get_floats(std::string_view name, std::vector<double> otherwise) const {
  const AttrValue* value = find(name);
  if (!value) return otherwise;
  if (const auto* whole = std::get_if<std::vector<i64>>(value)) return {whole->begin(), whole->end()};
  return *typed<std::vector<double>>(value, name, "a list of numbers");
}

ValueId Graph::add_value(std::string name, TensorType type) {
  values.push_back({std::move(name), std::move(type), nullptr});
  return static_cast<ValueId>(values.size()) - 1;
}

ValueId Graph::add_constant(std::string name, Tensor tensor) {
  const ValueId id = add_value(std::move(name), tensor.type);
  values.back().constant = std::make_shared<const Tensor>(std::move(tensor));
  return id;
}

int input_number(const Graph& graph, size_t input) {
  const int number = graph.value(graph.inputs[input]).number;
  return number < 0 ? static_cast<int>(input) : number;
}

std::vector<int> producers(const Graph& graph) {
  std::vector<int> result(graph.values.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); n++)
    for (const ValueId v : graph.nodes[n].out)
      if (v != kNone) result[at(v)] = static_cast<int>(n);
  return result;
}

std::vector<std::vector<int>> consumers(const Graph& graph) {
  std::vector<std::vector<int>> result(graph.values.size());
  for (size_t n = 0; n < graph.nodes.size(); n++)
    for (const ValueId v : graph.nodes[n].in)
      if (v != kNone) result[at(v)].push_back(static_cast<int>(n));
  return result;
}

std::string describe(const Node& node) {
  return node.name.empty() ? fmt::format("{} node", node.op) : fmt::format("{} node '{}'", node.op, node.name);
}

}  // namespace mcc
