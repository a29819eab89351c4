// The table of ONNX operators: a row says what imports it and which attributes are understood. Rows of a family are in
// its own file compat_*.cc; what differs between opset versions ends in the row's handler.
#include <algorithm>

#include "frontend/importer.h"

namespace mcc::frontend {
namespace {

using Family = std::span<const OnnxOp> (*)();
constexpr Family kFamilies[] = {
    elementwise_imports, shape_imports,     move_imports,        gather_imports,   reduce_imports,  conv_imports,
    normalize_imports,   recurrent_imports, resize_imports,      quantize_imports, sample_imports,  select_imports,
    sequence_imports,    signal_imports,    random_imports,      fused_imports,    qlinear_imports, attention_imports,
    embed_imports,       rotary_imports,    group_query_imports, tree_imports,     ml_imports};

std::unordered_map<std::string_view, const OnnxOp*> collect() {
  std::unordered_map<std::string_view, const OnnxOp*> all;
  for (const Family family : kFamilies)
    for (const OnnxOp& op : family()) all.emplace(op.name, &op);
  return all;
}

const std::unordered_map<std::string_view, const OnnxOp*>& table() {
  static const std::unordered_map<std::string_view, const OnnxOp*> all = collect();
  return all;
}

}  // namespace

std::vector<const OnnxOp*> all_onnx_ops() {
  std::vector<const OnnxOp*> all;
  for (const auto& [name, op] : table()) all.push_back(op);
  std::sort(all.begin(), all.end(), [](const OnnxOp* a, const OnnxOp* b) { return a->name < b->name; });
  return all;
}

// Rows of other domains are named "domain.Op".
const OnnxOp* find_onnx_op(std::string_view domain, std::string_view name) {
  const std::string full = domain.empty() ? std::string(name) : fmt::format("{}.{}", domain, name);
  if (domain.empty() && full.find('.') != std::string::npos) return nullptr;
  const auto found = table().find(full);
  return found == table().end() ? nullptr : found->second;
}

ValueId import_as(const OnnxCall& call, std::string_view op, std::vector<ValueId> in, Attrs attrs, i64 opset) {
  const auto row = table().find(std::string(op));
  MCC_CHECK(row != table().end());
  OnnxCall inner{call.builder, std::string(op), call.name, opset, std::move(in), {true}, std::move(attrs)};
  return row->second->import(inner).at(0);
}

}  // namespace mcc::frontend
