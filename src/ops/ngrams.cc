// CountNgrams(x[b, n] of i32 or i64, grams[g, k] of the same type) with skips: y[b, g] of f32 is how often the k-gram
// occurs in row b. Its elements may lie 1, 2, ... skips + 1 apart, all at the same distance. TfIdfVectorizer is made of
// these counts.
#include "ops/reduce.h"

namespace mcc::ops {

namespace {

using namespace loop;

i64 skips_of(const Node& node) { return node.attrs.get_int("skips", 0); }

std::vector<TensorType> infer(const Node& node, Types in) {
  require_rank(in[0], 2, "the input");
  require_rank(in[1], 2, "the list of n-grams");
  require_same_dtype(in[0], in[1]);
  if (!is_int(in[0].dtype)) fail("takes integers, not {}", name(in[0].dtype));
  if (in[1].shape[1] < 1) fail("an n-gram of no elements");
  if (skips_of(node) < 0) fail("skips {} is negative", skips_of(node));
  return {{DType::f32, {in[0].shape[0], in[1].shape[0]}}};
}

Func lower(const Node& node, Types in, Types out) {
  const i64 n = in[0].shape[1], k = in[1].shape[1];
  FuncBuilder b("countngrams");
  const int x = b.input("x", in[0].dtype, in[0].shape), grams = b.input("grams", in[1].dtype, in[1].shape);
  const int y = b.output("y", DType::f32, out[0].shape);
  b.reduce("count", out[0].shape, {skips_of(node) + 1, n}, y, StoreOp::add, const_float(0),
           [&](const Vars& s, const Vars& r) {
             const Expr distance = r[0] + 1;
             Expr same = r[1] + distance * (k - 1) < const_int(n);
             for (i64 i = 0; i < k; i++)
               same = same &&
                      binary(ExprOp::eq, b.load(x, {s[0], r[1] + distance * i}), b.load(grams, {s[1], const_int(i)}));
             return select(same, const_float(1), const_float(0));
           });
  return b.take();
}

void reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor &x = *in[0], &grams = *in[1];
  const i64 n = x.type.shape[1], k = grams.type.shape[1];
  for_each_index(out[0].type.shape, [&](const Index& v, i64 flat) {
    i64 count = 0;
    for (i64 distance = 1; distance <= skips_of(node) + 1; distance++)
      for (i64 first = 0; first + distance * (k - 1) < n; first++) {
        i64 same = 0;
        for (i64 i = 0; i < k; i++) same += x.get_int(v[0] * n + first + i * distance) == grams.get_int(v[1] * k + i);
        count += same == k;
      }
    out[0].set(flat, static_cast<double>(count));
  });
}

}  // namespace

OpDef count_ngrams_op() { return {"CountNgrams", FuseKind::opaque, 2, 2, infer, lower, reference}; }

}  // namespace mcc::ops
