// See views.h. Views form a forest: parent[v] = where v's bytes are. A value that is already a base may still be moved
// into a larger buffer (a Concat, an output) as a whole, which moves all of its views with it; offsets add up on the
// way.
#include "passes/views.h"

#include <algorithm>
#include <set>

#include "passes/rewrite.h"

namespace mcc {
namespace {

using View = LoweredModel::View;

class Planner {
 public:
  explicit Planner(const Graph& graph)
      : graph_(graph),
        parent_(graph.values.size()),
        fixed_(graph.values.size(), 0),
        is_output_(graph.values.size(), 0) {
    for (const ValueId v : graph.inputs) fixed_[at(v)] = 1;
    for (const ValueId v : graph.outputs) fixed_[at(v)] = is_output_[at(v)] = 1;
    for (size_t v = 0; v < graph.values.size(); v++)
      if (graph.values[v].constant) fixed_[v] = 1;
  }

  ViewPlan run() {
    ViewPlan plan;
    for (const Node& node : graph_.nodes) plan.is_view.push_back(make_view(node));
    for (size_t v = 0; v < parent_.size(); v++) {
      const View base = root(static_cast<ValueId>(v));
      plan.views.push_back(base.base == static_cast<ValueId>(v) ? View{} : base);
    }
    return plan;
  }

 private:
  const Graph& graph_;
  std::vector<View> parent_;
  std::vector<char> fixed_;  // inputs, constants and outputs: buffers with a place of their own
  std::vector<char> is_output_;

  static size_t at(ValueId v) { return static_cast<size_t>(v); }
  const TensorType& type(ValueId v) const { return graph_.values[at(v)].type; }

  // Where v's bytes are; shortens the way for the next call.
  View root(ValueId v) {
    View end{v, 0};
    std::vector<ValueId> way;
    while (parent_[at(end.base)].base != kNone) {
      way.push_back(end.base);
      const View& up = parent_[at(end.base)];
      end = {up.base, end.offset_bytes + up.offset_bytes};
    }
    i64 before = 0;  // offset of the way's element within v's path
    for (const ValueId step : way) {
      const i64 own = parent_[at(step)].offset_bytes;
      parent_[at(step)] = {end.base, end.offset_bytes - before};
      before += own;
    }
    return end;
  }

  // The buffer that v fills completely and that may be moved, or kNone.
  ValueId movable(ValueId v) {
    const View base = root(v);
    const bool whole = base.offset_bytes == 0 && bytes(type(base.base)) == bytes(type(v));
    return whole && !fixed_[at(base.base)] ? base.base : kNone;
  }

  bool make_view(const Node& node) {
    if (node.op == "Reshape") return reshape(node.in[0], node.out[0]);
    if (node.op == "Slice") return slice(node);
    if (node.op == "Split") return split(node);
    return node.op == "Concat" && concat(node);
  }

  bool reshape(ValueId from, ValueId to) {
    if (!is_output_[at(to)]) {
      parent_[at(to)] = {from, 0};
      return true;
    }
    const ValueId base = movable(from);
    if (base == kNone) return false;
    parent_[at(base)] = {to, 0};
    return true;
  }

  bool slice(const Node& node) {
    const ValueId from = node.in[0], to = node.out[0];
    const Shape &shape = type(from).shape, &result = type(to).shape, strides = row_major_strides(shape);
    if (is_output_[at(to)] || elements(result) == 0) return false;
    const std::vector<i64> starts = node.attrs.get_ints("starts"), axes = node.attrs.get_ints("axes", {}),
                           steps = node.attrs.get_ints("steps", {});
    i64 offset = 0;
    size_t whole_from = 0;  // all dimensions from here on must be taken whole
    while (whole_from < result.size() && result[whole_from] == 1) whole_from++;
    for (size_t i = 0; i < starts.size(); i++) {
      const auto rank = static_cast<i64>(shape.size());
      const auto axis = static_cast<size_t>(normalize_axis(axes.empty() ? static_cast<i64>(i) : axes[i], rank));
      const i64 step = steps.empty() ? 1 : steps[i];
      if (result[axis] > 1 && step != 1) return false;
      const i64 start = std::clamp<i64>(starts[i] < 0 ? starts[i] + shape[axis] : starts[i], 0, shape[axis] - 1);
      offset += start * strides[axis];
    }
    for (size_t d = whole_from + 1; d < result.size(); d++)
      if (result[d] != shape[d]) return false;
    parent_[at(to)] = {from, offset * size_of(type(from).dtype)};
    return true;
  }

  bool outermost(const Shape& shape, i64 axis) const {
    return std::all_of(shape.begin(), shape.begin() + normalize_axis(axis, static_cast<i64>(shape.size())),
                       [](i64 extent) { return extent == 1; });
  }

  bool split(const Node& node) {
    if (!outermost(type(node.in[0]).shape, node.attrs.get_int("axis", 0))) return false;
    for (const ValueId v : node.out)
      if (v == kNone || is_output_[at(v)]) return false;
    i64 offset = 0;
    for (const ValueId v : node.out) {
      parent_[at(v)] = {node.in[0], offset};
      offset += bytes(type(v));
    }
    return true;
  }

  bool concat(const Node& node) {
    const ValueId to = node.out[0];
    if (!outermost(type(to).shape, node.attrs.get_int("axis"))) return false;
    std::vector<ValueId> parts;
    for (const ValueId v : node.in) {
      parts.push_back(movable(v));
      if (parts.back() == kNone) return false;
    }
    if (std::set<ValueId>(parts.begin(), parts.end()).size() != parts.size()) return false;
    i64 offset = 0;
    for (size_t i = 0; i < parts.size(); i++) {
      parent_[at(parts[i])] = {to, offset};
      offset += bytes(type(node.in[i]));
    }
    return true;
  }
};

}  // namespace

ViewPlan plan_views(const Graph& graph) { return Planner(graph).run(); }

Graph own_outputs(Graph graph) {
  std::vector<char> taken(graph.values.size(), 0);
  for (const ValueId v : graph.inputs) taken[static_cast<size_t>(v)] = 1;
  for (ValueId& v : graph.outputs) {
    if (!taken[static_cast<size_t>(v)] && !graph.values[static_cast<size_t>(v)].constant) {
      taken[static_cast<size_t>(v)] = 1;
      continue;
    }
    const ValueId copy =
        graph.add_value(graph.values[static_cast<size_t>(v)].name, graph.values[static_cast<size_t>(v)].type);
    graph.nodes.push_back({"Identity", graph.values[static_cast<size_t>(v)].name, {v}, {copy}, {}});
    v = copy;
  }
  return graph;
}

}  // namespace mcc
