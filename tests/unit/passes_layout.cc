// Channels-last: the function stays, and transpositions remain only at the ends of a convolution network. Images of few
// channels are read as they are.
#include "passes_util.h"

namespace mcc {
namespace {

Graph laid_out(std::string_view text) {
  const Graph before = parse_graph(text), after = run_passes(before);
  expect_same(before, after);
  return after;
}

constexpr std::string_view kConv = "{dilations=[1,1], group=1, kernel_shape=[3,3], pads=[1,1,1,1], strides=[1,1]}";
constexpr std::string_view kPoint = "{dilations=[1,1], group=1, kernel_shape=[1,1], pads=[0,0,0,0], strides=[1,1]}";

// %x [2,3,6,6] and %a [2,4,6,6] = a convolution of it; the test goes on from there.
std::string after_conv(std::string_view rest) {
  return fmt::format(
      "graph {{ input %x: f32[2,3,6,6]\n const %w: f32[4,3,3,3] = hash:1\n %a: f32[2,4,6,6] = Conv(%x, %w) {}\n{} }}",
      kConv, rest);
}

TEST(LayOut, LeavesGraphsWithoutConvolutionsAlone) {
  const Graph graph = laid_out(
      "graph { input %x: f32[2,3,4]\n %t: f32[2,4,3] = Transpose(%x) {perm=[0,2,1]}\n %y: f32[2,4,3] = Relu(%t)\n "
      "output %y }");
  EXPECT_EQ(ops_of(graph), "Transpose Relu");
}

TEST(LayOut, ResidualBlockWithSqueezeAndExcite) {
  const Graph graph = laid_out(after_conv(fmt::format(R"(
    const %v: f32[4,4,1,1] = hash:2
    const %f: f32[4,5] = hash:3
    %b: f32[2,4,6,6] = Relu(%a)
    %p: f32[2,4,1,1] = GlobalAveragePool(%b)
    %q: f32[2,4,1,1] = Conv(%p, %v) {0}
    %h: f32[2,4,1,1] = HardSigmoid(%q) {{alpha=0.2, beta=0.5}}
    %s: f32[2,4,6,6] = Mul(%b, %h)
    %r: f32[2,4,6,6] = Add(%s, %b)
    %m: f32[2,4,3,3] = MaxPool(%r) {{kernel_shape=[2,2], pads=[0,0,0,0], strides=[2,2]}}
    %g: f32[2,4] = ReduceMean(%m) {{axes=[2,3], keepdims=0}}
    %y: f32[2,5] = MatMul(%g, %f)
    output %y)",
                                                      kPoint)));
  EXPECT_EQ(count(graph, "Transpose"), 0);
}

TEST(LayOut, JoinsSplitsAndSlicesAlongEachAxis) {
  const Graph graph = laid_out(after_conv(R"(
    const %c: f32[1,4,1,1] = hash:5
    const %d: f32[6] = hash:6
    %l: f32[2,2,6,6], %r: f32[2,2,6,6] = Split(%a) {axis=1, split=[2,2]}
    %j: f32[2,4,6,6] = Concat(%r, %l) {axis=1}
    %k: f32[2,4,6,6] = Add(%j, %c)
    %n: f32[2,4,6,6] = Mul(%k, %d)
    %s: f32[2,4,3,6] = Slice(%n) {axes=[2], ends=[6], starts=[0], steps=[2]}
    %p: f32[2,4,5,8] = Pad(%s) {mode="reflect", pads=[0,0,1,1,0,0,1,1], value=0.0}
    %t: f32[2,4,5,8] = Softmax(%p) {axis=1}
    %y: f32[2,5,8] = ReduceMax(%t) {axes=[1], keepdims=0}
    output %y)"));
  EXPECT_EQ(count(graph, "Transpose"), 0);
}

TEST(LayOut, ChannelShuffleCostsOneTransposition) {
  const Graph graph = laid_out(after_conv(fmt::format(R"(
    const %v: f32[4,4,1,1] = hash:2
    %b: f32[2,2,2,6,6] = Reshape(%a) {{shape=[2,2,2,6,6]}}
    %c: f32[2,2,2,6,6] = Transpose(%b) {{perm=[0,2,1,3,4]}}
    %d: f32[2,4,6,6] = Reshape(%c) {{shape=[2,4,6,6]}}
    %e: f32[2,4,6,6] = Conv(%d, %v) {0}
    %y: f32[2,4] = ReduceMean(%e) {{axes=[2,3], keepdims=0}}
    output %y)",
                                                      kPoint)));
  EXPECT_EQ(count(graph, "Transpose"), 1);
}

TEST(LayOut, PatchesBecomeTokensForFree) {
  const Graph graph = laid_out(after_conv(R"(
    const %f: f32[4,5] = hash:3
    %b: f32[2,4,36] = Reshape(%a) {shape=[2,4,36]}
    %c: f32[2,36,4] = Transpose(%b) {perm=[0,2,1]}
    %y: f32[2,36,5] = MatMul(%c, %f)
    output %y)"));
  EXPECT_EQ(count(graph, "Transpose"), 0);
}

TEST(LayOut, SpaceAndDepth) {
  for (const char* mode : {"DCR", "CRD"}) {
    const Graph graph = laid_out(after_conv(fmt::format(R"(
      %b: f32[2,1,12,12] = DepthToSpace(%a) {{blocksize=2, mode="{}"}}
      %c: f32[2,9,4,4] = SpaceToDepth(%b) {{blocksize=3}}
      %y: f32[2,9,4] = ReduceSum(%c) {{axes=[3], keepdims=0}}
      output %y)",
                                                        mode)));
    EXPECT_EQ(count(graph, "DepthToSpace"), 0);
  }
}

TEST(LayOut, DetectionHead) {
  const Graph graph = laid_out(after_conv(R"(
    const %g: f32[1,2,6,6,1] = hash:7
    %b: f32[2,2,2,6,6] = Reshape(%a) {shape=[2,2,2,6,6]}
    %c: f32[2,2,6,6,2] = Transpose(%b) {perm=[0,1,3,4,2]}
    %d: f32[2,2,6,6,2] = Sigmoid(%c)
    %e: f32[2,2,6,6,1] = Slice(%d) {axes=[4], ends=[1], starts=[0], steps=[1]}
    %f: f32[2,2,6,6,1] = Mul(%e, %g)
    %h: f32[2,2,6,6,3] = Concat(%f, %d) {axis=4}
    %y: f32[2,72,3] = Reshape(%h) {shape=[2,72,3]}
    output %y)"));
  EXPECT_LE(count(graph, "Transpose"), 2);
}

TEST(LayOut, FlattenSeesTheOrderOfTheModel) {
  const Graph graph = laid_out(after_conv(R"(
    const %f: f32[144,5] = hash:3
    %b: f32[2,144] = Reshape(%a) {shape=[2,144]}
    %y: f32[2,5] = MatMul(%b, %f)
    output %y
    output %a)"));
  EXPECT_EQ(count(graph, "Transpose"), 1);
}

TEST(LayOut, OnlyImagesOfFewChannelsAreReadInPlanes) {
  for (const i64 channels : {3, 64}) {
    const Graph graph = laid_out(fmt::format(R"(graph {{
      input %x: f32[1,{0},6,6]
      const %w: f32[4,{0},3,3] = hash:1
      %a: f32[1,4,6,6] = Conv(%x, %w) {1}
      %y: f32[1,4] = ReduceMean(%a) {{axes=[2,3], keepdims=0}}
      output %y }})",
                                             channels, kConv));
    EXPECT_EQ(count(graph, "Transpose"), channels == 3 ? 0 : 1);
  }
}

