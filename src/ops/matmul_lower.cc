// MatMul as a loop program: one perfect nest "matmul" over batch..., m, n that reduces over k. A batch dimension that
// an operand lacks or has only once does not occur in its index, so that batch and m can be merged where B is shared.
#include "ops/matmul.h"

namespace mcc::ops {

namespace {

// Index of one side at the batch position and its two matrix coordinates (in logical order).
Vars side_index(const Shape& shape, const Vars& batch, const Expr& outer, const Expr& inner, bool swapped) {
  Shape own_batch(shape.begin(), shape.end() - 2);
  Vars index = broadcast_index(own_batch, batch);
  index.push_back(swapped ? inner : outer);
  index.push_back(swapped ? outer : inner);
  return index;
}

std::vector<std::string> axes_of(const Product& p) {
  std::vector<std::string> names;
  for (size_t d = 0; d < p.batch.size(); d++) names.push_back("b" + std::to_string(d));
  if (p.has_m) names.emplace_back("m");
  if (p.has_n) names.emplace_back("n");
  names.emplace_back("k");
  return names;
}

}  // namespace

loop::Func lower_matmul(const Node& node, Types in, Types out) {
  Product p = product_of(node, in[0].shape, in[1].shape);
  DType dtype = in[0].dtype, acc = compute_type(dtype);
  FuncBuilder b(node.op);
  int x = b.input("x", dtype, in[0].shape), w = b.input("w", dtype, in[1].shape);
  int y = b.output("y", dtype, out[0].shape);
  int sums = acc == dtype ? y : b.temp("sums", acc, out[0].shape);
  b.axes(axes_of(p));
  b.reduce("matmul", out[0].shape, {p.k}, sums, loop::StoreOp::add, loop::constant(acc, 0),
           [&](const Vars& s, const Vars& r) {
             Vars batch(s.begin(), s.begin() + static_cast<i64>(p.batch.size()));
             const Expr& k = r[0];
             Vars left{k}, right{k};
             if (p.has_m) left = side_index(in[0].shape, batch, s[batch.size()], k, p.trans_a);
             if (p.has_n) right = side_index(in[1].shape, batch, k, s.back(), p.trans_b);
             return loop::cast(acc, b.load(x, left)) * loop::cast(acc, b.load(w, right));
           });
  if (sums != y) b.block("cast", out[0].shape, y, [&](const Vars& v) { return loop::cast(dtype, b.load(sums, v)); });
  return b.take();
}

}  // namespace mcc::ops
