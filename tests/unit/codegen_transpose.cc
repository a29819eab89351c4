// Squares of a transposing map are turned in registers: right for every shape, with padding, and without gathers.
#include <gtest/gtest.h>

#include "loop/loop_ops.h"
#include "unit/codegen_run.h"

namespace mcc {
namespace {

// out[i, j] = in[j, i], in one square of u rows and v lanes; padded: zero where row 1 or less, or past `in`.
std::string square(int u, int v, const char* type, bool padded) {
  const std::string value = padded ? fmt::format("select(0 < u && u < {}, x[v, u + -1], 0.0)", u - 1) : "x[v, u]";
  return fmt::format(
      "func t(input x: {2}[{1},{3}], output y: {2}[{0},{1}]) {{\n"
      "  unroll u in {0} {{ vectorize v in {1} {{ y[u, v] = {4} @t }} }}\n}}\n",
      u, v, type, padded ? u - 2 : u, value);
}

struct Case {
  const char* name;
  int u, v;
  const char* type;
  bool padded;
};

class CodegenTranspose : public testing::TestWithParam<Case> {};

TEST_P(CodegenTranspose, MovesEveryElement) {
  const Case& c = GetParam();
  const loop::Func func = loop::parse_func(square(c.u, c.v, c.type, c.padded));
  ASSERT_EQ(loop::verify(func), "");
  const test::Library library(std::vector<KernelSource>{{&func, "k"}}, host());
  Rng rng(1);
  std::vector<Tensor> params = test::random_params(func, rng);
  library.run("k", func, test::pointers(params));
  const i64 width = params[0].type.shape[1], shift = c.padded ? 1 : 0;
  for (i64 u = 0; u < c.u; u++) {
    for (i64 v = 0; v < c.v; v++) {
      const bool inside = u >= shift && u - shift < width;
      EXPECT_EQ(params[1].get(u * c.v + v), inside ? params[0].get(v * width + u - shift) : 0.0) << u << " " << v;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CodegenTranspose,
                         testing::Values(Case{"square", 16, 16, "f32", false}, Case{"tall", 16, 5, "f32", false},
                                         Case{"wide", 6, 16, "f32", false}, Case{"ragged", 37, 21, "f32", false},
                                         Case{"bytes", 12, 40, "i8", false}, Case{"halves", 16, 16, "f16", false},
                                         Case{"longs", 8, 8, "i64", false}, Case{"padded", 16, 16, "f32", true},
                                         Case{"padded_ragged", 9, 19, "f32", true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CodegenTranspose, ReadsNothingLaneByLane) {
  const loop::Func func = loop::parse_func(square(16, 16, "f32", false));
  const std::string assembly = compile_assembly(std::vector<KernelSource>{{&func, "k"}}, find_target("x86-64-v4"));
  EXPECT_EQ(assembly.find("gather"), std::string::npos) << assembly;
  EXPECT_EQ(assembly.find("insertps"), std::string::npos) << assembly;
}

// The stored buffer is read: the order of loads and stores counts, so each lane is read for itself.
TEST(CodegenTranspose, LeavesWorkInPlaceAlone) {
  const loop::Func func = loop::parse_func(
      "func t(input x: f32[16,16], output y: f32[16,16]) {\n"
      "  for u0 in 16 { vectorize v0 in 16 { y[u0, v0] = x[u0, v0] @i } }\n"
      "  unroll u in 16 { vectorize v in 16 { y[u, v] = y[v, u] @t } }\n}\n");
  ASSERT_EQ(loop::verify(func), "");
  const test::Library library(std::vector<KernelSource>{{&func, "k"}}, host());
  Rng rng(1);
  std::vector<Tensor> params = test::random_params(func, rng);
  library.run("k", func, test::pointers(params));
  for (i64 u = 0; u < 16; u++) {
    for (i64 v = 0; v < 16; v++)
      EXPECT_EQ(params[1].get(u * 16 + v), params[0].get(std::max(u, v) * 16 + std::min(u, v)));
  }
}

}  // namespace
}  // namespace mcc
