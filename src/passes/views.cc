// See views.h. Values form a forest: a link says where a value lies in its parent. A value that is a root may still be
// moved into a larger buffer (a Concat, an output), which moves all that lies in it along. Links are resolved at the
// end, from the roots down.
//
// A link is either *whole*, the same bytes in another shape from some byte on, or a *box* of the parent's dimensions.
// What hangs on a whole link must stay in one piece, and so must everything from there up to the root: these values are
// rigid. A rigid root can be moved only to where it is in one piece again.
#include "passes/views.h"

#include <algorithm>
#include <set>

#include "passes/rewrite.h"

namespace mcc {
namespace {

using View = LoweredModel::View;

struct Link {
  ValueId parent = kNone;
  i64 offset_bytes = 0;       // whole: from the parent's start
  std::optional<Shape> from;  // box: where it starts in each dimension of the parent
};

// The pitch without what does not matter: the outermost dimension of more than one row can be as long as it likes.
Shape trimmed(Shape pitch, const Shape& shape) {
  for (size_t d = 0; d < shape.size(); d++) {
    pitch[d] = shape[d];
    if (shape[d] != 1) break;
  }
  return pitch;
}

class Planner {
 public:
  explicit Planner(const Graph& graph)
      : graph_(graph),
        makers_(producers(graph)),
        readers_(consumers(graph)),
        links_(graph.values.size()),
        fixed_(graph.values.size(), 0),
        is_output_(graph.values.size(), 0),
        rigid_(graph.values.size(), 0) {
    for (const ValueId v : graph.inputs) fixed_[at(v)] = 1;
    for (const ValueId v : graph.outputs) fixed_[at(v)] = is_output_[at(v)] = 1;
    for (size_t v = 0; v < graph.values.size(); v++)
      if (graph.values[v].constant) fixed_[v] = 1;
  }

  ViewPlan run() {
    ViewPlan plan;
    for (const Node& node : graph_.nodes) plan.is_view.push_back(make_view(node));
    for (size_t v = 0; v < links_.size(); v++) {
      View view = resolve(static_cast<ValueId>(v));
      if (links_[v].parent == kNone) view = {};
      if (view.pitch == graph_.values[v].type.shape) view.pitch.clear();
      plan.views.push_back(std::move(view));
    }
    return plan;
  }

  // Inputs (node, position) of Concats that cannot be written in place as the others are.
  std::vector<std::pair<size_t, size_t>> obstacles;

 private:
  const Graph& graph_;
  std::vector<int> makers_;
  std::vector<std::vector<int>> readers_;
  std::vector<Link> links_;
  std::vector<char> fixed_;  // inputs, constants and outputs: buffers with a place of their own
  std::vector<char> is_output_;
  std::vector<char> rigid_;

  const TensorType& type(ValueId v) const { return graph_.value(v).type; }
  const Shape& shape(ValueId v) const { return type(v).shape; }

  ValueId root(ValueId v) const {
    while (links_[at(v)].parent != kNone) v = links_[at(v)].parent;
    return v;
  }

  // Where v lies in its root; the pitch is always given.
  View resolve(ValueId v) const {
    const Link& link = links_[at(v)];
    if (link.parent == kNone) return {v, 0, shape(v)};
    View view = resolve(link.parent);
    view.offset_bytes += link.offset_bytes;
    if (!link.from) {
      view.pitch = shape(v);
      return view;
    }
    const Shape strides = row_major_strides(view.pitch);
    for (size_t d = 0; d < strides.size(); d++)
      view.offset_bytes += (*link.from)[d] * strides[d] * size_of(type(v).dtype);
    view.pitch = trimmed(std::move(view.pitch), shape(v));
    return view;
  }

  bool in_one_piece(ValueId v) const { return resolve(v).pitch == shape(v); }

  void link_whole(ValueId v, ValueId parent, i64 offset_bytes) {
    links_[at(v)] = {parent, offset_bytes, std::nullopt};
    make_rigid(parent);
  }
  void link_box(ValueId v, ValueId parent, Shape from) {
    links_[at(v)] = {parent, 0, std::move(from)};
    if (rigid_[at(v)]) make_rigid(parent);
  }
  void make_rigid(ValueId v) {
    for (; v != kNone; v = links_[at(v)].parent) rigid_[at(v)] = 1;
  }

