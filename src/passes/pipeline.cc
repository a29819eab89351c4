// The ordered list of passes, and the wrapper that names, times, checks and can switch off each.
//
// Order: constants and equal nodes first, so that patterns show; recognition before decomposition, so that a composite
// becomes one node before its parts are spread; layout late, when only the ops that will be kernels are left, and
// attention at the end, for the fusion that comes next. What a pass leaves behind (constants to fold, dead nodes) the
// same cleaning passes take away after it.
#include <cstring>

#include "base/deadline.h"
#include "graph/print.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace mcc {
namespace {

constexpr Pass kPasses[] = {
    {"fold_constants", fold_constants},
    {"drop_dead", drop_dead},
    {"simplify_algebra", simplify_algebra},
    {"merge_equal", merge_equal},
    {"recognize", recognize},
    {"fold_batch_norm", fold_batch_norm},
    {"decompose", decompose},
    {"fold_constants", fold_constants},
    {"simplify_algebra", simplify_algebra},
    {"drop_dead", drop_dead},
    {"lay_out", lay_out},
    {"fold_constants", fold_constants},
    {"simplify_algebra", simplify_algebra},
    {"merge_equal", merge_equal},
    {"spell_out_attention", spell_out_attention},
    {"drop_dead", drop_dead},
};

bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.type == b.type &&
         (a.bytes() == b.bytes() || std::memcmp(a.bytes(), b.bytes(), static_cast<size_t>(a.byte_size())) == 0);
}

bool same_attr(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b]<typename T>(const T& value) {
        if constexpr (std::is_same_v<T, Tensor>)
          return same_tensor(value, std::get<T>(b));
        else
          return value == std::get<T>(b);
      },
      a);
}

bool same_node(const Node& a, const Node& b) {
  if (a.op != b.op || a.in != b.in || a.out != b.out || a.attrs.items.size() != b.attrs.items.size()) return false;
  for (size_t i = 0; i < a.attrs.items.size(); i++) {
    const auto &x = a.attrs.items[i], &y = b.attrs.items[i];
    if (x.first != y.first || !same_attr(x.second, y.second)) return false;
  }
  return true;
}

bool same_graph(const Graph& a, const Graph& b) {
  return a.inputs == b.inputs && a.outputs == b.outputs && a.values.size() == b.values.size() &&
         std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), same_node);
}

// The declared types are what inference says; a pass that breaks this has a bug.
void check_types(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const std::vector<TensorType> types = infer_types(node, input_types(graph, node));
    for (size_t i = 0; i < types.size(); i++) {
      if (node.out[i] == kNone) continue;
      const TensorType& declared = graph.value(node.out[i]).type;
      if (declared != types[i])
        fail("{}: output {} is declared {} but has the type {}", describe(node), i, to_string(declared),
             to_string(types[i]));
    }
  }
}

void check(const Graph& graph, std::string_view pass) {
  try {
    verify(graph);
    check_types(graph);
  } catch (const Error& error) {
    throw InternalError(fmt::format("after the pass {}: {}", pass, error.what()));
  }
}

}  // namespace

std::span<const Pass> graph_passes() { return kPasses; }

Graph run_passes(const Graph& graph, const PassOptions& options) {
  verify(graph);
  check_types(graph);
  Graph now = graph;
  for (const Pass& pass : kPasses) {
    if (options.disabled.contains(pass.name)) continue;
    const Deadline start(0);
    Graph next = pass.run(now);
    const double seconds = start.elapsed();
    check(next, pass.name);
    const bool changed = !same_graph(now, next);
    now = std::move(next);
    if (changed && options.changed) options.changed(pass.name, now, seconds);
  }
  return now;
}

}  // namespace mcc
