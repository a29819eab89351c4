// Patterns as exporters write them, and the folding of affine maps into weights.
#include "passes_util.h"

namespace mcc {
namespace {

std::string recognized(std::string_view text) { return ops_of(drop_dead(checked(recognize, text))); }

TEST(Recognize, GeluByErfInEachOrder) {
  const std::string head = R"(graph {
    input %x: f32[8]
    const %root: f32[] = [1.4142135]
    const %one: f32[] = [1.0]
    const %half: f32[] = [0.5]
    %a: f32[8] = Div(%x, %root)
    %b: f32[8] = Erf(%a)
    %c: f32[8] = Add(%b, %one)
    )";
  for (const char* tail : {"%d: f32[8] = Mul(%x, %c)\n %y: f32[8] = Mul(%d, %half)",
                           "%d: f32[8] = Mul(%x, %half)\n %y: f32[8] = Mul(%d, %c)",
                           "%d: f32[8] = Mul(%half, %c)\n %y: f32[8] = Mul(%d, %x)"})
    EXPECT_EQ(recognized(head + tail + "\n output %y }"), "Gelu");
}

TEST(Recognize, GeluByTanh) {
  EXPECT_EQ(recognized(R"(graph {
    input %x: f32[8]
    const %k: f32[] = [0.044715]
    const %s: f32[] = [0.7978846]
    const %one: f32[] = [1.0]
    const %half: f32[] = [0.5]
    %x2: f32[8] = Mul(%x, %x)
    %x3: f32[8] = Mul(%x2, %x)
    %a: f32[8] = Mul(%x3, %k)
    %b: f32[8] = Add(%x, %a)
    %c: f32[8] = Mul(%b, %s)
    %d: f32[8] = Tanh(%c)
    %e: f32[8] = Add(%d, %one)
    %f: f32[8] = Mul(%x, %half)
    %y: f32[8] = Mul(%f, %e)
    output %y
  })"),
            "Gelu");
}

TEST(Recognize, Gates) {
  EXPECT_EQ(recognized("graph { input %x: f32[4]\n %s: f32[4] = Sigmoid(%x)\n %y: f32[4] = Mul(%s, %x)\n output %y }"),
            "Silu");
  EXPECT_EQ(recognized(R"(graph {
    input %x: f32[4]
    const %three: f32[] = [3.0]
    const %six: f32[] = [6.0]
    %a: f32[4] = Add(%x, %three)
    %b: f32[4] = Clip(%a) {max=6.0, min=0.0}
    %c: f32[4] = Mul(%x, %b)
    %y: f32[4] = Div(%c, %six)
    output %y
  })"),
            "HardSwish");
  EXPECT_EQ(recognized(R"(graph {
    input %x: f32[4]
    const %one: f32[] = [1.0]
    %a: f32[4] = Exp(%x)
    %b: f32[4] = Add(%a, %one)
    %c: f32[4] = Log(%b)
    %d: f32[4] = Tanh(%c)
    %y: f32[4] = Mul(%x, %d)
    output %y
  })"),
            "Mish");
}

TEST(Recognize, LayerNormalizationWithAndWithoutAffine) {
  const std::string core = R"(graph {
    input %x: f32[2,3,4]
    const %two: f32[] = [2.0]
    const %eps: f32[] = [0.001]
    const %w: f32[4] = hash:1
    const %b: f32[4] = hash:2
    %m: f32[2,3,1] = ReduceMean(%x) {axes=[2], keepdims=1}
    %d: f32[2,3,4] = Sub(%x, %m)
    %q: f32[2,3,4] = Pow(%d, %two)
    %v: f32[2,3,1] = ReduceMean(%q) {axes=[2], keepdims=1}
    %e: f32[2,3,1] = Add(%v, %eps)
    %r: f32[2,3,1] = Sqrt(%e)
    %n: f32[2,3,4] = Div(%d, %r)
    )";
  EXPECT_EQ(recognized(core + "output %n }"), "LayerNormalization");
  EXPECT_EQ(recognized(core + "%s: f32[2,3,4] = Mul(%n, %w)\n %y: f32[2,3,4] = Add(%s, %b)\n output %y }"),
            "LayerNormalization");
}

