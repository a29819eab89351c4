// The cleaning passes: constants, dead nodes, equal nodes, algebra and movement.
#include "passes_util.h"

namespace mcc {
namespace {

std::string simplified(std::string_view text) { return ops_of(drop_dead(checked(simplify_algebra, text))); }

TEST(FoldConstants, EvaluatesNodesOfConstants) {
  const Graph graph = checked(fold_constants, R"(graph {
    input %x: f32[2]
    const %a: f32[2] = [1.0, 2.0]
    %b: f32[2] = Neg(%a)
    %c: f32[2] = Exp(%b)
    %y: f32[2] = Add(%x, %c)
    output %y
  })");
  EXPECT_EQ(ops_of(graph), "Add");
}

TEST(FoldConstants, LeavesWhatWouldBlowUp) {
  const Graph graph = checked(fold_constants, R"(graph {
    const %a: f32[1,1] = [1.0]
    %b: f32[512,512] = Expand(%a) {shape=[512,512]}
    output %b
  })");
  EXPECT_EQ(ops_of(graph), "Expand");
}

TEST(FoldConstants, LeavesWhatTakesLong) {
  Graph graph;
  const TensorType type{DType::f32, {2000, 2000}};
  const ValueId a = graph.add_constant("a", Tensor(type)), y = graph.add_value("y", type);
  graph.nodes.push_back({"MatMul", "square", {a, a}, {y}, {}});
  graph.outputs = {y};
  EXPECT_EQ(ops_of(fold_constants(graph)), "MatMul");
}

TEST(DropDead, RemovesUnusedNodesValuesAndIdentities) {
  const Graph graph = checked(drop_dead, R"(graph {
    input %x: f32[2]
    %dead: f32[2] = Exp(%x)
    %i: f32[2] = Identity(%x)
    %y: f32[2] = Neg(%i)
    %z: f32[2] = Identity(%y)
    output %z
  })");
  EXPECT_EQ(print(graph), "graph {\n  input %x: f32[2]\n  %z: f32[2] = Neg(%x)\n  output %z\n}\n");
}

TEST(DropDead, KeepsOutputsApart) {
  const Graph graph = checked(drop_dead, R"(graph {
    input %x: f32[2]
    %a: f32[2] = Identity(%x)
    %b: f32[2] = Neg(%x)
    %c: f32[2] = Identity(%b)
    output %a
    output %b
    output %c
  })");
  EXPECT_EQ(count(graph, "Identity"), 2);
}

TEST(MergeEqual, MergesNodesAndConstants) {
  const Graph graph = checked(merge_equal, R"(graph {
    input %x: f32[2]
    const %a: f32[2] = [1.0, 2.0]
    const %b: f32[2] = [1.0, 2.0]
    %c: f32[2] = Add(%x, %a)
    %d: f32[2] = Add(%x, %b)
    %e: f32[2] = Mul(%c, %d)
    output %e
  })");
  EXPECT_EQ(ops_of(graph), "Add Mul");
  EXPECT_EQ(graph.nodes[1].in[0], graph.nodes[1].in[1]);
}

TEST(SimplifyAlgebra, Arithmetic) {
  EXPECT_EQ(simplified(R"(graph {
    input %x: f32[2,3]
    const %zero: f32[] = [0.0]
    const %one: f32[3] = [1.0, 1.0, 1.0]
    const %four: f32[] = [4.0]
    const %half: f32[] = [0.5]
    const %two: f32[] = [2.0]
    %a: f32[2,3] = Add(%x, %zero)
    %b: f32[2,3] = Mul(%one, %a)
    %c: f32[2,3] = Div(%b, %four)
    %d: f32[2,3] = Pow(%c, %two)
    %e: f32[2,3] = Pow(%d, %half)
    %f: f32[2,3] = Sub(%e, %two)
    output %f
  })"),
            "Mul Mul Sqrt Add");
}

TEST(SimplifyAlgebra, ClipsAndCasts) {
  EXPECT_EQ(simplified(R"(graph {
    input %x: f32[4]
    const %zero: f32[] = [0.0]
    %a: f32[4] = Max(%x, %zero)
    %b: f32[4] = Clip(%a) {max=0.5}
    %c: f64[4] = Cast(%b) {to="f64"}
    %d: f32[4] = Cast(%c) {to="f32"}
    output %d
  })"),
            "Clip");
}

TEST(SimplifyAlgebra, MovementThatIsNone) {
  EXPECT_EQ(simplified(R"(graph {
    input %x: f32[1,2,3]
    %a: f32[2,1,3] = Transpose(%x) {perm=[1,0,2]}
    %b: f32[1,2,3] = Transpose(%a) {perm=[1,0,2]}
    %c: f32[6] = Reshape(%b) {shape=[6]}
    %d: f32[3,2] = Reshape(%c) {shape=[3,2]}
    %e: f32[3,2] = Slice(%d) {axes=[0], ends=[9], starts=[0], steps=[1]}
    %f: f32[3,2] = Concat(%e) {axis=0}
    output %f
  })"),
            "Reshape");
}

TEST(SimplifyAlgebra, GatherOfARowIsASlice) {
  EXPECT_EQ(simplified(R"(graph {
    input %x: f32[2,3]
    const %i: i64[] = [-1]
    %y: f32[2] = Gather(%x, %i) {axis=1}
    output %y
  })"),
            "Slice Reshape");
}