TEST(LayOut, PointwiseBetweenInputAndOutputIsAProductInPlace) {
  for (const i64 edge : {4, 24}) {
    const Graph graph = laid_out(fmt::format(R"(graph {{
      input %x: f32[1,20,{0},{0}]
      input %r: f32[1,4,{0},{0}]
      const %w: f32[4,20,1,1] = hash:1
      %a: f32[1,4,{0},{0}] = Conv(%x, %w) {1}
      %b: f32[1,4,{0},{0}] = Add(%a, %r)
      %y: f32[1,4,{0},{0}] = Relu(%b)
      output %y }})",
                                             edge, kPoint));
    EXPECT_EQ(count(graph, "Transpose") > 0, edge == 4);
  }
}

TEST(LayOut, OneAndThreeSpatialDimensions) {
  const Graph line = laid_out(R"(graph {
    input %x: f32[1,3,8]
    const %w: f32[4,3,3] = hash:1
    %a: f32[1,4,8] = Conv(%x, %w) {dilations=[1], group=1, kernel_shape=[3], pads=[1,1], strides=[1]}
    %b: f32[1,4,8] = Relu(%a)
    %y: f32[1,8,4] = Transpose(%b) {perm=[0,2,1]}
    output %y })");
  EXPECT_EQ(count(line, "Transpose"), 0);
  const Graph volume = laid_out(R"(graph {
    input %x: f32[1,2,4,4,4]
    const %w: f32[3,2,3,3,3] = hash:1
    %a: f32[1,3,2,2,2] = Conv(%x, %w) {dilations=[1,1,1], group=1, kernel_shape=[3,3,3],
                         pads=[0,0,0,0,0,0], strides=[1,1,1]}
    %b: f32[1,3,1,1,1] = AveragePool(%a) {kernel_shape=[2,2,2], pads=[0,0,0,0,0,0], strides=[1,1,1]}
    %y: f32[1,3] = Reshape(%b) {shape=[1,3]}
    output %y })");
  EXPECT_EQ(count(volume, "Transpose"), 0);
}

}  // namespace
}  // namespace mcc