TEST(FoldBatchNorm, IntoConvolutions) {
  const std::string bn = R"(
    const %g: f32[4] = hash:3
    const %b: f32[4] = hash:4
    const %m: f32[4] = hash:5
    const %v: f32[4] = [1.0, 0.5, 0.25, 2.0]
    input %x: f32[1,2,5,5]
    )";
  const Graph conv = checked(fold_batch_norm, "graph { const %w: f32[4,1,3,3] = hash:1\n" + bn + R"(
    %c: f32[1,4,3,3] = Conv(%x, %w) {dilations=[1,1], group=2, kernel_shape=[3,3], pads=[0,0,0,0], strides=[1,1]}
    %y: f32[1,4,3,3] = BatchNormalization(%c, %g, %b, %m, %v) {epsilon=0.001}
    output %y })");
  EXPECT_EQ(ops_of(drop_dead(conv)), "Conv");
  const Graph transposed = checked(fold_batch_norm, "graph { const %w: f32[2,2,3,3] = hash:1\n" + bn + R"(
    %c: f32[1,4,7,7] = ConvTranspose(%x, %w) {dilations=[1,1], group=2, kernel_shape=[3,3],
                       output_padding=[0,0], pads=[0,0,0,0], strides=[1,1]}
    %y: f32[1,4,7,7] = BatchNormalization(%c, %g, %b, %m, %v) {epsilon=0.001}
    output %y })");
  EXPECT_EQ(ops_of(drop_dead(transposed)), "ConvTranspose");
}

TEST(FoldBatchNorm, AloneItIsMulAndAdd) {
  const Graph graph = checked(fold_batch_norm, R"(graph {
    const %g: f32[3] = hash:3
    const %v: f32[3] = [1.0, 0.5, 0.25]
    input %x: f32[2,3,4]
    %y: f32[2,3,4] = BatchNormalization(%x, %g, %g, %g, %v) {epsilon=0.001}
    output %y })");
  EXPECT_EQ(ops_of(graph), "Mul Add");
}

TEST(FoldBatchNorm, IntoProductsAndPlainFactorsIntoConvolutions) {
  const Graph product = checked(fold_batch_norm, R"(graph {
    const %w: f32[4,3] = hash:1
    const %g: f32[3] = hash:3
    const %v: f32[3] = [1.0, 0.5, 0.25]
    input %x: f32[2,4]
    %c: f32[2,3] = MatMul(%x, %w)
    %y: f32[2,3] = BatchNormalization(%c, %g, %g, %g, %v) {epsilon=0.001}
    output %y })");
  EXPECT_EQ(ops_of(drop_dead(product)), "MatMul Add");
  const Graph gemm = checked(fold_batch_norm, R"(graph {
    const %w: f32[3,4] = hash:1
    const %g: f32[3] = hash:3
    const %v: f32[3] = [1.0, 0.5, 0.25]
    input %x: f32[2,4]
    %c: f32[2,3] = Gemm(%x, %w, %g) {alpha=1.0, beta=0.5, transB=1}
    %y: f32[2,3] = BatchNormalization(%c, %g, %g, %g, %v) {epsilon=0.001}
    output %y })");
  EXPECT_EQ(ops_of(drop_dead(gemm)), "MatMul Add");
  const Graph conv = checked(fold_batch_norm, R"(graph {
    const %w: f32[4,2,1,1] = hash:1
    const %s: f32[4,1,1] = hash:3
    const %t: f32[1,4,1,1] = hash:4
    input %x: f32[1,2,5,5]
    %c: f32[1,4,5,5] = Conv(%x, %w) {dilations=[1,1], group=1, kernel_shape=[1,1], pads=[0,0,0,0], strides=[1,1]}
    %d: f32[1,4,5,5] = Mul(%c, %s)
    %y: f32[1,4,5,5] = Add(%d, %t)
    output %y })");
  EXPECT_EQ(ops_of(drop_dead(conv)), "Conv");
}

