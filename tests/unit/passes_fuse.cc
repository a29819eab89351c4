// Which nodes become one kernel, which values share bytes, and that the joined programs compute what the graph says.
#include "loop/loop_ops.h"
#include "passes/views.h"
#include "passes_run.h"

namespace mcc {
namespace {

// Groups as text: "Conv+Add+Relu | Softmax".
std::string groups_of(std::string_view text) {
  const Graph graph = own_buffers(parse_graph(text));
  std::string result;
  for (const FusedGroup& group : fuse(graph)) {
    if (!result.empty()) result += " | ";
    for (size_t i = 0; i < group.nodes.size(); i++)
      result += (i ? "+" : "") + graph.nodes[static_cast<size_t>(group.nodes[i])].op;
  }
  return result;
}

TEST(Fuse, EpilogueOfAConvolutionWithResidual) {
  EXPECT_EQ(groups_of(R"(graph {
    input %x: f32[1,6,6,4]
    const %w: f32[4,4,1,1] = hash:1
    const %c: f32[4] = hash:2
    %a: f32[1,6,6,4] = Conv(%x, %w) {dilations=[1,1], group=1, kernel_shape=[1,1],
                       layout="NHWC", pads=[0,0,0,0], strides=[1,1]}
    %b: f32[1,6,6,4] = Add(%a, %c)
    %d: f32[1,6,6,4] = Add(%b, %x)
    %e: f32[1,6,6,4] = Sigmoid(%d)
    %f: f32[1,6,6,4] = Mul(%d, %e)
    output %f })"),
            "Conv+Add+Add+Sigmoid+Mul");
}

TEST(Fuse, OneAnchorEach) {
  EXPECT_EQ(groups_of(R"(graph {
    input %x: f32[4,4]
    const %m: f32[4] = hash:1
    const %s: f32[] = [0.5]
    %a: f32[4,4] = MatMul(%x, %x)
    %b: f32[4,4] = Mul(%a, %s)
    %c: f32[4,4] = Add(%b, %m)
    %d: f32[4,4] = Softmax(%c) {axis=-1}
    %e: f32[4,4] = MatMul(%d, %x)
    output %e })"),
            "MatMul+Mul+Add | Softmax | MatMul");
}

// A depthwise convolution of `rows` rows, an elementwise node and a 1x1 convolution to `columns` channels.
std::string separable(i64 rows, i64 columns, std::string_view output = "%e") {
  return fmt::format(R"(graph {{
    input %x: f32[1,{0},64,32]
    const %w: f32[32,1,3,3] = hash:1
    const %b: f32[32] = hash:2
    const %v: f32[{1},32,1,1] = hash:3
    %c: f32[1,{0},64,32] = Conv(%x, %w, %b) {{dilations=[1,1], group=32, kernel_shape=[3,3], layout="NHWC",
                           pads=[1,1,1,1], strides=[1,1]}}
    %d: f32[1,{0},64,32] = Relu(%c)
    %p: f32[1,{0},64,{1}] = Conv(%d, %v) {{dilations=[1,1], group=1, kernel_shape=[1,1], layout="NHWC",
                           pads=[0,0,0,0], strides=[1,1]}}
    %e: f32[1,{0},64,{1}] = Relu(%p)
    output {2} }})",
                     rows, columns, output);
}

TEST(Fuse, SeparableConvolutionsOfLargeImages) {
  EXPECT_EQ(groups_of(separable(64, 4)), "Conv+Relu+Conv+Relu");
  EXPECT_EQ(groups_of(separable(63, 4)), "Conv+Relu | Conv+Relu") << "few pixels";
  EXPECT_EQ(groups_of(separable(64, 65)), "Conv+Relu | Conv+Relu") << "many columns";
  EXPECT_EQ(groups_of(separable(64, 4, "%d\n output %e")), "Conv+Relu | Conv+Relu") << "others want the pixels";
  expect_kernels(separable(64, 4));
}

