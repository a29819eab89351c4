// Common subexpressions: nodes of the same op, inputs and attributes become one, as do constants of the same type and
// bytes. One forward walk with a table from a node's description to the first node that had it.
#include <cstring>
#include <unordered_map>

#include "base/hash.h"
#include "base/text.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace mcc {
namespace {

std::string_view data(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes()), static_cast<size_t>(tensor.byte_size())};
}

std::string attr_key(const AttrValue& value) {
  return std::visit(
      []<typename T>(const T& v) -> std::string {
        if constexpr (std::is_same_v<T, Tensor>)
          return to_string(v.type) + hash_hex(data(v));
        else if constexpr (std::is_same_v<T, std::string>)
          return v;
        else if constexpr (std::is_same_v<T, i64> || std::is_same_v<T, double>)
          return fmt::format("{}", v);
        else
          return join(v, ",");
      },
      value);
}

std::string node_key(const Node& node) {
  std::string key = node.op + "(" + join(node.in, ",") + ")";
  for (const auto& [name, value] : node.attrs.items)
    key += fmt::format(";{}#{}={}", name, value.index(), attr_key(value));
  for (const ValueId v : node.out) key += v == kNone ? '_' : 'o';
  return key;
}

void merge_constants(const Graph& graph, Rewriter& rewriter) {
  std::unordered_map<u64, std::vector<ValueId>> seen;
  for (size_t v = 0; v < graph.values.size(); v++) {
    const Tensor* tensor = graph.values[v].constant.get();
    if (!tensor) continue;
    const auto id = static_cast<ValueId>(v);
    std::vector<ValueId>& alike = seen[hash64(data(*tensor), hash64(to_string(tensor->type)))];
    bool merged = false;
    for (const ValueId other : alike) {
      const Tensor& first = *graph.value(other).constant;
      if (first.type != tensor->type || data(first) != data(*tensor)) continue;
      rewriter.replace(id, other);
      merged = true;
      break;
    }
    if (!merged) alike.push_back(id);
  }
}

}  // namespace

Graph merge_equal(const Graph& graph) {
  Rewriter rewriter(graph);
  merge_constants(graph, rewriter);
  std::unordered_map<std::string, std::vector<ValueId>> seen;
  for (const Node& old : graph.nodes) {
    Node node = rewriter.visit(old);
    const auto [at, is_new] = seen.emplace(node_key(node), node.out);
    if (is_new) {
      rewriter.keep(std::move(node));
      continue;
    }
    for (size_t i = 0; i < node.out.size(); i++)
      if (node.out[i] != kNone) rewriter.replace(node.out[i], at->second[i]);
  }
  return rewriter.finish();
}

}  // namespace mcc
