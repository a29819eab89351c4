// The model as a graph of values and nodes, in topological order. Nobody's file format: frontends translate into it,
// and their quirks end there. Shapes are static from import on.
//
// Invariants (verify.h): every node's inputs are graph inputs, constants, or outputs of earlier nodes; each value is
// defined once; every value has a type; attributes are sorted by name. A missing optional input or output is kNone.
#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "graph/tensor.h"
#include "graph/types.h"

namespace mcc {

using ValueId = int;
constexpr ValueId kNone = -1;

using AttrValue = std::variant<i64, double, std::string, std::vector<i64>, std::vector<double>, Tensor>;

// Attributes sorted by name. Getters with a default return it when the name is absent; those without throw Error.
struct Attrs {
  std::vector<std::pair<std::string, AttrValue>> items;

  const AttrValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);
  i64 get_int(std::string_view name) const;
  i64 get_int(std::string_view name, i64 otherwise) const;
  double get_float(std::string_view name, double otherwise) const;
  std::string get_string(std::string_view name, std::string otherwise) const;
  std::vector<i64> get_ints(std::string_view name) const;
  std::vector<i64> get_ints(std::string_view name, std::vector<i64> otherwise) const;
  std::vector<double> get_floats(std::string_view name, std::vector<double> otherwise) const;
};

struct Value {
  std::string name;
  TensorType type;
  std::shared_ptr<const Tensor> constant;  // set: the value is known data
  int number = -1;  // of a graph input: its place among the model file's inputs, where binding some has changed it
};

struct Node {
  std::string op, name;
  std::vector<ValueId> in, out;
  Attrs attrs;
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs, outputs;

  const Value& value(ValueId v) const { return values[at(v)]; }
  Value& value(ValueId v) { return values[at(v)]; }
  ValueId add_value(std::string name, TensorType type);
  ValueId add_constant(std::string name, Tensor tensor);
};

int input_number(const Graph& graph, size_t input);           // place of inputs[input] among the model file's inputs
std::vector<int> producers(const Graph& graph);               // value -> node that makes it, or -1
std::vector<std::vector<int>> consumers(const Graph& graph);  // value -> nodes that read it, each once per use
std::string describe(const Node& node);                       // "Conv node 'layer1.0'", for error texts

}  // namespace mcc