TEST(Fuse, ProloguesWhereElementsAreReadOnce) {
  EXPECT_EQ(groups_of(R"(graph {
    input %x: f32[4,5]
    %a: f32[4,5] = Exp(%x)
    %b: f32[5,4] = Transpose(%a) {perm=[1,0]}
    %c: f32[5,4] = Neg(%b)
    %y: f32[5] = ReduceSum(%c) {axes=[1], keepdims=0}
    output %y })"),
            "Exp+Transpose+Neg+ReduceSum");
}

TEST(Fuse, ProductsReadTransposedRowsInPlace) {
  EXPECT_EQ(groups_of(R"(graph {
    input %x: f32[4,2,8]
    input %z: f32[2,8,4]
    %e: f32[4,2,8] = Exp(%x)
    %a: f32[2,4,8] = Transpose(%e) {perm=[1,0,2]}
    %b: f32[2,4,8] = Transpose(%z) {perm=[0,2,1]}
    %c: f32[2,4,4] = MatMul(%a, %b) {transB=1}
    output %c })"),
            "Exp | Transpose | Transpose+MatMul");
}

TEST(Fuse, ValuesWithOtherReadersEndTheirGroup) {
  EXPECT_EQ(groups_of(R"(graph {
    input %x: f32[4,4]
    %a: f32[4,4] = Relu(%x)
    %b: f32[4,4] = MatMul(%a, %x)
    %c: f32[4,4] = Add(%a, %b)
    output %a
    output %c })"),
            "Relu | MatMul+Add");
}

TEST(Views, ReshapesSlicesAndJoinsShareBytes) {
  const Graph graph = parse_graph(R"(graph {
    input %x: f32[4,2]
    %a: f32[8] = Reshape(%x) {shape=[8]}
    %s: f32[3] = Slice(%a) {axes=[0], ends=[5], starts=[2], steps=[1]}
    %p: f32[3] = Neg(%s)
    %q: f32[3] = Exp(%s)
    %j: f32[6] = Concat(%p, %q) {axis=0}
    %y: f32[2,3] = Reshape(%j) {shape=[2,3]}
    output %y })");
  const ViewPlan plan = plan_views(graph);
  const auto view = [&](const char* name) {
    for (size_t v = 0; v < graph.values.size(); v++)
      if (graph.values[v].name == name) {
        const auto& found = plan.views[v];
        return (found.base == kNone ? "-" : graph.values[static_cast<size_t>(found.base)].name) + "+" +
               std::to_string(found.offset_bytes);
      }
    return std::string("?");
  };
  EXPECT_EQ(view("s"), "x+8");
  EXPECT_EQ(view("p"), "y+0");
  EXPECT_EQ(view("q"), "y+12");
  EXPECT_EQ(view("j"), "y+0");
  EXPECT_EQ(view("y"), "-+0");
  EXPECT_EQ(fuse(graph).size(), 2u);
}

// Where each value that no output is lies: "p in y+12", and " by ..." when its rows are apart.
std::string views_of(const Graph& graph, const std::vector<std::string>& names) {
  const ViewPlan plan = plan_views(graph);
  std::string result;
  for (const std::string& name : names)
    for (size_t v = 0; v < graph.values.size(); v++) {
      const LoweredModel::View& view = plan.views[v];
      if (graph.values[v].name != name || view.base == kNone) continue;
      result += fmt::format("{}{} in {}+{}", result.empty() ? "" : ", ", name,
                            graph.values[static_cast<size_t>(view.base)].name, view.offset_bytes);
      if (!view.pitch.empty()) result += " by " + to_string(view.pitch);
    }
  return result;
}

constexpr std::string_view kPointwise =
    "{dilations=[1,1], group=1, kernel_shape=[1,1], layout=\"NHWC\", pads=[0,0,0,0], strides=[1,1]}";

