// Looks at the machine code of reference micro-kernels: a register tile must stay in registers, that is, the inner loop
// holds as many vector FMAs as the tile has accumulators, touches no stack and does little else.
#include <gtest/gtest.h>

#include "base/text.h"
#include "loop/loop_ops.h"
#include "unit/codegen_run.h"

namespace mcc {
namespace {

// The instructions of the innermost loop that has the most lines containing `what`.
std::vector<std::string> hottest_loop(const std::string& assembly, std::string_view what) {
  const std::vector<std::string> lines = split(assembly, '\n');
  std::vector<std::string> best;
  i64 most = 0;
  for (size_t end = 0; end < lines.size(); end++) {
    const std::vector<std::string> words = split_words(lines[end]);
    if (words.size() < 2 || words[0][0] != 'j' || !words.back().starts_with(".L")) continue;
    std::vector<std::string> body;
    i64 count = 0;
    for (size_t at = end + 1; at-- > 0;) {
      if (lines[at].starts_with(words.back() + ":")) {
        if (count > most) most = count, best = body;
        break;
      }
      if (lines[at].starts_with(".L") || lines[at].find(".Lfunc") != std::string::npos)
        break;  // not innermost, or forward
      if (lines[at].find(what) != std::string::npos) count++;
      if (lines[at].starts_with("\t") && !lines[at].starts_with("\t.")) body.insert(body.begin(), lines[at]);
    }
  }
  return best;
}

i64 count(const std::vector<std::string>& lines, std::string_view what) {
  return std::ranges::count_if(lines, [&](const std::string& line) { return line.find(what) != std::string::npos; });
}

std::string tile_kernel(int m, int n) {
  return fmt::format(
      "func mm(input a: f32[{0},256], constant b: f32[4,256,{2}] pack [256,{3}] 1*{2} 0 1, output c: f32[{0},{3}]) {{\n"
      "  reg acc: f32[{1},{2}]\n"
      "  parallel io in 16 {{ for jo in 4 {{\n"
      "    unroll i in {1} {{ vectorize j in {2} {{ acc[i, j] = 0.0 @mm.init }} }}\n"
      "    for k in 256 {{ unroll i1 in {1} {{ vectorize j1 in {2} {{ acc[i1, j1] += a[io*{1} + i1, k] * b[jo, k, j1] "
      "@mm }} }} }}\n"
      "    unroll i2 in {1} {{ vectorize j2 in {2} {{ c[io*{1} + i2, jo*{2} + j2] = max(acc[i2, j2], 0.0) @relu }} }}\n"
      "  }} }}\n}}\n",
      16 * m, m, n, 4 * n);
}

struct Tile {
  const char* target;
  int m, n, lanes;
};

class CodegenTile : public testing::TestWithParam<Tile> {};

TEST_P(CodegenTile, StaysInRegisters) {
  const Tile tile = GetParam();
  const loop::Func func = loop::parse_func(tile_kernel(tile.m, tile.n));
  ASSERT_EQ(loop::verify(func), "");
  const std::string assembly = compile_assembly(std::vector<KernelSource>{{&func, "k"}}, find_target(tile.target));
  const std::vector<std::string> inner = hottest_loop(assembly, "vfmadd");
  const std::string text = join(inner, "\n");
  EXPECT_EQ(count(inner, "vfmadd"), tile.m * tile.n / tile.lanes) << text;
  EXPECT_EQ(count(inner, "rsp"), 0) << text;
  EXPECT_EQ(count(inner, "rbp"), 0) << text;
  const i64 loads = count(inner, "vbroadcastss") + count(inner, "vmovups");
  EXPECT_LE(loads, tile.m + tile.n / tile.lanes) << text;
  EXPECT_LE(static_cast<i64>(inner.size()) - loads - count(inner, "vfmadd"), 8) << text;
}

INSTANTIATE_TEST_SUITE_P(Tiles, CodegenTile,
                         testing::Values(Tile{"x86-64-v3", 6, 16, 8}, Tile{"x86-64-v3", 4, 24, 8},
                                         Tile{"x86-64-v3", 12, 8, 8}, Tile{"x86-64-v4", 12, 32, 16},
                                         Tile{"x86-64-v4", 14, 32, 16}, Tile{"x86-64-v4", 8, 48, 16},
                                         Tile{"x86-64-v4", 28, 16, 16}),
                         [](const auto& info) {
                           std::string name = fmt::format("{}_{}x{}", info.param.target, info.param.m, info.param.n);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(CodegenAsm, PrefetchesAreSpreadOverTheirIteration) {
  const loop::Func func = loop::parse_func(
      "func mv(input a: f32[256], constant w: f32[256,8,16], output y: f32[8,16]) {\n"
      "  reg acc: f32[8,16]\n"
      "  unroll v in 8 { vectorize i in 16 { acc[v, i] = 0.0 @mv.init } }\n"
      "  for k in 32 prefetch 64 w[k*1024 + 2048] { unroll u in 8 { unroll v1 in 8 { vectorize j in 16 {\n"
      "    acc[v1, j] += a[k*8 + u] * w[k*8 + u, v1, j] @mv } } } }\n"
      "  unroll v2 in 8 { vectorize j2 in 16 { y[v2, j2] = acc[v2, j2] @out } }\n}\n");
  ASSERT_EQ(loop::verify(func), "");
  const std::vector<std::string> inner =
      hottest_loop(compile_assembly(std::vector<KernelSource>{{&func, "k"}}, find_target("x86-64-v4")), "prefetch");
  EXPECT_EQ(count(inner, "prefetch"), 64) << join(inner, "\n");
  i64 run = 0, longest = 0;
  for (const std::string& line : inner) longest = std::max(longest, run = count({line}, "prefetch") ? run + 1 : 0);
  EXPECT_LE(longest, 2) << join(inner, "\n");
}

TEST(CodegenAsm, ReluIsOneInstruction) {
  const loop::Func func = loop::parse_func(
      "func relu(input x: f32[64,8], output y: f32[64,8]) { for i in 64 { vectorize j in 8 { y[i, j] = max(x[i, j], "
      "0.0) @relu } } }");
  const std::vector<std::string> inner =
      hottest_loop(compile_assembly(std::vector<KernelSource>{{&func, "k"}}, find_target("x86-64-v3")), "vmaxps");
  EXPECT_EQ(count(inner, "vmaxps"), 1) << join(inner, "\n");
  EXPECT_LE(inner.size(), 5u) << join(inner, "\n");
}

}  // namespace
}  // namespace mcc
