// Sweeps the polynomials of math.cc over the floats and compares with the C library in double.
#include <gtest/gtest.h>

#include <cmath>

#include "loop/build.h"
#include "unit/codegen_run.h"

namespace mcc {
namespace {

using loop::ExprOp;

float from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

// Every 4099th float, and the special ones.
std::vector<float> sweep() {
  std::vector<float> values;
  for (u64 bits = 0; bits < (u64{1} << 32); bits += 4099) values.push_back(from_bits(static_cast<std::uint32_t>(bits)));
  const float inf = std::numeric_limits<float>::infinity();
  for (const float x : {0.0f, -0.0f, inf, -inf, std::nanf(""), 88.72283f, 88.73f, -87.3f, -103.9f, -104.1f, 1.0f, -1.0f,
                        1e-40f, 0x1p-126f}) {
    values.push_back(x);
  }
  return values;
}

double ulps(float got, double want) {
  const float nearest = static_cast<float>(want);
  if (std::isinf(nearest) || std::isnan(nearest))
    return got == nearest || (std::isnan(got) && std::isnan(nearest)) ? 0 : 1e9;
  const double step = std::max(0x1p-149, std::ldexp(1.0, std::ilogb(nearest == 0 ? 0x1p-149f : nearest) - 23));
  return std::isfinite(got) ? std::fabs(got - want) / step : 1e9;
}

struct Function {
  const char* name;
  ExprOp op;
  double (*exact)(double);
  double max_ulps, max_absolute;  // either suffices
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class CodegenMath : public testing::TestWithParam<Function> {};

TEST_P(CodegenMath, IsAccurateOverAllFloats) {
  const Function f = GetParam();
  const std::vector<float> values = sweep();
  const i64 n = static_cast<i64>(values.size());
  loop::FuncBuilder b(f.name);
  const int x = b.input("x", DType::f32, {n}), y = b.output("y", DType::f32, {n});
  b.block("f", {n}, y, [&](const loop::Vars& v) { return loop::unary(f.op, b.load(x, v)); });
  loop::Func func = b.take();
  std::get<loop::Loop>(func.body[0].node).kind = loop::LoopKind::vectorize;
  const test::Library library(std::vector<KernelSource>{{&func, "k"}}, host());
  std::vector<Tensor> params = {Tensor::of(DType::f32, {n}, values), Tensor({DType::f32, {n}})};
  library.run("k", func, test::pointers(params));
  double worst = 0;
  for (i64 i = 0; i < n; i++) {
    const float at = values[static_cast<size_t>(i)], got = params[1].data<float>()[static_cast<size_t>(i)];
    const double want = f.exact(at);
    const double error = ulps(got, want);
    if (std::fabs(got - want) <= f.max_absolute) continue;
    worst = std::max(worst, error);
    ASSERT_LE(error, f.max_ulps) << f.name << "(" << at << ") = " << got << ", not " << want;
    ASSERT_TRUE(at != 0 || want != 0 || std::signbit(got) == std::signbit(want)) << f.name << "(" << at << ")";
  }
  RecordProperty("worst_ulps", fmt::format("{:.2f}", worst));
  std::printf("%s: at most %.2f ulp\n", f.name, worst);
}

INSTANTIATE_TEST_SUITE_P(
    Functions, CodegenMath,
    testing::Values(Function{"exp", ExprOp::exp, std::exp, 1.5, 0}, Function{"log", ExprOp::log, std::log, 1.5, 0},
                    Function{"tanh", ExprOp::tanh, std::tanh, 5, 0}, Function{"erf", ExprOp::erf, std::erf, 5, 1e-40},
                    Function{"sigmoid", ExprOp::sigmoid, sigmoid, 4, 1e-37},
                    Function{"sin", ExprOp::sin, std::sin, 1, 0}, Function{"sqrt", ExprOp::sqrt, std::sqrt, 0.5, 0}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mcc
