// What loop programs compute: the corners of the arithmetic of loop.h, builders, packed constants, bounds checks.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "loop/scalar.h"

namespace mcc::loop {
namespace {

i64 ints(ExprOp op, DType dtype, i64 a, i64 b) { return evaluate(op, dtype, {a, 0}, {b, 0}).i; }

TEST(LoopArithmetic, IntegersWrapAndNeverTrap) {
  const i64 least = std::numeric_limits<i64>::min();
  EXPECT_EQ(ints(ExprOp::add, DType::i8, 127, 1), -128);
  EXPECT_EQ(ints(ExprOp::mul, DType::u8, 16, 17), 16);
  EXPECT_EQ(ints(ExprOp::div, DType::i64, least, -1), least);
  EXPECT_EQ(ints(ExprOp::div, DType::i32, 7, 0), 0);
  EXPECT_EQ(ints(ExprOp::mod, DType::i32, 7, 0), 7);
  EXPECT_EQ(ints(ExprOp::div, DType::i64, -7, 2), -3);
  EXPECT_EQ(ints(ExprOp::mod, DType::i64, -7, 2), -1);
  EXPECT_EQ(ints(ExprOp::floordiv, DType::i64, -7, 2), -4);
  EXPECT_EQ(ints(ExprOp::floormod, DType::i64, -7, 2), 1);
  EXPECT_EQ(ints(ExprOp::floormod, DType::i64, 7, -2), -1);
  EXPECT_EQ(ints(ExprOp::lt, DType::u64, -1, 1), 0);
  EXPECT_EQ(ints(ExprOp::div, DType::u64, -1, 2), std::numeric_limits<i64>::max());
  EXPECT_EQ(ints(ExprOp::shl, DType::u8, 3, 7), 128);
  EXPECT_EQ(ints(ExprOp::shl, DType::i32, 3, 32), 0);
  EXPECT_EQ(ints(ExprOp::shr, DType::i32, -8, 1), -4);
  EXPECT_EQ(ints(ExprOp::pow, DType::i32, 3, 4), 81);
}

TEST(LoopArithmetic, CastsSaturateAndNanGivesZero) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(convert(DType::f32, DType::i8, {0, 300}).i, 127);
  EXPECT_EQ(convert(DType::f32, DType::u8, {0, -3}).i, 0);
  EXPECT_EQ(convert(DType::f32, DType::i64, {0, 1e30}).i, std::numeric_limits<i64>::max());
  EXPECT_EQ(convert(DType::f32, DType::i32, {0, nan}).i, 0);
  EXPECT_EQ(convert(DType::f32, DType::boolean, {0, nan}).i, 1);
  EXPECT_EQ(convert(DType::i32, DType::i8, {300, 0}).i, 44);
  EXPECT_EQ(convert(DType::u64, DType::f64, {-1, 0}).f, 0x1p64);
}

TEST(LoopArithmetic, FloatsRoundToTheirTypeAndKeepNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(evaluate(ExprOp::add, DType::f16, {0, 2048}, {0, 1}).f, 2048);
  EXPECT_EQ(evaluate(ExprOp::add, DType::f32, {0, 16777216}, {0, 1}).f, 16777216);
  EXPECT_TRUE(std::isnan(evaluate(ExprOp::min, DType::f32, {0, 1}, {0, nan}).f));
  EXPECT_TRUE(std::isnan(evaluate(ExprOp::max, DType::f32, {0, nan}, {0, 1}).f));
  EXPECT_EQ(evaluate(ExprOp::ne, DType::f32, {0, nan}, {0, nan}).i, 1);
  EXPECT_EQ(evaluate(ExprOp::le, DType::f32, {0, nan}, {0, nan}).i, 0);
}

TEST(LoopBuild, FoldsWhatIsKnown) {
  EXPECT_EQ(const_int(2) + 3, const_int(5));
  EXPECT_EQ(const_int(3) * var(0), var(0) * 3);
  EXPECT_EQ(var(0) * 0, const_int(0));
  EXPECT_NE(cast(DType::f32, var(0)) + const_float(0), cast(DType::f32, var(0)));  // -0.0 + 0.0 is 0.0
  EXPECT_EQ(identity(StoreOp::max, DType::f32).f, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(identity(StoreOp::min, DType::u64).i, -1);
}

TEST(LoopInterp, MatrixProductWithBuilder) {
  FuncBuilder b("matmul");
  const int x = b.input("x", DType::f32, {2, 3}), w = b.input("w", DType::f32, {3, 2}),
            y = b.output("y", DType::f32, {2, 2});
  b.axes({"m", "n", "k"})
      .reduce("matmul", {2, 2}, {3}, y, StoreOp::add, const_float(0),
              [&](const Vars& s, const Vars& r) { return b.load(x, {s[0], r[0]}) * b.load(w, {r[0], s[1]}); });
  const Func func = b.take();
  EXPECT_EQ(verify(func), "");
  EXPECT_EQ(flops(func), 2 * 2 * 2 * 3);
  EXPECT_EQ(print(func), R"(func matmul(input x: f32[2,3], input w: f32[3,2], output y: f32[2,2]) {
  for m in 2 {
    for n in 2 {
      y[m, n] = 0.0 @matmul.init
    }
  }
  for m#1 in 2 {
    for n#1 in 2 {
      for k in 3 {
        y[m#1, n#1] += x[m#1, k]*w[k, n#1] @matmul
      }
    }
  }
}
)");
  Tensor tx = Tensor::of<float>(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor tw = Tensor::of<float>(DType::f32, {3, 2}, {1, 0, 0, 1, 2, 2}), ty({DType::f32, {2, 2}});
  Tensor* tensors[] = {&tx, &tw, &ty};
  interpret(func, tensors);
  EXPECT_EQ(to_doubles(ty), (std::vector<double>{7, 8, 16, 17}));
}

TEST(LoopInterp, RegionsRunInOrder) {
  FuncBuilder b("scan");
  const int x = b.input("x", DType::f32, {4}), y = b.output("y", DType::f32, {4}), t = b.temp("t", DType::f32, {1});
  b.block("start", {1}, t, [](const Vars&) { return const_float(0); });
  b.region("t", 4, [&](const Expr& step) {
    b.block_at(
        "sum", {1}, t, [](const Vars& v) { return v; }, [&](const Vars&) { return b.load(x, {step}); }, StoreOp::add);
    b.block_at(
        "out", {}, y, [&](const Vars&) { return std::vector<Expr>{step}; },
        [&](const Vars&) { return b.load(t, {const_int(0)}); });
  });
  const Func func = b.take();
  EXPECT_EQ(verify(func), "");
  Tensor tx = Tensor::of<float>(DType::f32, {4}, {1, 2, 3, 4}), ty({DType::f32, {4}});
  Tensor* tensors[] = {&tx, &ty};
  interpret(func, tensors);
  EXPECT_EQ(to_doubles(ty), (std::vector<double>{1, 3, 6, 10}));
}

TEST(LoopInterp, ReportsWhereAnIndexLeavesItsBuffer) {
  const Func func = parse_func("func f(input x: i64[2], output y: i64[2]) { for i in 2 { y[i] = x[x[i]] @g } }");
  Tensor tx = Tensor::of<i64>(DType::i64, {2}, {1, 7}), ty({DType::i64, {2}});
  Tensor* tensors[] = {&tx, &ty};
  try {
    interpret(func, tensors);
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_STREQ(e.what(), "f: index 7 of dimension 0 is outside x i64[2] at i=1");
  }
}

TEST(LoopPack, BlocksAndPadsWithZeros) {
  Buffer buffer{"w", DType::i8, {2, 3, 2}, Scope::constant, {{3, 3}, {{0, 2}, {1, 1}, {0, 1}}}};
  const Tensor source = Tensor::of<std::int8_t>(DType::i8, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(to_ints(pack_constant(buffer, source)), (std::vector<i64>{1, 4, 2, 5, 3, 6, 7, 0, 8, 0, 9, 0}));
}

}  // namespace
}  // namespace mcc::loop
