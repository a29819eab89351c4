// Kernels in algorithm form, compiled and run.
#include <gtest/gtest.h>

#include "loop/build.h"
#include "unit/codegen_run.h"

namespace mcc {
namespace {

using loop::FuncBuilder;
using loop::Vars;

TEST(CodegenBasic, MatmulInAlgorithmForm) {
  FuncBuilder b("mm");
  const int x = b.input("x", DType::f32, {5, 7}), w = b.constant_input("w", DType::f32, {7, 6});
  const int y = b.output("y", DType::f32, {5, 6}), t = b.temp("t", DType::f32, {5, 6});
  b.reduce("mm", {5, 6}, {7}, t, loop::StoreOp::add, loop::const_float(0),
           [&](const Vars& s, const Vars& r) { return b.load(x, {s[0], r[0]}) * b.load(w, {r[0], s[1]}); });
  b.block("out", {5, 6}, y,
          [&](const Vars& v) { return max(b.load(t, v) + loop::const_float(1), loop::const_float(0)); });
  const loop::Func func = b.take();
  const Target target = host();
  compile_llvm_ir(std::vector<KernelSource>{{&func, "k"}}, target);
  const test::Library library(std::vector<KernelSource>{{&func, "k"}}, target);
  Rng rng(1);
  std::vector<Tensor> params = test::random_params(func, rng);
  library.run("k", func, test::pointers(params));
  for (i64 i = 0; i < 5; i++) {
    for (i64 j = 0; j < 6; j++) {
      double sum = 1;
      for (i64 k = 0; k < 7; k++) sum += params[0].get(i * 7 + k) * params[1].get(k * 6 + j);
      EXPECT_EQ(params[2].get(i * 6 + j), std::max(sum, 0.0));
    }
  }
}

}  // namespace
}  // namespace mcc
