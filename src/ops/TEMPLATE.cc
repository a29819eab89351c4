// How to add an operator. Copy this file's three functions into the family the operator belongs to and change them; the
// operator here, ScaledSum, is y[...] = scale * sum of x[..., r] over the last axis, and is in no table.
//
// 1. infer: output types, or fail("...") with what is wrong with this node. The caller puts the node's name before it.
// 2. lower: a loop program in algorithm form (loop/loop.h). Keep natural ranks, one block per idea, plain loop
//    variables as store indices; compute f16 and bf16 in compute_type(). Null when a pass removes the operator first.
// 3. reference: the definition again, plain and slow, from the ONNX document, without a look at lower.
// 4. a row in the family's table; how it fuses is the second field (FuseKind in op_def.h).
// 5. a few lines in tests/instances/<family>.h: shapes, attributes, types, edge cases. The tests do the rest.
//
// An elementwise operator is less: one row in unary.cc or binary.cc. So is one that only moves elements:
// movement_rows.cc.
#include "ops/lib.h"

namespace mcc::ops {

namespace {

std::vector<TensorType> infer_scaled_sum(const Node&, Types in) {
  if (rank(in[0]) == 0) fail("a scalar has no last axis");
  if (!is_float(in[0].dtype)) fail("takes floating-point numbers, not {}", name(in[0].dtype));
  return {{in[0].dtype, Shape(in[0].shape.begin(), in[0].shape.end() - 1)}};
}

loop::Func lower_scaled_sum(const Node& node, Types in, Types out) {
  DType dtype = in[0].dtype, sum_type = compute_type(dtype);
  FuncBuilder b("scaledsum");
  int x = b.input("x", dtype, in[0].shape), y = b.output("y", dtype, out[0].shape);
  int sum = b.temp("sum", sum_type, out[0].shape);
  b.reduce("sum", out[0].shape, {in[0].shape.back()}, sum, loop::StoreOp::add, loop::constant(sum_type, 0),
           [&](const Vars& s, const Vars& r) {
             Vars index = s;
             index.push_back(r[0]);
             return loop::cast(sum_type, b.load(x, index));
           });
  b.block("scale", out[0].shape, y, [&](const Vars& v) {
    return loop::cast(dtype, b.load(sum, v) * loop::constant(sum_type, node.attrs.get_float("scale", 1)));
  });
  return b.take();
}

void scaled_sum(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  i64 n = in[0]->type.shape.back();
  for (i64 i = 0; i < out[0].size(); i++) {
    double sum = 0;
    for (i64 r = 0; r < n; r++) sum += in[0]->get(i * n + r);
    out[0].set(i, node.attrs.get_float("scale", 1) * sum);
  }
}

constexpr OpDef kOps[] = {
    {"ScaledSum", FuseKind::anchor, 1, 1, infer_scaled_sum, lower_scaled_sum, scaled_sum},
};

}  // namespace

std::span<const OpDef> template_ops() { return kOps; }

}  // namespace mcc::ops
