// Composites -> simpler ops, so that fewer kernels have to be good:
//   Gemm                 MatMul (+ Mul by alpha) (+ Mul by beta) + Add
//   MatMul               a constant operand is stored as the product reads it
//   Einsum               of two operands: Transpose, Reshape, MatMul, back; of one: Transpose and ReduceSum
//                        (decompose_einsum.cc)
//   ConvTranspose        with strides: one convolution, results dealt out (decompose_transposed_conv.cc)
//   GroupNormalization   statistics over a Reshape that splits the channels, then Mul and Add; so it runs in any layout
//   Sum, Mean, Max, Min, Concat   of very many inputs: a tree
#include <algorithm>

#include "passes/decompose_einsum.h"
#include "passes/decompose_transposed_conv.h"
#include "passes/passes.h"
#include "passes/simplify.h"

namespace mcc {
namespace {

constexpr size_t kMaxTerms = 8;

ValueId times(Rewriter& rw, ValueId x, double factor) {
  return factor == 1 ? x : rw.emit("Mul", {x, rw.scalar(factor, rw.type(x).dtype)});
}

// A constant side of a product as rows by columns, so that no flag is needed.
ValueId untransposed(Rewriter& rw, ValueId side, bool swapped, Attrs& product, std::string_view flag) {
  product.erase(flag);
  if (!swapped) return side;
  if (!rw.constant(side)) {
    product.set(flag, i64{1});
    return side;
  }
  Perm perm(static_cast<size_t>(rw.rank(side)));
  for (size_t d = 0; d < perm.size(); d++) perm[d] = static_cast<i64>(d);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return rw.emit("Transpose", {side}, attrs({{"perm", perm}}));
}

ValueId product(Rewriter& rw, ValueId a, ValueId b, bool swap_a, bool swap_b) {
  Attrs product_attrs;
  const ValueId left = untransposed(rw, a, swap_a, product_attrs, "transA");
  const ValueId right = untransposed(rw, b, swap_b, product_attrs, "transB");
  return rw.emit("MatMul", {left, right}, product_attrs);
}

ValueId gemm(Rewriter& rw, const Node& node) {
  const double alpha = node.attrs.get_float("alpha", 1);
  const bool on_weights = rw.constant(node.in[1]) != nullptr;  // there the factor folds
  const ValueId b = on_weights ? times(rw, node.in[1], alpha) : node.in[1];
  ValueId result =
      product(rw, node.in[0], b, node.attrs.get_int("transA", 0) != 0, node.attrs.get_int("transB", 0) != 0);
  if (!on_weights) result = times(rw, result, alpha);
  if (node.in.size() < 3 || node.in[2] == kNone) return result;
  return rw.emit("Add", {result, times(rw, node.in[2], node.attrs.get_float("beta", 1))});
}

bool has_constant_flag(Rewriter& rw, const Node& node) {
  return (node.attrs.get_int("transA", 0) != 0 && rw.constant(node.in[0])) ||
         (node.attrs.get_int("transB", 0) != 0 && rw.constant(node.in[1]));
}

// One value for each channel or group as [n, 1, 1, ...], to be applied at axis 1 of `rank` dimensions.
ValueId along_axis_1(Rewriter& rw, ValueId v, i64 rank) {
  Shape shape(static_cast<size_t>(rank) - 1, 1);
  shape[0] = rw.shape(v)[0];
  return reshape(rw, v, shape);
}

ValueId group_norm(Rewriter& rw, const Node& node) {
  const ValueId x = node.in[0];
  const Shape shape = rw.shape(x);
  const i64 groups = node.attrs.get_int("num_groups");
  Shape split = shape;
  split[1] = groups;
  split.insert(split.begin() + 2, shape[1] / groups);
  std::vector<i64> axes;
  for (size_t d = 2; d < split.size(); d++) axes.push_back(static_cast<i64>(d));
  const Attrs over_group = attrs({{"axes", axes}, {"keepdims", i64{1}}});

  const ValueId parts = reshape(rw, x, split);
  const ValueId distance = rw.emit("Sub", {parts, rw.emit("ReduceMean", {parts}, over_group)});
  const ValueId variance = rw.emit("ReduceMean", {rw.emit("Mul", {distance, distance})}, over_group);
  const ValueId epsilon = rw.scalar(node.attrs.get_float("epsilon", 1e-5), rw.type(x).dtype);
  const ValueId root = rw.emit("Sqrt", {rw.emit("Add", {variance, epsilon})});
  ValueId result = rw.emit("Mul", {distance, rw.emit("Reciprocal", {root})});

  const bool by_group = rw.shape(node.in[1])[0] == groups && groups != shape[1];  // the older form of the op
  if (!by_group) result = reshape(rw, result, shape);
  const ValueId scale = along_axis_1(rw, node.in[1], rw.rank(result)),
                bias = along_axis_1(rw, node.in[2], rw.rank(result));
  result = rw.emit("Add", {rw.emit("Mul", {result, scale}), bias});
  return reshape(rw, result, shape);
}

// Level by level, so that no expression is deep.
ValueId tree(Rewriter& rw, const std::string& op, std::vector<ValueId> terms, size_t width = kMaxTerms,
             const Attrs& attrs = {}) {
  while (terms.size() > 1) {
    std::vector<ValueId> next;
    for (size_t i = 0; i < terms.size(); i += width) {
      const std::vector<ValueId> some(terms.begin() + static_cast<i64>(i),
                                      terms.begin() + static_cast<i64>(std::min(i + width, terms.size())));
      next.push_back(some.size() == 1 ? some[0] : rw.emit(op, some, attrs));
    }
    terms = std::move(next);
  }
  return terms[0];
}

// What the node's only output becomes, or kNone.
ValueId decomposed(Rewriter& rw, const Node& node) {
  if (node.op == "Gemm") return gemm(rw, node);
  if (node.op == "MatMul" && has_constant_flag(rw, node))
    return product(rw, node.in[0], node.in[1], node.attrs.get_int("transA", 0) != 0,
                   node.attrs.get_int("transB", 0) != 0);
  if (node.op == "Einsum") return decompose_einsum(rw, node);
  if (node.op == "ConvTranspose") return decompose_transposed_conv(rw, node);
  if (node.op == "GroupNormalization") return group_norm(rw, node);
  if (node.in.size() <= kMaxTerms) return kNone;
  if (node.op == "Concat" && node.in.size() > kMaxJoined) return tree(rw, node.op, node.in, kMaxJoined, node.attrs);
  if (is_op(node, {"Sum", "Max", "Min"})) return tree(rw, node.op, node.in);
  if (node.op == "Mean") return times(rw, tree(rw, "Sum", node.in), 1.0 / static_cast<double>(node.in.size()));
  return kNone;
}

}  // namespace

Graph decompose(const Graph& graph) {
  return rewrite_each(graph, [](Rewriter& rw, const Node& node, const Node&) {
    const ValueId result = decomposed(rw, node);
    if (result != kNone) rw.replace(node.out[0], result);
    return result != kNone;
  });
}

}  // namespace mcc