  // The root that v fills completely, byte by byte, and that may be moved; or kNone.
  ValueId movable(ValueId v) const {
    const ValueId base = root(v);
    const bool whole = resolve(v).offset_bytes == 0 && in_one_piece(v) && bytes(type(base)) == bytes(type(v));
    return whole && !fixed_[at(base)] ? base : kNone;
  }

  bool make_view(const Node& node) {
    if (node.op == "Reshape") return reshape(node.in[0], node.out[0]);
    if (node.op == "Slice") return slice(node);
    if (node.op == "Split") return split(node);
    return node.op == "Concat" && concat(node);
  }

  bool reshape(ValueId from, ValueId to) {
    if (!is_output_[at(to)]) {
      if (!in_one_piece(from)) return false;
      link_whole(to, from, 0);
      return true;
    }
    const ValueId base = movable(from);
    if (base == kNone) return false;
    link_whole(base, to, 0);
    return true;
  }

  FuseKind maker_kind(ValueId v) const {
    const OpDef* op = find_op(graph_.nodes[at(makers_[at(v)])].op);
    return op ? op->fuse : FuseKind::opaque;
  }

  // The result of an anchor, or of an elementwise node that ends the kernel of one.
  bool ends_anchor(ValueId v) const {
    if (makers_[at(v)] < 0) return false;
    const std::vector<ValueId>& in = graph_.nodes[at(makers_[at(v)])].in;
    if (maker_kind(v) != FuseKind::elementwise) return maker_kind(v) == FuseKind::anchor;
    return std::any_of(in.begin(), in.end(), [&](ValueId x) {
      return x != kNone && shape(x) == shape(v) && readers_[at(x)].size() == 1 && ends_anchor(x);
    });
  }

  // v is in memory whatever its readers do: no kernel would compute it where it is read.
  bool in_memory(ValueId v) const {
    if (graph_.value(v).constant) return false;
    if (makers_[at(v)] < 0 || is_output_[at(v)] || root(v) != v || ends_anchor(v)) return true;
    return graph_.nodes[at(makers_[at(v)])].op == "Concat" || maker_kind(v) == FuseKind::opaque;
  }

  // Something reads v that wants it in one piece.
  bool is_reshaped(ValueId v) const {
    return std::any_of(readers_[at(v)].begin(), readers_[at(v)].end(),
                       [&](int reader) { return graph_.nodes[at(reader)].op == "Reshape"; });
  }

  // May `part`, a box of v, be read where it lies?
  bool may_be_box_of(ValueId part, ValueId v) const {
    const bool one_piece = trimmed(resolve(v).pitch, shape(part)) == shape(part);
    return one_piece || (in_memory(v) && !is_reshaped(part));
  }

  bool slice(const Node& node) {
    const ValueId from = node.in[0], to = node.out[0];
    const Shape &whole = shape(from), &result = shape(to);
    if (is_output_[at(to)] || elements(result) == 0) return false;
    const std::vector<i64> starts = node.attrs.get_ints("starts"), axes = node.attrs.get_ints("axes", {}),
                           steps = node.attrs.get_ints("steps", {});
    Shape start(whole.size(), 0);
    for (size_t i = 0; i < starts.size(); i++) {
      const auto rank = static_cast<i64>(whole.size());
      const auto axis = at(static_cast<int>(normalize_axis(axes.empty() ? static_cast<i64>(i) : axes[i], rank)));
      if (result[axis] > 1 && !steps.empty() && steps[i] != 1) return false;
      start[axis] = std::clamp<i64>(starts[i] < 0 ? starts[i] + whole[axis] : starts[i], 0, whole[axis] - 1);
    }
    if (!may_be_box_of(to, from)) return false;
    link_box(to, from, std::move(start));
    return true;
  }

  bool split(const Node& node) {
    const ValueId from = node.in[0];
    const auto axis =
        static_cast<size_t>(normalize_axis(node.attrs.get_int("axis", 0), static_cast<i64>(shape(from).size())));
    for (const ValueId v : node.out)
      if (v == kNone || is_output_[at(v)] || !may_be_box_of(v, from)) return false;
    Shape start(shape(from).size(), 0);
    for (const ValueId v : node.out) {
      link_box(v, from, start);
      start[axis] += shape(v)[axis];
    }
    return true;
  }

