// Nodes whose inputs are all constants are evaluated by their reference. A node that would blow a small constant up
// (Expand, Tile) is left to run, so that artifacts do not carry copies of one number; so is one that takes the
// reference long.
#include <cstring>

#include "ops/work.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace mcc {
namespace {

constexpr i64 kAlwaysFoldBytes = 1 << 16;

bool blows_up(const Graph& graph, const Node& node, const Rewriter& rewriter) {
  i64 before = 0, after = 0;
  for (const ValueId v : node.in)
    if (v != kNone) before += bytes(rewriter.type(v));
  for (const ValueId v : node.out)
    if (v != kNone) after += bytes(graph.value(v).type);
  return after > kAlwaysFoldBytes && after > 4 * before;
}

bool takes_long(const Graph& graph, const Node& node, const Rewriter& rewriter) {
  std::vector<TensorType> in, out;
  for (const ValueId v : node.in) in.push_back(v == kNone ? missing_type() : rewriter.type(v));
  for (const ValueId v : node.out)
    out.push_back(v == kNone ? missing_type() : graph.values[static_cast<size_t>(v)].type);
  return work_estimate(node, in, out) > kMaxFoldingWork;
}

bool foldable(const Graph& graph, const Node& node, const Rewriter& rewriter) {
  for (const ValueId v : node.in)
    if (v != kNone && !rewriter.constant(v)) return false;
  const OpDef* op = find_op(node.op);
  return op && op->reference && !blows_up(graph, node, rewriter) && !takes_long(graph, node, rewriter);
}

// Elements of `size` bytes, row by row of the result; a row is a strided walk over the source.
template <size_t size>
void copy_transposed(const Tensor& from, const Perm& perm, Tensor& to) {
  const Shape& shape = to.type.shape;
  const Shape strides = permuted(row_major_strides(from.type.shape), perm);
  const i64 row = shape.back(), step = strides.back() * static_cast<i64>(size);
  std::vector<i64> index(shape.size(), 0);
  std::byte* out = to.bytes();
  for (i64 done = 0; done < to.size(); done += row) {
    i64 start = 0;
    for (size_t d = 0; d + 1 < shape.size(); d++) start += index[d] * strides[d];
    const std::byte* in = from.bytes() + start * static_cast<i64>(size);
    for (i64 i = 0; i < row; i++, in += step, out += size) std::memcpy(out, in, size);
    for (size_t d = shape.size() - 1; d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

Tensor transposed_constant(const Tensor& from, const Perm& perm) {
  Tensor to({from.type.dtype, permuted(from.type.shape, perm)});
  if (to.size() == 0 || perm.empty()) return to.size() == 0 ? to : from;
  switch (size_of(from.type.dtype)) {
    case 1: copy_transposed<1>(from, perm, to); break;
    case 2: copy_transposed<2>(from, perm, to); break;
    case 4: copy_transposed<4>(from, perm, to); break;
    default: copy_transposed<8>(from, perm, to);
  }
  return to;
}

std::vector<Tensor> evaluate_constant(const Graph& graph, const Rewriter& rewriter, const Node& node, const Node& old) {
  if (node.op == "Transpose") return {transposed_constant(*rewriter.constant(node.in[0]), node.attrs.get_ints("perm"))};
  std::vector<const Tensor*> in;
  for (const ValueId v : node.in) in.push_back(rewriter.constant(v));
  return evaluate(node, in, input_types(graph, old));
}

}  // namespace

Graph fold_constants(const Graph& graph) {
  Rewriter rewriter(graph);
  for (const Node& old : graph.nodes) {
    Node node = rewriter.visit(old);
    if (!foldable(graph, node, rewriter)) {
      rewriter.keep(std::move(node));
      continue;
    }
    std::vector<Tensor> out = evaluate_constant(graph, rewriter, node, old);
    for (size_t i = 0; i < out.size(); i++)
      if (node.out[i] != kNone) rewriter.replace(node.out[i], rewriter.add_constant(std::move(out[i])));
  }
  return rewriter.finish();
}

}  // namespace mcc
