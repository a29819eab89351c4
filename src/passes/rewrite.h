// What passes share. A Rewriter builds the changed graph front to back: the pass visits the old nodes in order and for
// each keeps it, or emits other nodes and replaces its outputs. Because the new graph grows in order, a pattern is
// matched from its last node backwards over nodes that have already been rewritten.
//
// Invariants: values keep their ids; a replaced value is never read by a later node; graph outputs keep their names
// and stay separate values (a copy by Identity is made where two outputs, or an output and an input, would become one).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/op_def.h"

namespace mcc {

class Rewriter {
 public:
  explicit Rewriter(const Graph& from);

  ValueId now(ValueId v) const;  // what v has been replaced by; kNone stays
  // Copies: what is emitted moves the values they come from.
  TensorType type(ValueId v) const { return graph_.value(v).type; }
  Shape shape(ValueId v) const { return graph_.value(v).type.shape; }
  i64 rank(ValueId v) const { return std::ssize(graph_.value(v).type.shape); }
  const Tensor* constant(ValueId v) const;                  // its data, or null (also for kNone)
  const Node* maker(ValueId v) const;                       // the new node that makes v, or null
  const Node* maker(ValueId v, std::string_view op) const;  // only if it is that op
  int uses(ValueId v) const { return uses_[at(v)]; }        // reads in the old graph, as an output too

  // Starts the visit of an old node: its inputs as they are now. Nodes emitted from here on carry its name.
  Node visit(const Node& old);
  void keep(Node node);
  ValueId emit(std::string op, std::vector<ValueId> in, Attrs attrs = {});  // one output, of inferred type
  std::vector<ValueId> emit_many(std::string op, std::vector<ValueId> in, Attrs attrs, size_t outputs);
  ValueId add_constant(Tensor tensor);
  ValueId scalar(double value, DType dtype);  // a constant of rank 0
  void replace(ValueId from, ValueId to);

  Graph finish();

 private:
  Graph graph_;
  size_t old_values_;
  std::vector<ValueId> now_;
  std::vector<int> maker_, uses_;
  std::vector<char> renamed_;
  std::string node_name_, value_name_;

  ValueId add_value(TensorType type);
};

// The pass of one rule: rule(rewriter, node, old) says whether it has replaced the node's outputs; else the node stays.
// `node` is the visited node, `old` the same in the old graph. A node whose first output nobody wants stays as it is:
// rules look at that output.
template <typename Rule>
Graph rewrite_each(const Graph& graph, const Rule& rule) {
  Rewriter rw(graph);
  for (const Node& old : graph.nodes) {
    Node node = rw.visit(old);
    if (old.out.empty() || old.out[0] == kNone || !rule(rw, static_cast<const Node&>(node), old))
      rw.keep(std::move(node));
  }
  return rw.finish();
}

std::vector<TensorType> input_types(const Graph& graph, const Node& node);  // missing_type() for kNone
std::optional<double> splat(const Tensor* tensor);  // the value that all its elements have; nothing for null or empty
Attrs attrs(std::initializer_list<std::pair<std::string_view, AttrValue>> items);
bool is_op(const Node& node, std::initializer_list<std::string_view> ops);

// Transposition as a list: out dimension d is in dimension perm[d].
using Perm = std::vector<i64>;
bool is_identity(const Perm& perm);
Perm inverse(const Perm& perm);
Perm compose(const Perm& first, const Perm& then);  // the one transposition equal to `first` and then `then`
Shape permuted(const Shape& shape, const Perm& perm);
// The order of the other dimensions stays: a Reshape does it.
bool moves_only_units(const Shape& shape, const Perm& perm);

}  // namespace mcc