TEST(SimplifyAlgebra, WindowsTakeOverPadding) {
  EXPECT_EQ(simplified(R"(graph {
    input %x: f32[1,2,5,5]
    const %w: f32[3,2,3,3] = hash:1
    %a: f32[1,2,7,7] = Pad(%x) {mode="constant", pads=[0,0,1,1,0,0,1,1], value=0.0}
    %b: f32[1,3,5,5] = Conv(%a, %w) {dilations=[1,1], group=1, kernel_shape=[3,3], pads=[0,0,0,0], strides=[1,1]}
    %c: f32[1,3,5,5] = Relu(%b)
    %d: f32[1,3,7,7] = Pad(%c) {mode="constant", pads=[0,0,1,1,0,0,1,1], value=0.0}
    %e: f32[1,3,3,3] = MaxPool(%d) {kernel_shape=[3,3], pads=[0,0,0,0], strides=[2,2]}
    output %e
  })"),
            "Conv Relu MaxPool");
}

TEST(SimplifyAlgebra, PoolsTakeOverNoPaddingThatTheyWouldLieIn) {
  EXPECT_EQ(simplified(R"(graph {
    input %x: f32[1,1,2]
    %a: f32[1,1,2] = Relu(%x)
    %b: f32[1,1,4] = Pad(%a) {mode="constant", pads=[0,0,1,0,0,1], value=0.0}
    %c: f32[1,1,1] = MaxPool(%b) {dilations=[3], kernel_shape=[2], pads=[0,0], strides=[1]}
    output %c
  })"),
            "Relu Pad MaxPool");
}

TEST(SimplifyAlgebra, ProductsReadTransposedOperands) {
  EXPECT_EQ(simplified(R"(graph {
    input %x: f32[2,3,4]
    input %z: f32[2,5,4]
    %a: f32[2,4,5] = Transpose(%z) {perm=[0,2,1]}
    %y: f32[2,3,5] = MatMul(%x, %a)
    output %y
  })"),
            "MatMul");
}

TEST(SimplifyAlgebra, ElementwiseNodesGoBeforeMovement) {
  constexpr std::string_view kProduct =
      "graph { input %x: f32[2,3]\n const %w: f32[3,4] = hash:1\n const %h: f32[] = [0.5]\n"
      "%a: f32[2,4] = MatMul(%x, %w)\n %t: f32[4,2] = Transpose(%a) {perm=[1,0]}\n";
  EXPECT_EQ(simplified(fmt::format("{}%r: f32[4,2] = Relu(%t)\n output %r }}", kProduct)), "MatMul Relu Transpose");
  EXPECT_EQ(simplified(fmt::format("{}%s: f32[2,2,2] = Reshape(%t) {{shape=[2,2,2]}}\n %r: f32[2,2,2] = Mul(%h, %s)\n"
                                   "output %r }}",
                                   kProduct)),
            "MatMul Mul Transpose Reshape");
  EXPECT_EQ(simplified(fmt::format("{}%r: f32[4,2] = Relu(%t)\n output %r\n output %t }}", kProduct)),
            "MatMul Transpose Relu");
  EXPECT_EQ(simplified(fmt::format("{}%r: f32[4,2] = Mul(%t, %t)\n output %r }}", kProduct)), "MatMul Transpose Mul");
}

TEST(SimplifyAlgebra, TransposedJoinsOfComputedParts) {
  constexpr std::string_view kJoin =
      "graph { input %x: f32[2,3,4]\n input %z: f32[2,3,1]\n %a: f32[2,3,4] = Exp(%x)\n"
      "%j: f32[2,3,5] = Concat(%a, %z) {axis=2}\n";
  EXPECT_EQ(simplified(fmt::format("{}%t: f32[3,5,2] = Transpose(%j) {{perm=[1,2,0]}}\n output %t }}", kJoin)),
            "Exp Transpose Transpose Concat");
  EXPECT_EQ(simplified(fmt::format("{}%t: f32[2,5,3] = Transpose(%j) {{perm=[0,2,1]}}\n output %t }}", kJoin)),
            "Exp Concat Transpose");
  EXPECT_EQ(simplified("graph { input %x: f32[2,3]\n %j: f32[4,3] = Concat(%x, %x) {axis=0}\n"
                       "%k: f32[4,3,1] = Reshape(%j) {shape=[4,3,1]}\n %t: f32[1,4,3] = Transpose(%k) {perm=[2,0,1]}\n"
                       "output %t }"),
            "Concat Reshape");
}

// One kernel of thousands of inputs takes minutes to schedule.
TEST(Decompose, WideJoinsBecomeATree) {
  std::string text = "graph {\n  input %x: f32[1,2]\n  %y: f32[600,2] = Concat(%x";
  for (int i = 1; i < 600; i++) text += ", %x";
  text += ") {axis=0}\n  output %y\n}";
  const Graph graph = checked([](const Graph& g) { return simplify_algebra(decompose(g)); }, text);
  size_t widest = 0;
  for (const Node& node : graph.nodes) widest = std::max(widest, node.in.size());
  EXPECT_EQ(widest, 256u);
}

// Rules look at a node's first output, which may be one that nobody wants.
TEST(CompileGraph, NodesWithoutTheirFirstOutput) {
  const Graph graph = parse_graph(R"(graph {
    input %x: f32[2,4]
    _, %i: i64[2,2] = TopK(%x) {axis=1, k=2}
    _, %s: f32[] = DynamicQuantizeLinear(%x)
    output %i
    output %s
  })");
  EXPECT_EQ(compile_graph(graph).calls.size(), 2u);
}

}  // namespace
}  // namespace mcc
