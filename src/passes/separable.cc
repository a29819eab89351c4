// See separable.h.
#include "passes/separable.h"

#include <algorithm>

namespace mcc {
namespace {

const Shape& shape_of(const Graph& graph, ValueId v) { return graph.value(v).type.shape; }

// A convolution of an image with its channels last, read and written.
bool convolves_rows(const Graph& graph, const Node& node) {
  return node.op == "Conv" && shape_of(graph, node.in[0]).size() == 4 &&
         node.attrs.get_string("layout", "NCHW") == "NHWC" && node.attrs.get_string("out_layout", "NHWC") == "NHWC";
}

bool all_are(const Node& node, std::string_view name, i64 value) {
  const std::vector<i64> list = node.attrs.get_ints(name, {});
  return std::all_of(list.begin(), list.end(), [value](i64 i) { return i == value; });
}

// Measured: with many columns the product hides its traffic behind arithmetic, and small images stay in a cache between
// two kernels.
constexpr i64 kMostColumns = 64;
constexpr i64 kLeastBytes = 512 << 10;

}  // namespace

bool may_be_depthwise(const Graph& graph, const Node& node) {
  if (!convolves_rows(graph, node)) return false;
  const i64 channels = shape_of(graph, node.in[0]).back();
  return channels > 1 && node.in.size() > 2 && node.attrs.get_int("group", 1) == channels &&
         shape_of(graph, node.out[0]).back() == channels;
}

bool may_be_pointwise(const Graph& graph, const Node& node) {
  if (!convolves_rows(graph, node)) return false;
  const TensorType& pixels = graph.value(node.in[0]).type;
  if (elements(pixels.shape) * size_of(pixels.dtype) < kLeastBytes) return false;
  return node.attrs.get_int("group", 1) == 1 && shape_of(graph, node.in[1])[0] <= kMostColumns &&
         elements(shape_of(graph, node.in[1])) == shape_of(graph, node.in[1])[0] * shape_of(graph, node.in[1])[1] &&
         all_are(node, "strides", 1) && all_are(node, "pads", 0);
}

std::vector<char> depthwise_results(const Graph& graph) {
  const std::vector<std::vector<int>> readers = consumers(graph);
  const std::vector<int> makers = producers(graph);
  std::vector<char> is_result(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); n++) {
    const Node& node = graph.nodes[n];
    const OpDef* op = find_op(node.op);
    is_result[n] = may_be_depthwise(graph, node);
    if (!op || op->fuse != FuseKind::elementwise || node.out.size() != 1) continue;
    std::vector<ValueId> computed;
    for (const ValueId v : node.in)
      if (v != kNone && makers[at(v)] >= 0) computed.push_back(v);
    if (computed.size() != 1 || shape_of(graph, computed[0]) != shape_of(graph, node.out[0])) continue;
    const auto from = static_cast<size_t>(computed[0]);
    const bool is_output = std::find(graph.outputs.begin(), graph.outputs.end(), computed[0]) != graph.outputs.end();
    is_result[n] = is_result[at(makers[from])] && readers[from].size() == 1 && !is_output;
  }
  return is_result;
}

bool is_separable(const Graph& graph, const FusedGroup& group) {
  const auto has = [&](bool (*kind)(const Graph&, const Node&)) {
    return std::any_of(group.nodes.begin(), group.nodes.end(), [&](int n) { return kind(graph, graph.nodes[at(n)]); });
  };
  return has(may_be_depthwise) && has(may_be_pointwise);
}

}  // namespace mcc
