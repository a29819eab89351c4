// Product references on numbers worked out by hand, and the refusals of shapes and equations that do not fit.
#include <gtest/gtest.h>

#include "ops_instances.h"

namespace mcc::testing {
namespace {

using Doubles = std::vector<double>;

Tensor numbers(Shape shape) {  // 1, 2, 3, ...
  Tensor t({DType::f32, std::move(shape)});
  for (i64 i = 0; i < t.size(); i++) t.set(i, static_cast<double>(i + 1));
  return t;
}

Tensor run(const std::string& op, const std::vector<std::pair<std::string, AttrValue>>& attrs,
           const std::vector<Tensor>& in) {
  OpCase made;
  made.node.op = op;
  made.node.out = {0};
  for (const auto& [name, value] : attrs) made.node.attrs.set(name, value);
  for (const Tensor& tensor : in) made.in_types.push_back(tensor.type);
  made.in = in;
  return evaluate(made.node, made.in_pointers(), made.in_types)[0];
}

TEST(MatMulReference, ByHand) {
  EXPECT_EQ(to_doubles(run("MatMul", {}, {numbers({2, 2}), numbers({2, 2})})), (Doubles{7, 10, 15, 22}));
  EXPECT_EQ(to_doubles(run("MatMul", {{"transA", i64{1}}}, {numbers({2, 2}), numbers({2, 2})})),
            (Doubles{10, 14, 14, 20}));
  EXPECT_EQ(to_doubles(run("MatMul", {{"transB", i64{1}}}, {numbers({2, 2}), numbers({2, 2})})),
            (Doubles{5, 11, 11, 25}));
  EXPECT_EQ(to_doubles(run("MatMul", {}, {numbers({2}), numbers({2})})), (Doubles{5}));
  EXPECT_EQ(to_doubles(run("MatMul", {}, {numbers({2}), numbers({2, 2, 1})})), (Doubles{5, 11}));
}

TEST(MatMulReference, BlockedSumsAreComplete) {
  Tensor ones({DType::f32, {3, 600}}), more({DType::f32, {600, 1100}});
  for (i64 i = 0; i < ones.size(); i++) ones.set(i, 1);
  for (i64 i = 0; i < more.size(); i++) more.set(i, 1);
  Tensor y = run("MatMul", {}, {ones, more});
  EXPECT_EQ(to_doubles(y), Doubles(3 * 1100, 600));
}

TEST(GemmReference, ScalesAndBroadcasts) {
  Tensor y = run("Gemm", {{"alpha", 2.0}, {"beta", 10.0}}, {numbers({2, 2}), numbers({2, 2}), numbers({2})});
  EXPECT_EQ(to_doubles(y), (Doubles{24, 40, 40, 64}));
}

TEST(EinsumReference, ByHand) {
  EXPECT_EQ(to_doubles(run("Einsum", {{"equation", "ij,jk->ik"}}, {numbers({2, 2}), numbers({2, 2})})),
            (Doubles{7, 10, 15, 22}));
  EXPECT_EQ(to_doubles(run("Einsum", {{"equation", "ii"}}, {numbers({2, 2})})), (Doubles{5}));
  EXPECT_EQ(to_doubles(run("Einsum", {{"equation", "ba"}}, {numbers({2, 2})})), (Doubles{1, 3, 2, 4}));
  EXPECT_EQ(run("Einsum", {{"equation", "...ij,...jk"}}, {numbers({2, 1, 3, 4}), numbers({5, 4, 2})}).type.shape,
            (Shape{2, 5, 3, 2}));
}

TEST(MatMulInference, Refusals) {
  EXPECT_THROW(run("MatMul", {}, {numbers({2, 3}), numbers({2, 3})}), Error);
  EXPECT_THROW(run("MatMul", {}, {numbers({}), numbers({2, 3})}), Error);
  EXPECT_THROW(run("Einsum", {{"equation", "ij,jk->il"}}, {numbers({2, 3}), numbers({3, 2})}), Error);
  EXPECT_THROW(run("Einsum", {{"equation", "ij,jk"}}, {numbers({2, 3}), numbers({2, 2})}), Error);
  EXPECT_THROW(run("Einsum", {{"equation", "i?->i"}}, {numbers({2, 3})}), Error);
  EXPECT_THROW(run("Einsum", {{"equation", "ij,jk->ik"}}, {numbers({2, 3})}), Error);
}

}  // namespace
}  // namespace mcc::testing
