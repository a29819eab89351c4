// Matrix products: MatMul with numpy's broadcasting and optional transposition of either side, ONNX's Gemm, and Einsum.
#include "ops/matmul.h"

namespace mcc::ops {
namespace {

std::vector<TensorType> infer_matmul(const Node& node, Types in) {
  require_same_dtype(in[0], in[1]);
  return {{in[0].dtype, product_of(node, in[0].shape, in[1].shape).out()}};
}

std::vector<TensorType> infer_gemm(const Node& node, Types in) {
  require_rank(in[0], 2, "A");
  require_rank(in[1], 2, "B");
  TensorType y = infer_matmul(node, in)[0];
  if (present(in, 2) && broadcast(in[2].shape, y.shape) != y.shape)
    fail("C {} does not broadcast to {}", to_string(in[2].shape), to_string(y.shape));
  return {y};
}

std::vector<TensorType> infer_einsum(const Node& node, Types in) {
  for (const TensorType& type : in) require_same_dtype(in[0], type);
  Einsum e = parse_einsum(node.attrs.get_string("equation", ""), in);
  return {{in[0].dtype, e.extents_of(e.out)}};
}

const OpDef kOps[] = {
    determinant_op(),
    {"Einsum", FuseKind::anchor, 1, -1, infer_einsum, lower_einsum, einsum_reference},
    {"Gemm", FuseKind::anchor, 2, 3, infer_gemm, nullptr, gemm_reference},
    {"MatMul", FuseKind::anchor, 2, 2, infer_matmul, lower_matmul, matmul_reference},
};

// Rows and columns of one side; a vector lies along the reduction.
struct Side {
  i64 outer = 1, inner = 1;  // the last two dimensions
  Shape batch;
};

Side side_of(const Shape& shape, bool vector_is_row, bool swapped) {
  Side side;
  if (shape.empty()) fail("a scalar has no matrix product");
  if (shape.size() == 1) {
    (vector_is_row ? side.inner : side.outer) = shape[0];
    return side;
  }
  side.batch.assign(shape.begin(), shape.end() - 2);
  side.outer = shape[shape.size() - 2];
  side.inner = shape.back();
  if (swapped) std::swap(side.outer, side.inner);
  return side;
}

}  // namespace

Shape Product::out() const {
  Shape shape = batch;
  if (has_m) shape.push_back(m);
  if (has_n) shape.push_back(n);
  return shape;
}

Product product_of(const Node& node, const Shape& a, const Shape& b) {
  Product p;
  p.has_m = a.size() > 1;
  p.has_n = b.size() > 1;
  p.trans_a = p.has_m && node.attrs.get_int("transA", 0) != 0;
  p.trans_b = p.has_n && node.attrs.get_int("transB", 0) != 0;
  Side left = side_of(a, true, p.trans_a), right = side_of(b, false, p.trans_b);
  if (left.inner != right.outer)
    fail("{} times {} does not fit: {} and {}", to_string(a), to_string(b), left.inner, right.outer);
  p.batch = broadcast(left.batch, right.batch);
  p.m = left.outer;
  p.n = right.inner;
  p.k = left.inner;
  return p;
}

}  // namespace mcc::ops

std::span<const mcc::OpDef> mcc::matmul_ops() { return ops::kOps; }
