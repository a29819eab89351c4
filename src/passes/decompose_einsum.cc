// Labels of a two-operand equation fall into classes by where they occur: batch (both operands and the output), rows
// (first and output), columns (second and output), summed (both, not the output), and lone (one operand only: summed
// away first). Each operand is transposed to batch, rows or columns, summed; each class is merged to one dimension; one
// MatMul; and back.
#include "passes/decompose_einsum.h"

#include <algorithm>

#include "ops/matmul.h"
#include "passes/simplify.h"

namespace mcc {
namespace {

bool contains(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

bool has_repeats(std::string labels) {
  std::sort(labels.begin(), labels.end());
  return std::adjacent_find(labels.begin(), labels.end()) != labels.end();
}

// x, whose dimensions are `have`, transposed to `want` (the same labels in another order).
ValueId arranged(Rewriter& rw, ValueId x, const std::string& have, const std::string& want) {
  Perm perm;
  for (const char label : want) perm.push_back(static_cast<i64>(have.find(label)));
  return transpose(rw, x, perm);
}

// Sums labels that occur nowhere else; takes them out of `labels`.
ValueId without_lone(Rewriter& rw, ValueId x, std::string& labels, const std::string& elsewhere) {
  std::vector<i64> axes;
  std::string left;
  for (size_t d = 0; d < labels.size(); d++) {
    if (contains(elsewhere, labels[d]))
      left += labels[d];
    else
      axes.push_back(static_cast<i64>(d));
  }
  labels = left;
  return axes.empty() ? x : rw.emit("ReduceSum", {x}, attrs({{"axes", axes}, {"keepdims", i64{0}}}));
}

ValueId product(Rewriter& rw, const Node& node, ops::Einsum& e) {
  std::string &a = e.in[0], &b = e.in[1];
  const ValueId x = without_lone(rw, node.in[0], a, b + e.out), y = without_lone(rw, node.in[1], b, a + e.out);
  std::string batch, rows, columns, summed;
  for (const char label : e.out) (contains(a, label) ? (contains(b, label) ? batch : rows) : columns) += label;
  for (const char label : a)
    if (!contains(e.out, label)) summed += label;

  const auto merged = [&e](const std::string& labels) { return elements(e.extents_of(labels)); };
  const auto with = [&](i64 m, i64 n) {
    Shape shape = e.extents_of(batch);
    shape.push_back(m);
    shape.push_back(n);
    return shape;
  };
  const ValueId left = reshape(rw, arranged(rw, x, a, batch + rows + summed), with(merged(rows), merged(summed)));
  const ValueId right =
      reshape(rw, arranged(rw, y, b, batch + summed + columns), with(merged(summed), merged(columns)));
  const ValueId sums = rw.emit("MatMul", {left, right});
  const std::string made = batch + rows + columns;
  return arranged(rw, reshape(rw, sums, e.extents_of(made)), made, e.out);
}

}  // namespace

ValueId decompose_einsum(Rewriter& rw, const Node& node) {
  std::vector<TensorType> types;
  for (const ValueId v : node.in) types.push_back(rw.type(v));
  ops::Einsum e = ops::parse_einsum(node.attrs.get_string("equation", ""), types);
  if (has_repeats(e.out) || e.in.size() > 2) return kNone;
  for (size_t i = 0; i < e.in.size(); i++)
    if (has_repeats(e.in[i]) || e.extents_of(e.in[i]) != types[i].shape) return kNone;
  for (const char label : e.out)
    if (!contains(e.in[0], label) && (e.in.size() < 2 || !contains(e.in[1], label))) return kNone;
  if (e.in.size() == 1) {
    std::string labels = e.in[0];
    const ValueId x = without_lone(rw, node.in[0], labels, e.out);
    return arranged(rw, x, labels, e.out);
  }
  const bool sums = std::any_of(e.in[0].begin(), e.in[0].end(),
                                [&e](char label) { return contains(e.in[1], label) && !contains(e.out, label); });
  return sums ? product(rw, node, e) : kNone;
}

}  // namespace mcc
