// Names of kernels for people: anchors with the numbers that say how large they are, and the other ops, in order.
#include <algorithm>

#include "base/text.h"
#include "passes/join.h"
#include "passes/rewrite.h"

namespace mcc {
namespace {

const Shape& shape_of(const Graph& graph, ValueId v) { return graph.value(v).type.shape; }

// "56x56x64": the shape of an activation without its batch when that is one, channels last whatever its layout.
std::string image(const Node& node, Shape shape) {
  if (node.attrs.get_string("layout", "NCHW") == "NCHW") std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  if (shape[0] == 1) shape.erase(shape.begin());
  return join(shape, "x");
}

bool all_equal(const std::vector<i64>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

// " 3x3 s2 g32 d2", leaving out what is usual.
std::string window(const Node& node) {
  const std::vector<i64> kernel = node.attrs.get_ints("kernel_shape", {}), strides = node.attrs.get_ints("strides", {}),
                         dilations = node.attrs.get_ints("dilations", {});
  std::string text;
  if (!kernel.empty()) text += " " + join(kernel, "x");
  if (!strides.empty()) text += " s" + (all_equal(strides) ? std::to_string(strides[0]) : join(strides, "x"));
  if (!dilations.empty() && !(all_equal(dilations) && dilations[0] == 1))
    text += " d" + (all_equal(dilations) ? std::to_string(dilations[0]) : join(dilations, "x"));
  if (node.attrs.get_int("group", 1) != 1) text += fmt::format(" g{}", node.attrs.get_int("group"));
  return text;
}

std::string size_text(const Graph& graph, const Node& node) {
  const Shape& out =
      shape_of(graph, *std::find_if(node.out.begin(), node.out.end(), [](ValueId v) { return v != kNone; }));
  const Shape in = node.in.empty() || node.in[0] == kNone ? Shape{} : shape_of(graph, node.in[0]);
  if (is_op(node, {"Conv", "ConvTranspose"}) && out.size() >= 3) {
    const bool last = node.attrs.get_string("out_layout", node.attrs.get_string("layout", "NCHW")) == "NHWC";
    return fmt::format("{} -> {}{}", image(node, in), last ? out.back() : out[1], window(node));
  }
  if (node.op.ends_with("Pool") && out.size() >= 3) return image(node, in) + window(node);
  if (node.op == "MatMul" && in.size() >= 2 && out.size() >= 2) {
    const i64 k = node.attrs.get_int("transA", 0) ? in[in.size() - 2] : in.back();
    const Shape batch(out.begin(), out.end() - 2);
    const std::string product = fmt::format("{}x{}x{}", out[out.size() - 2], k, out.back());
    return elements(batch) == 1 ? product : fmt::format("{} of {}", elements(batch), product);
  }
  return to_string(elements(in) > elements(out) ? in : out);
}

}  // namespace

std::string kernel_name(const Graph& graph, const FusedGroup& group) {
  const auto is_anchor = [&](int n) {
    const OpDef* op = find_op(graph.nodes[at(n)].op);
    return op && op->fuse == FuseKind::anchor;
  };
  const auto found = std::find_if(group.nodes.begin(), group.nodes.end(), is_anchor);
  const int main = found == group.nodes.end() ? group.nodes[0] : *found;
  std::string before, after;
  const auto is_product = [&](int n) { return graph.nodes[at(n)].op == "MatMul"; };
  if (std::count_if(group.nodes.begin(), group.nodes.end(), is_product) == 2)
    return "attention " + size_text(graph, graph.nodes[at(main)]);
  for (const int n : group.nodes) {
    const std::string op = lower_case(graph.nodes[at(n)].op);
    if (n < main) before += op + " + ";
    if (n > main) after += " + " + op + (is_anchor(n) ? " " + size_text(graph, graph.nodes[at(n)]) : "");
  }
  const Node& node = graph.nodes[at(main)];
  return before + lower_case(node.op) + " " + size_text(graph, node) + after;
}

}  // namespace mcc
