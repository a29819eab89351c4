// Convolution networks run channels-last inside. Instead of inserting transpositions around each convolution and
// pushing and cancelling them afterwards, one forward walk remembers for each value in which order of dimensions it
// exists (Placed): a convolution makes its output channels-last; operators that can adapt (elementwise, Concat, Pad,
// Reduce, Softmax, Resize, ...) take over the order of their largest input; Transpose only composes two orders; Reshape
// splits and merges dimensions where they lie. Data moves only where an operator needs its own order, so what remains
// is a transposition of the network's input and those in front of Flatten, attention and outputs.
//
// A 1x1 convolution between the graph's own input and outputs stays channels-first: it is a product of weights and
// pixels, with vectors over pixels, and nothing has to be transposed at all.
//
// Graphs without convolutions are left as they are.
#include "passes/lay_out.h"

#include <algorithm>

#include "passes/passes.h"

namespace mcc {

Places::Places(Rewriter& rewriter, const Graph& old)
    : rw(rewriter), placed_(old.values.size()), plain_(old.values.size(), kNone), leads_out_(old.values.size(), true) {
  for (auto node = old.nodes.rbegin(); node != old.nodes.rend(); ++node) {
    const OpDef* op = find_op(node->op);
    const bool passes_on = op && op->fuse == FuseKind::elementwise && node->out[0] != kNone && leads_out(node->out[0]);
    for (const ValueId v : node->in)
      if (v != kNone && !passes_on) leads_out_[at(v)] = false;
  }
}

Placed Places::of(ValueId v) const {
  if (is_moved(v)) return placed_[at(v)];
  const ValueId now = rw.now(v);
  Perm own(static_cast<size_t>(rw.rank(now)));
  for (size_t d = 0; d < own.size(); d++) own[d] = static_cast<i64>(d);
  return {now, own};
}

ValueId Places::plain(ValueId v) {
  if (v == kNone || !is_moved(v)) return rw.now(v);
  ValueId& made = plain_[at(v)];
  const Placed& placed = placed_[at(v)];
  if (made == kNone) made = transpose(rw, placed.u, placed.perm);
  return made;
}

ValueId Places::in_order(ValueId v, const Perm& perm) {
  const Placed placed = of(v);
  if (placed.perm == perm) return placed.u;
  const auto [at, is_new] = ordered_.emplace(std::pair(v, perm), kNone);
  if (is_new) at->second = transpose(rw, placed.u, compose(placed.perm, inverse(perm)));
  return at->second;
}

ValueId Places::aligned(ValueId v, const Perm& perm) {
  if (v == kNone) return v;
  const Shape shape = rw.shape(v);
  if (shape.size() == perm.size()) return in_order(v, perm);
  if (elements(shape) == 1) return plain(v);
  Shape full(perm.size() - shape.size(), 1);
  full.insert(full.end(), shape.begin(), shape.end());
  return transpose(rw, reshape(rw, plain(v), full), inverse(perm));
}

void Places::put(ValueId v, const Placed& placed) {
  if (is_identity(placed.perm))
    rw.replace(v, placed.u);
  else
    placed_[at(v)] = placed;
}

Perm channels_first_of_last(i64 rank) {
  Perm perm{0, rank - 1};
  for (i64 d = 1; d < rank - 1; d++) perm.push_back(d);
  return perm;
}

Graph lay_out(const Graph& graph) {
  const auto is_convolution = [&graph](const Node& node) {
    return is_op(node, {"Conv", "ConvTranspose"}) && graph.value(node.in[0]).type.shape.size() >= 3;
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_convolution)) return graph;

  Rewriter rw(graph);
  Places places(rw, graph);
  for (const Node& old : graph.nodes) {
    Node node = rw.visit(old);
    if (old.out[0] != kNone && lay_out_node(places, old)) continue;
    for (size_t i = 0; i < node.in.size(); i++) node.in[i] = places.plain(old.in[i]);
    rw.keep(std::move(node));
  }
  for (const ValueId v : graph.outputs)
    if (places.is_moved(v) && rw.now(v) == v) rw.replace(v, places.plain(v));
  return rw.finish();
}

}  // namespace mcc
