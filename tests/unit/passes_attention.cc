// Which attentions become one kernel, which stay several, and that both compute what the graph says.
#include "passes_run.h"

namespace mcc {
namespace {

// An attention of 2 heads and 20 rows over 24 columns, with `before` in front of it and `rest` behind.
std::string attention(std::string_view k, std::string_view rest, std::string_view before = "") {
  return fmt::format(R"(graph {{
    input %q: f32[2,20,8]
    input %v: f32[2,24,16]
    input %mask: f32[24]
    const %scale: f32[] = [0.25]
    {}
    {}
    %b: f32[2,20,24] = Mul(%a, %scale)
    %c: f32[2,20,24] = Add(%b, %mask)
    {} }})",
                     before, k, rest);
}

constexpr std::string_view kColumns = "%a: f32[2,20,24] = MatMul(%q, %k)", kK = "input %k: f32[2,8,24]",
                           kEnd = R"(%p: f32[2,20,24] = Softmax(%c) {axis=2}
                                     %y: f32[2,20,16] = MatMul(%p, %v)
                                     output %y)";

std::vector<std::string> kernels(const std::string& text) {
  std::vector<std::string> names;
  for (const KernelCall& call : compile_graph(parse_graph(text)).calls) names.push_back(call.func.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Attention, IsOneKernel) {
  const std::string text = attention(kColumns, kEnd, kK);
  EXPECT_EQ(kernels(text), (Names{"attention 2 of 20x8x24"}));
  expect_kernels(text);
}

TEST(Attention, EndsWithWhatIsElementwise) {
  const std::string text = attention(kColumns, R"(%p: f32[2,20,24] = Softmax(%c) {axis=2}
                                                  %o: f32[2,20,16] = MatMul(%p, %v)
                                                  %y: f32[2,20,16] = Relu(%o)
                                                  output %y)",
                                     kK);
  EXPECT_EQ(kernels(text).size(), 1u);
  expect_kernels(text);
}

TEST(Attention, ReadsTransposedKeysInPlace) {
  const std::string text = attention(R"(%t: f32[2,8,24] = Transpose(%k) {perm=[1,2,0]}
                                        %a: f32[2,20,24] = MatMul(%q, %t))",
                                     kEnd, "input %k: f32[24,2,8]");
  EXPECT_EQ(kernels(text), (Names{"attention 2 of 20x8x24"}));
  expect_kernels(text);
}

TEST(Attention, StaysSeveralKernelsWhereOthersReadWhatIsInside) {
  for (const char* output : {"%c", "%p", "%a"}) {
    const std::string text = attention(kColumns, fmt::format("{} output {}", kEnd, output), kK);
    EXPECT_EQ(kernels(text).size(), 3u) << output;
    expect_kernels(text);
  }
}

TEST(Attention, StaysSeveralKernelsWhereOperandsAreRepeated) {
  const std::string text = attention(kColumns, kEnd, "input %k: f32[1,8,24]");
  EXPECT_EQ(kernels(text).size(), 3u);
  expect_kernels(text);
}

TEST(Attention, StaysSeveralKernelsWhereRowsAreFew) {
  const std::string text = R"(graph {
    input %q: f32[2,1,8]
    input %k: f32[2,8,24]
    input %v: f32[2,24,16]
    %a: f32[2,1,24] = MatMul(%q, %k)
    %p: f32[2,1,24] = Softmax(%a) {axis=2}
    %y: f32[2,1,16] = MatMul(%p, %v)
    output %y })";
  EXPECT_EQ(kernels(text).size(), 3u);
  expect_kernels(text);
}

TEST(Attention, SoftmaxAlongColumnsStaysAKernel) {
  const std::string text = attention(kColumns, R"(%p: f32[2,20,24] = Softmax(%c) {axis=1}
                                                  %y: f32[2,20,16] = MatMul(%p, %v)
                                                  output %y)",
                                     kK);
  EXPECT_EQ(kernels(text).size(), 3u);
}

}  // namespace
}  // namespace mcc