// Two convolutions of %x [1,3,3,4] and what the test does with %a and %b.
std::string two_convolutions(std::string_view rest) {
  return fmt::format(R"(graph {{
    input %x: f32[1,3,3,4]
    const %w: f32[4,4,1,1] = hash:1
    const %v: f32[2,4,1,1] = hash:2
    %a: f32[1,3,3,4] = Conv(%x, %w) {0}
    %b: f32[1,3,3,2] = Conv(%x, %v) {0}
    {1} }})",
                     kPointwise, rest);
}

TEST(Views, ConcatsAreWrittenInPlace) {
  const std::string nested = two_convolutions(fmt::format(R"(
    const %u: f32[6,6,1,1] = hash:3
    %r: f32[1,3,3,4] = Relu(%a)
    %j: f32[1,3,3,6] = Concat(%r, %b) {{axis=3}}
    %c: f32[1,3,3,6] = Conv(%j, %u) {0}
    %k: f32[1,3,3,12] = Concat(%c, %j) {{axis=3}}
    %y: f32[1,3,3,12] = Neg(%k)
    output %y)",
                                                          kPointwise));
  const Graph graph = own_buffers(parse_graph(nested));
  EXPECT_EQ(views_of(graph, {"r", "b", "j", "c", "k"}),
            "r in k+24 by 1x3x3x12, b in k+40 by 1x3x3x12, j in k+24 by 1x3x3x12, c in k+0 by 1x3x3x12");
  EXPECT_EQ(groups_of(nested), "Conv | Conv+Relu | Conv | Neg");
  expect_kernels(nested);
}

TEST(Views, OnlyWhatCannotBeWrittenInPlaceIsCopied) {
  const std::string text = two_convolutions(R"(
    %j: f32[1,3,3,14] = Concat(%x, %a, %b, %a) {axis=3}
    output %j)");
  EXPECT_EQ(groups_of(text), "Conv | Conv | Identity | Identity");
  expect_kernels(text);
  const std::string reshaped = two_convolutions(R"(
    %s: f32[36] = Reshape(%a) {shape=[36]}
    %j: f32[1,3,3,6] = Concat(%a, %b) {axis=3}
    output %s
    output %j)");
  EXPECT_EQ(groups_of(reshaped), "Conv | Conv | Identity");
  expect_kernels(reshaped);
}

TEST(Views, ConcatsOfWhatIsComputedWhereItIsReadAreKernels) {
  EXPECT_EQ(groups_of(R"(graph {
    input %x: f32[3,4]
    %a: f32[3,4] = Neg(%x)
    %b: f32[3,4] = Exp(%x)
    %j: f32[3,8] = Concat(%a, %b) {axis=1}
    output %j })"),
            "Neg+Exp+Concat");
}

TEST(Views, PartsAreReadWhereTheyLie) {
  const std::string text = two_convolutions(fmt::format(R"(
    const %u: f32[2,2,1,1] = hash:3
    %l: f32[1,3,3,2], %r: f32[1,3,3,2] = Split(%a) {{axis=3, split=[2,2]}}
    %s: f32[1,2,3,2] = Slice(%r) {{axes=[1], ends=[3], starts=[1], steps=[1]}}
    %c: f32[1,3,3,2] = Conv(%l, %u) {0}
    %d: f32[1,2,3,2] = Neg(%s)
    output %b
    output %c
    output %d)",
                                                        kPointwise));
  EXPECT_EQ(views_of(own_buffers(parse_graph(text)), {"l", "r", "s"}),
            "l in a+0 by 1x3x3x4, r in a+8 by 1x3x3x4, s in a+56 by 1x2x3x4");
  EXPECT_EQ(groups_of(text), "Conv | Conv | Conv | Neg");
  expect_kernels(text);
}

TEST(Views, OutputsAreBuffersOfTheirOwn) {
  EXPECT_EQ(groups_of("graph { input %x: f32[4]\n %y: f32[2,2] = Reshape(%x) {shape=[2,2]}\n %z: f32[4] = Neg(%x)\n "
                      "output %x\n output %y\n output %z\n output %z }"),
            "Reshape | Neg | Identity | Identity");
}

