// The invariants of graph.h as one forward walk over the nodes with a table of the values defined so far.
#include <algorithm>

#include "graph/print.h"

namespace mcc {
namespace {

struct Checker {
  const Graph& graph;
  std::vector<char> defined;

  const Value& value(ValueId v) const { return graph.value(v); }
  bool in_range(ValueId v) const { return v >= 0 && v < static_cast<ValueId>(graph.values.size()); }

  void define(ValueId v, std::string_view by) {
    if (!in_range(v)) fail("{} defines the value number {}, which does not exist", by, v);
    if (defined[at(v)]) fail("{} defines %{} again", by, value(v).name);
    defined[at(v)] = 1;
  }

  void use(ValueId v, std::string_view by) const {
    if (!in_range(v)) fail("{} reads the value number {}, which does not exist", by, v);
    if (!defined[at(v)]) fail("{} reads %{} before it is defined", by, value(v).name);
  }

  void check_type(const Value& v) const {
    if (std::any_of(v.type.shape.begin(), v.type.shape.end(), [](i64 extent) { return extent < 0; }))
      fail("%{} has the shape {}, which is not static", v.name, to_string(v.type.shape));
    if (v.constant && v.constant->type != v.type)
      fail("%{} is declared {} but its constant is {}", v.name, to_string(v.type), to_string(v.constant->type));
  }

  void check_node(const Node& node) {
    const std::string by = describe(node);
    const auto& items = node.attrs.items;
    for (size_t i = 1; i < items.size(); i++)
      if (items[i - 1].first >= items[i].first) fail("{}: attributes are not sorted by name", by);
    for (const ValueId v : node.in)
      if (v != kNone) use(v, by);
    for (const ValueId v : node.out)
      if (v != kNone) define(v, by);
  }

  void run() {
    for (size_t v = 0; v < graph.values.size(); v++) {
      check_type(graph.values[v]);
      defined[v] = graph.values[v].constant != nullptr;
    }
    for (const ValueId v : graph.inputs) define(v, "the input list");
    for (const Node& node : graph.nodes) check_node(node);
    for (const ValueId v : graph.outputs) use(v, "the output list");
  }
};

}  // namespace

void verify(const Graph& graph) { Checker{graph, std::vector<char>(graph.values.size(), 0)}.run(); }

}  // namespace mcc