TEST(Decompose, ConvTransposeWithStrides) {
  struct Case {
    std::string_view x, w, y, attrs;
  };
  for (const Case& c : {
           Case{"f32[1,3,4,5]", "f32[3,2,2,2]", "f32[1,2,8,10]", "strides=[2,2]"},
           Case{"f32[2,3,4,4]", "f32[3,2,3,3]", "f32[2,2,8,8]", "output_padding=[1,1], pads=[1,1,1,1], strides=[2,2]"},
           Case{"f32[1,2,3,4]", "f32[2,3,4,5]", "f32[1,3,5,13]", "pads=[1,0,2,1], strides=[2,3]"},
           Case{"f32[1,2,3,3]", "f32[2,2,2,2]", "f32[1,2,7,6]", "output_padding=[1,0], strides=[2,2]"},
           Case{"f32[1,2,4]", "f32[2,3,3]", "f32[1,3,8]", "output_padding=[1], pads=[1,1], strides=[2]"},
       }) {
    std::string weights;
    const Shape shape = parse_graph(fmt::format("graph {{\n input %w: {}\n output %w\n}}", c.w)).values[0].type.shape;
    for (i64 i = 0; i < elements(shape); i++) weights += fmt::format("{}{}.0", i ? ", " : "", i * 7 % 11 - 5);
    const std::string bias = shape[1] == 2 ? "f32[2] = [1.0, -2.0]" : "f32[3] = [1.0, -2.0, 3.0]";
    const std::string text = fmt::format(
        "graph {{\n input %x: {}\n const %w: {} = [{}]\n const %b: {}\n %y: {} = ConvTranspose(%x, %w, %b) "
        "{{{}}}\n output %y\n}}",
        c.x, c.w, weights, bias, c.y, c.attrs);
    EXPECT_EQ(count(checked(decompose, text), "ConvTranspose"), 0) << text;
    const Graph graph = parse_graph(text);
    expect_same(graph, all_passes(graph));
  }
}

TEST(Decompose, GemmEinsumAndGroupNormalization) {
  const Graph gemm = checked(decompose, R"(graph {
    input %a: f32[4,2]
    const %b: f32[3,4] = hash:1
    const %c: f32[3] = hash:2
    %y: f32[2,3] = Gemm(%a, %b, %c) {alpha=0.5, beta=2.0, transA=1, transB=1}
    output %y })");
  EXPECT_EQ(count(gemm, "Gemm"), 0);
  for (const char* equation : {"bhid,bhjd->bhij", "bihd,bjhd->bhij", "bhid,bhjd->jbi"}) {
    const bool last = std::string_view(equation).ends_with("jbi");
    const bool middle = std::string_view(equation).starts_with("bihd");
    const Graph einsum = checked(decompose, fmt::format(R"(graph {{
      input %a: f32[2,3,4,5]
      input %b: f32[{}]
      %y: f32[{}] = Einsum(%a, %b) {{equation="{}"}}
      output %y }})",
                                                        middle ? "2,6,4,5" : "2,3,6,5",
                                                        last     ? "6,2,4"
                                                        : middle ? "2,4,3,6"
                                                                 : "2,3,4,6",
                                                        equation));
    EXPECT_EQ(count(einsum, "Einsum"), 0) << equation;
  }
  const Graph norm = checked(decompose, R"(graph {
    input %x: f32[2,6,3,3]
    const %s: f32[6] = hash:1
    const %b: f32[6] = hash:2
    %y: f32[2,6,3,3] = GroupNormalization(%x, %s, %b) {epsilon=0.001, num_groups=2}
    output %y })");
  EXPECT_EQ(count(norm, "GroupNormalization"), 0);
}

}  // namespace
}  // namespace mcc