TEST(Lower, AConvolutionNetwork) {
  expect_kernels(R"(graph {
    input %x: f32[1,3,6,6]
    const %w: f32[4,3,3,3] = hash:1
    const %b: f32[4] = hash:2
    const %f: f32[4,5] = hash:3
    %a: f32[1,4,6,6] = Conv(%x, %w, %b) {dilations=[1,1], group=1, kernel_shape=[3,3],
                       pads=[1,1,1,1], strides=[1,1]} "first"
    %r: f32[1,4,6,6] = Relu(%a)
    %m: f32[1,4,3,3] = MaxPool(%r) {kernel_shape=[2,2], pads=[0,0,0,0], strides=[2,2]}
    %g: f32[1,4,1,1] = GlobalAveragePool(%m)
    %h: f32[1,4] = Reshape(%g) {shape=[1,4]}
    %y: f32[1,5] = Gemm(%h, %f) {alpha=1.0, beta=1.0}
    output %y })");
}

TEST(Lower, ASelfAttention) {
  expect_kernels(R"(graph {
    input %x: f32[1,3,8]
    const %w: f32[8,24] = hash:1
    const %s: f32[] = [2.0]
    %a: f32[1,3,24] = MatMul(%x, %w)
    %b: f32[1,3,3,2,4] = Reshape(%a) {shape=[1,3,3,2,4]}
    %t: f32[3,1,2,3,4] = Transpose(%b) {perm=[2,0,3,1,4]}
    %q: f32[1,1,2,3,4], %k: f32[1,1,2,3,4], %v: f32[1,1,2,3,4] = Split(%t) {axis=0, split=[1,1,1]}
    %c: f32[1,1,2,3,3] = MatMul(%q, %k) {transB=1}
    %d: f32[1,1,2,3,3] = Div(%c, %s)
    %e: f32[1,1,2,3,3] = Softmax(%d) {axis=-1}
    %f: f32[1,1,2,3,4] = MatMul(%e, %v)
    %g: f32[1,1,3,2,4] = Transpose(%f) {perm=[0,1,3,2,4]}
    %y: f32[1,3,8] = Reshape(%g) {shape=[1,3,8]}
    output %y })");
}

TEST(Lower, OutputsThatAreInputsAndConstants) {
  expect_kernels(
      "graph { input %x: f32[4]\n const %c: f32[2] = [1.0, 2.0]\n %y: f32[2,2] = Reshape(%x) {shape=[2,2]}\n output "
      "%y\n output %x\n output %c\n output %x }");
}

TEST(Lower, NamesTheNodeItCannotLower) {
  try {
    lower(parse_graph("graph { input %x: f32[4]\n %y: f32[4] = Unheard(%x) \"here\"\n output %y }"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Unheard node 'here'"), std::string::npos);
  }
}

// Values of ordinary sizes between which a kernel would need more than there is.
TEST(Lower, RefusesWhatNoMachineCanCompute) {
  const auto refusal = [](std::string_view text) -> std::string {
    try {
      lower(parse_graph(text));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(R"(graph {
    input %x: f32[1,1,4,4]
    const %w: f32[1,1,3,3] = hash:1
    %y: f32[1,1,3,3] = Conv(%x, %w) {kernel_shape=[3,3], pads=[1073741824,1073741824,1073741824,1073741824], )"
                    R"(strides=[1073741824,1073741824]} "far"
    output %y
  })"),
            "node 'far': its kernel needs a buffer f32[1,1,2147483651,2147483651] of more than 64 TiB");
  EXPECT_EQ(refusal(R"(graph {
    input %x: f32[4194304,4194304]
    %y: f32[4194304,4194304] = MatMul(%x, %x) "long"
    output %y
  })"),
            "node 'long': its kernel takes 7.4e+19 steps");
}

}  // namespace
}  // namespace mcc