  // May v be moved to a box of `to`? As it is, or, reshaped, to where it is in one piece.
  bool fits_into(ValueId v, ValueId to) const {
    const ValueId base = movable(v);
    if (base == kNone) return false;
    const bool one_piece = trimmed(shape(to), shape(v)) == shape(v);
    return one_piece || (base == v && !rigid_[at(v)] && !is_reshaped(v));
  }

  // Bytes that a kernel of the Concat would only copy: others cannot be computed where it reads them.
  i64 bytes_to_save(const Node& node) const {
    i64 saved = 0;
    for (const ValueId v : std::set<ValueId>(node.in.begin(), node.in.end()))
      if (fits_into(v, node.out[0]) && in_memory(v)) saved += bytes(type(v));
    return saved;
  }

  bool concat(const Node& node) {
    const ValueId to = node.out[0];
    const auto axis =
        static_cast<size_t>(normalize_axis(node.attrs.get_int("axis"), static_cast<i64>(shape(to).size())));
    const bool outermost = std::all_of(shape(to).begin(), shape(to).begin() + static_cast<std::ptrdiff_t>(axis),
                                       [](i64 extent) { return extent == 1; });
    std::set<ValueId> bases;
    std::vector<size_t> in_the_way;
    for (size_t i = 0; i < node.in.size(); i++)
      if (!fits_into(node.in[i], to) || !bases.insert(movable(node.in[i])).second) in_the_way.push_back(i);
    if (!(outermost && in_the_way.empty()) && bytes_to_save(node) == 0) return false;
    const auto number = static_cast<size_t>(&node - graph_.nodes.data());
    for (const size_t i : in_the_way) obstacles.emplace_back(number, i);
    Shape start(shape(to).size(), 0);
    for (size_t i = 0; i < node.in.size(); i++) {
      if (std::find(in_the_way.begin(), in_the_way.end(), i) == in_the_way.end()) place(node.in[i], to, start);
      start[axis] += shape(node.in[i])[axis];
    }
    return true;
  }

  void place(ValueId v, ValueId to, const Shape& start) {
    const ValueId base = movable(v);
    if (base == v) return link_box(v, to, start);
    const Shape strides = row_major_strides(shape(to));
    i64 offset = 0;
    for (size_t d = 0; d < start.size(); d++) offset += start[d] * strides[d];
    link_whole(base, to, offset * size_of(type(v).dtype));
  }
};

// A copy of v, made by a node behind all there are so far.
ValueId add_copy(Graph& graph, ValueId v) {
  const Value value{graph.value(v).name, graph.value(v).type, nullptr};
  const ValueId copy = graph.add_value(value.name, value.type);
  graph.nodes.push_back({"Identity", value.name, {v}, {copy}, {}});
  return copy;
}

void copy_outputs(Graph& graph) {
  std::vector<char> taken(graph.values.size(), 0);
  for (const ValueId v : graph.inputs) taken[at(v)] = 1;
  for (ValueId& v : graph.outputs) {
    if (taken[at(v)] || graph.value(v).constant)
      v = add_copy(graph, v);
    else
      taken[at(v)] = 1;
  }
}

void copy_obstacles(Graph& graph, const std::vector<std::pair<size_t, size_t>>& obstacles) {
  std::vector<Node> nodes = std::move(graph.nodes);
  graph.nodes.clear();
  auto next = obstacles.begin();
  for (size_t n = 0; n < nodes.size(); n++) {
    for (; next != obstacles.end() && next->first == n; ++next)
      nodes[n].in[next->second] = add_copy(graph, nodes[n].in[next->second]);
    graph.nodes.push_back(std::move(nodes[n]));
  }
}

}  // namespace

ViewPlan plan_views(const Graph& graph) {
  Planner planner(graph);
  ViewPlan plan = planner.run();
  MCC_CHECK(planner.obstacles.empty());
  return plan;
}

Graph own_buffers(Graph graph) {
  copy_outputs(graph);
  Planner planner(graph);
  planner.run();
  copy_obstacles(graph, planner.obstacles);
  return graph;
}

}  // namespace mcc
