// What collapse() makes of typical programs.
#include <gtest/gtest.h>

#include "loop/build.h"
#include "loop/collapse.h"
#include "loop/loop_ops.h"

namespace mcc::loop {
namespace {

TEST(LoopCollapse, BiasOverRowsBecomesTwoDimensional) {
  const Func func = parse_func(R"(func add(input x: f32[1,4,128,768], input b: f32[768], output y: f32[1,4,128,768]) {
    for n in 1 { for h in 4 { for m in 128 { for c in 768 { y[n, h, m, c] = x[n, h, m, c] + b[c] @add } } } } })");
  EXPECT_EQ(print(collapse(func)), R"(func add(input x: f32[512,768], input b: f32[768], output y: f32[512,768]) {
  for h in 512 {
    for c in 768 {
      y[h, c] = x[h, c] + b[c] @add
    }
  }
}
)");
}

TEST(LoopCollapse, PointwiseConvolutionBecomesAMatrixProduct) {
  FuncBuilder b("conv");
  const int x = b.input("x", DType::f32, {2, 7, 7, 16}), w = b.input("w", DType::f32, {8, 16, 1, 1});
  const int y = b.output("y", DType::f32, {2, 7, 7, 8});
  b.axes({"n", "oy", "ox", "oc", "ky", "kx", "ic"})
      .reduce("conv", {2, 7, 7, 8}, {1, 1, 16}, y, StoreOp::add, const_float(0), [&](const Vars& s, const Vars& r) {
        return b.load(x, {s[0], s[1] + r[0], s[2] + r[1], r[2]}) * b.load(w, {s[3], r[2], r[0], r[1]});
      });
  EXPECT_EQ(print(collapse(b.take())), R"(func conv(input x: f32[98,16], input w: f32[8,16], output y: f32[98,8]) {
  for n in 98 {
    for oc in 8 {
      y[n, oc] = 0.0 @conv.init
    }
  }
  for n#1 in 98 {
    for oc#1 in 8 {
      for ic in 16 {
        y[n#1, oc#1] += x[n#1, ic]*w[oc#1, ic] @conv
      }
    }
  }
}
)");
}

TEST(LoopCollapse, PixelsAreMergedForTheProductThatReadsThem) {
  FuncBuilder b("pair");
  const int x = b.input("x", DType::f32, {5, 6, 3}), w = b.input("w", DType::f32, {2, 3});
  const int t = b.temp("t", DType::f32, {5, 4, 3}), y = b.output("y", DType::f32, {5, 4, 2});
  b.axes({"i", "j", "c"}).block("shift", {5, 4, 3}, t, [&](const Vars& v) {
    return b.load(x, {v[0], v[1] + 2, v[2]});
  });
  b.axes({"m", "n", "o", "k"})
      .reduce("mul", {5, 4, 2}, {3}, y, StoreOp::add, const_float(0),
              [&](const Vars& s, const Vars& r) { return b.load(t, {s[0], s[1], r[0]}) * b.load(w, {s[2], r[0]}); });
  const Func func = b.take();
  EXPECT_EQ(print(collapse(func)), print(func));
  EXPECT_EQ(print(collapse_for_readers(func)),
            R"(func pair(input x: f32[5,6,3], input w: f32[2,3], temp t: f32[20,3], output y: f32[20,2]) {
  for i in 5 {
    for j in 4 {
      for c in 3 {
        t[i*4 + j, c] = x[i, j + 2, c] @shift
      }
    }
  }
  for m in 20 {
    for o in 2 {
      y[m, o] = 0.0 @mul.init
    }
  }
  for m#1 in 20 {
    for o#1 in 2 {
      for k in 3 {
        y[m#1, o#1] += t[m#1, k]*w[o#1, k] @mul
      }
    }
  }
}
)");
}

TEST(LoopCollapse, ElementwiseBecomesOneLoopAndScalarsHaveNone) {
  const Func rows = parse_func(R"(func relu(input x: f32[2,3,4], output y: f32[2,3,4]) {
    for a in 2 { for b in 3 { for c in 4 { y[a, b, c] = max(x[a, b, c], 0.0) @relu } } } })");
  EXPECT_EQ(print(collapse(rows)),
            "func relu(input x: f32[24], output y: f32[24]) {\n"
            "  for a in 24 {\n    y[a] = max(x[a], 0.0) @relu\n  }\n}\n");
  const Func one = parse_func(
      "func relu(input x: f32[1,1], output y: f32[1,1]) {"
      "  for a in 1 { for b in 1 { y[a, b] = max(x[a, b], 0.0) @relu } } }");
  EXPECT_EQ(print(collapse(one)), "func relu(input x: f32[], output y: f32[]) {\n  y[] = max(x[], 0.0) @relu\n}\n");
}

TEST(LoopCollapse, TransposeKeepsWhatMoves) {
  const Func func = parse_func(R"(func transpose(input x: f32[2,8,3,5], output y: f32[2,3,5,8]) {
    for n in 2 { for h in 3 { for w in 5 { for c in 8 { y[n, h, w, c] = x[n, c, h, w] @t } } } } })");
  EXPECT_EQ(print(collapse(func)), R"(func transpose(input x: f32[2,8,15], output y: f32[2,15,8]) {
  for n in 2 {
    for h in 15 {
      for c in 8 {
        y[n, h, c] = x[n, c, h] @t
      }
    }
  }
}
)");
}

TEST(LoopCollapse, LeavesPartialCoverageAlone) {
  const Func slice = parse_func(R"(func slice(input x: f32[4,6], output y: f32[4,5]) {
    for a in 4 { for b in 5 { y[a, b] = x[a, b] @slice } } })");
  EXPECT_EQ(collapse(slice), slice);
}

}  // namespace
}  // namespace mcc::loop
