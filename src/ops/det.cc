// Det(x[..., n, n]): Gaussian elimination with the largest pivot of each column, for all matrices at once.
//
// A region over the columns k: the largest entry of column k from row k on and the first row that holds it, the matrix
// with that row exchanged, its share of the determinant, and the matrix with column k cleared below.
#include <cmath>

#include "ops/matmul.h"

namespace mcc::ops {

namespace {

using namespace loop;

std::vector<TensorType> infer(const Node&, Types in) {
  const Shape& shape = in[0].shape;
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2]) fail("{} is no square matrix", to_string(shape));
  if (!is_float(in[0].dtype)) fail("takes floating-point numbers, not {}", name(in[0].dtype));
  return {{in[0].dtype, Shape(shape.begin(), shape.end() - 2)}};
}

Func lower(const Node&, Types in, Types out) {
  const Shape &shape = in[0].shape, &batch = out[0].shape;
  const i64 n = shape.back();
  const size_t matrices = batch.size();
  const DType acc = compute_type(in[0].dtype);
  FuncBuilder b("det");
  const int x = b.input("x", in[0].dtype, shape), y = b.output("y", out[0].dtype, batch);
  const int left = b.temp("left", acc, shape), swapped = b.temp("swapped", acc, shape);
  const int largest = b.temp("largest", acc, batch), pivot = b.temp("pivot", DType::i64, batch);
  const int product = b.temp("product", acc, batch);
  const auto entry = [&](int buffer, const Vars& v, const Expr& row, const Expr& column) {
    Vars index(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(matrices));
    index.push_back(row);
    index.push_back(column);
    return b.load(buffer, index);
  };
  const auto matrix = [&](const Vars& v) { return Vars(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(matrices)); };
  const Expr zero = constant(acc, 0), one = constant(acc, 1), none = constant(acc, -1);
  b.block("left0", shape, left, [&](const Vars& v) { return loop::cast(acc, b.load(x, v)); });
  b.block("product0", batch, product, [&](const Vars&) { return constant(acc, 1); });
  b.region("column", n, [&](const Expr& k) {
    const auto size = [&](const Vars& v, const Expr& row) {
      return select(row < k, none, unary(ExprOp::abs, entry(left, v, row, k)));
    };
    b.reduce("largest", batch, {n}, largest, StoreOp::max, none,
             [&](const Vars& s, const Vars& r) { return size(s, r[0]); });
    b.reduce("pivot", batch, {n}, pivot, StoreOp::min, const_int(n - 1), [&](const Vars& s, const Vars& r) {
      return select(binary(ExprOp::eq, size(s, r[0]), b.load(largest, s)), r[0], const_int(n - 1));
    });
    b.block("swapped", shape, swapped, [&](const Vars& v) {
      const Expr& row = v[matrices];
      const Expr with = b.load(pivot, matrix(v));
      const Expr from = select(binary(ExprOp::eq, row, k), with, select(binary(ExprOp::eq, row, with), k, row));
      return entry(left, v, from, v[matrices + 1]);
    });
    b.block("product", batch, product, [&](const Vars& v) {
      const Expr sign = select(binary(ExprOp::eq, b.load(pivot, v), k), one, none);
      return b.load(product, v) * sign * entry(swapped, v, k, k);
    });
    b.block("left", shape, left, [&](const Vars& v) {
      const Expr &row = v[matrices], &column = v[matrices + 1];
      const Expr head = entry(swapped, v, k, k);
      const Expr factor = entry(swapped, v, row, k) / select(binary(ExprOp::eq, head, zero), one, head);
      const Expr value = b.load(swapped, v);
      return select(k < row, value - factor * entry(swapped, v, k, column), value);
    });
  });
  b.block("det", batch, y, [&](const Vars& v) { return loop::cast(out[0].dtype, b.load(product, v)); });
  return b.take();
}

// The sum over all permutations would take n! steps, so this is elimination too, of one matrix.
double determinant(std::vector<double> a, i64 n) {
  double product = 1;
  for (i64 k = 0; k < n; k++) {
    i64 best = k;
    for (i64 row = k; row < n; row++)
      if (std::fabs(a[at(row * n + k)]) > std::fabs(a[at(best * n + k)])) best = row;
    if (a[at(best * n + k)] == 0) return 0;
    if (best != k) product = -product;
    for (i64 column = 0; column < n; column++) std::swap(a[at(k * n + column)], a[at(best * n + column)]);
    product *= a[at(k * n + k)];
    for (i64 row = k + 1; row < n; row++)
      for (i64 column = n; column-- > k;)
        a[at(row * n + column)] -= a[at(row * n + k)] / a[at(k * n + k)] * a[at(k * n + column)];
  }
  return product;
}

void reference(const Node&, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const i64 n = in[0]->type.shape.back();
  for (i64 m = 0; m < out[0].size(); m++) {
    std::vector<double> a;
    for (i64 i = 0; i < n * n; i++) a.push_back(in[0]->get(m * n * n + i));
    out[0].set(m, determinant(std::move(a), n));
  }
}

}  // namespace

OpDef determinant_op() { return {"Det", FuseKind::opaque, 1, 1, infer, lower, reference}; }

}  // namespace mcc::ops
