// Values whose length depends on data: the largest shape, the companion output that tells the real one, the rules by
// which the count passes through operators, and loops that end early.
#include <gtest/gtest.h>

#include "graph/print.h"
#include "onnx_models.h"
#include "ops/op_def.h"

namespace mcc {
namespace {

using Ints = std::vector<i64>;
using Doubles = std::vector<double>;

std::vector<Tensor> run(const OnnxModel& model, const std::vector<Tensor>& inputs) {
  const Graph graph = model.import();
  verify(graph);
  return evaluate(graph, inputs);
}

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId v : graph.outputs) names.push_back(graph.values[static_cast<size_t>(v)].name);
  return names;
}

// The first `count` elements of a list.
Doubles first(const Tensor& list, i64 count) {
  Doubles all = to_doubles(list);
  return {all.begin(), all.begin() + count};
}

TEST(Counted, NonZeroHasTheLargestShapeAndACompanion) {
  OnnxModel model = model_of(13, {"2", "3"});
  model.node("NonZero", {"x"}, {"y"});
  const Graph graph = model.import();
  EXPECT_EQ(output_names(graph), (std::vector<std::string>{"y", "y:shape"}));
  const std::vector<Tensor> out = evaluate(graph, std::vector{floats({2, 3}, {0, 1, 0, 2, 0, 3})});
  EXPECT_EQ(out[0].type.shape, (Shape{2, 6}));
  EXPECT_EQ(to_ints(out[0]), (Ints{0, 1, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0}));
  EXPECT_EQ(to_ints(out[1]), (Ints{2, 3}));
}

TEST(Counted, ConstantInputsFoldToTheExactLength) {
  OnnxModel model(13);
  model.input("x", {"3"}).output("y").floats("mask", {4}, {0, 1, 0, 1});
  model.node("NonZero", {"mask"}, {"where"});
  model.node("Cast", {"where"}, {"places"}).add_attribute()->CopyFrom([] {
    onnx::AttributeProto to;
    to.set_name("to");
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(onnx::TensorProto::FLOAT);
    return to;
  }());
  model.node("Identity", {"places"}, {"y"});
  const Graph graph = model.import();
  EXPECT_EQ(output_names(graph), (std::vector<std::string>{"y"}));
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[0])].type.shape, (Shape{1, 2}));
}

TEST(Counted, TheCountPassesThroughTransposeAndGather) {
  OnnxModel model = model_of(13, {"5"});
  model.node("NonZero", {"x"}, {"where"});
  model.node("Transpose", {"where"}, {"rows"});
  model.node("GatherND", {"x", "rows"}, {"y"});
  const std::vector<Tensor> out = run(model, {floats({5}, {0, 4, 0, 0, 7})});
  EXPECT_EQ(to_ints(out[1]), (Ints{2}));
  EXPECT_EQ(first(out[0], 2), (Doubles{4, 7}));
}

TEST(Counted, ReductionsLookAtTheRealPartOnly) {
  for (const auto& [op, want] : std::vector<std::pair<std::string, double>>{
           {"ReduceSum", -7}, {"ReduceMean", -3.5}, {"ReduceMax", -3}, {"ReduceMin", -4}}) {
    OnnxModel model = model_of(13, {"5"});
    model.node("NonZero", {"x"}, {"where"});
    model.node("Transpose", {"where"}, {"rows"});
    model.node("GatherND", {"x", "rows"}, {"values"});
    set_int(model.node(op, {"values"}, {"y"}), "keepdims", 0);
    const std::vector<Tensor> out = run(model, {floats({5}, {0, -4, 0, 0, -3})});
    ASSERT_EQ(out.size(), 1u) << op;
    EXPECT_EQ(to_doubles(out[0]), (Doubles{want})) << op;
  }
}

TEST(Counted, ShapeGivesTheRealOne) {
  OnnxModel model = model_of(13, {"4"});
  model.node("NonZero", {"x"}, {"where"});
  model.node("Shape", {"where"}, {"y"});
  EXPECT_EQ(to_ints(run(model, {floats({4}, {1, 0, 1, 1})})[0]), (Ints{1, 3}));
}

TEST(Counted, CompressAlongAnAxis) {
  OnnxModel model = model_of(13, {"2", "3"});
  model.input("keep", {"3"}, onnx::TensorProto::BOOL);
  set_int(model.node("Compress", {"x", "keep"}, {"y"}), "axis", 1);
  const std::vector<Tensor> out =
      run(model, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), Tensor::of<u8>(DType::boolean, {3}, {0, 1, 1})});
  EXPECT_EQ(to_ints(out[1]), (Ints{2, 2}));
  EXPECT_EQ(first(out[0], 2), (Doubles{2, 3}));
}

TEST(Counted, UniqueRows) {
  OnnxModel model = model_of(13, {"4", "2"});
  model.output("first").output("inverse").output("counts");
  set_int(model.node("Unique", {"x"}, {"y", "first", "inverse", "counts"}), "axis", 0);
  const std::vector<Tensor> out = run(model, {floats({4, 2}, {3, 1, 1, 2, 3, 1, 1, 1})});
  EXPECT_EQ(to_ints(out[4]), (Ints{3, 2}));
  EXPECT_EQ(first(out[0], 6), (Doubles{1, 1, 1, 2, 3, 1}));
  EXPECT_EQ(first(out[1], 3), (Doubles{3, 1, 0}));
  EXPECT_EQ(to_ints(out[2]), (Ints{2, 1, 2, 0}));
  EXPECT_EQ(first(out[3], 3), (Doubles{1, 1, 2}));
}

TEST(Counted, SuppressionKeepsTheBestOfBoxesThatOverlap) {
  OnnxModel model(13);
  model.input("boxes", {"1", "3", "4"}).input("scores", {"1", "1", "3"}).output("y");
  model.ints("most", {3}).floats("overlap", {1}, {0.5f});
  model.node("NonMaxSuppression", {"boxes", "scores", "most", "overlap"}, {"all"});
  model.ints("zero", {0}).ints("two", {2}).node("Slice", {"all", "zero", "two", "zero"}, {"y"});
  const std::vector<Tensor> out = run(
      model, {floats({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 1.25f, 5, 5, 6, 6}), floats({1, 1, 3}, {0.5f, 0.75f, 0.25f})});
  EXPECT_EQ(to_ints(out[1]), (Ints{2, 3}));
  EXPECT_EQ(first(out[0], 6), (Doubles{0, 0, 1, 0, 0, 2}));
}

// Boxes of a good score only, then those of them that do not overlap: both lengths depend on data.
TEST(Counted, SuppressionAmongBoxesThatWereSelected) {
  OnnxModel model(13);
  model.input("boxes", {"4", "4"}).input("scores", {"4"}).output("y");
  model.floats("least", {}, {0.3f}).ints("most", {4}).floats("overlap", {1}, {0.5f});
  model.node("Greater", {"scores", "least"}, {"good"});
  model.node("NonZero", {"good"}, {"where"});
  model.ints("first", {0}).ints("both", {0, 1}).node("Squeeze", {"where", "first"}, {"places"});
  model.node("Gather", {"boxes", "places"}, {"some"});
  model.node("Gather", {"scores", "places"}, {"some_scores"});
  model.node("Unsqueeze", {"some", "first"}, {"in_boxes"});
  model.node("Unsqueeze", {"some_scores", "both"}, {"in_scores"});
  model.node("NonMaxSuppression", {"in_boxes", "in_scores", "most", "overlap"}, {"found"});
  model.ints("two", {2});
  set_int(model.node("Gather", {"found", "two"}, {"column"}), "axis", 1);
  model.ints("second", {1}).node("Squeeze", {"column", "second"}, {"kept"});
  model.node("Gather", {"some", "kept"}, {"y"});
  const std::vector<Tensor> out = run(model, {floats({4, 4}, {5, 5, 6, 6, 0, 0, 1, 1, 0, 0, 1, 1.25f, 7, 7, 8, 8}),
                                              floats({4}, {0.5f, 0.25f, 0.75f, 1})});
  EXPECT_EQ(to_ints(out[1]), (Ints{3, 4}));
  EXPECT_EQ(first(out[0], 12), (Doubles{7, 7, 8, 8, 0, 0, 1, 1.25, 5, 5, 6, 6}));
}

TEST(Counted, NegativeIndicesCountFromTheRealEnd) {
  OnnxModel model = model_of(13, {"5"});
  model.node("NonZero", {"x"}, {"where"});
  model.ints("last", {-1});
  set_int(model.node("Gather", {"where", "last"}, {"y"}), "axis", 1);
  const std::vector<Tensor> out = run(model, {floats({5}, {1, 1, 0, 1, 0})});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(to_ints(out[0]), (Ints{3}));
}

TEST(Counted, OperatorsWithoutARuleRefuse) {
  OnnxModel model = model_of(13, {"4"});
  model.ints("repeats", {1, 2}).node("NonZero", {"x"}, {"where"});
  model.node("Tile", {"where", "repeats"}, {"y"});
  EXPECT_NE(model.error().find("Tile node 'Tile_y': the length of input 0 depends on data (at most 4)"),
            std::string::npos)
      << model.error();
  OnnxModel wrong = model_of(13, {"4"});
  wrong.ints("others", {1, 2, 3, 4}).node("NonZero", {"x"}, {"where"});
  wrong.node("Add", {"where", "others"}, {"y"});
  EXPECT_NE(wrong.error().find("has the fixed length 4"), std::string::npos) << wrong.error();
}

// v = v + v while the sum of v is below 10, at most five times.
OnnxModel early_exit() {
  OnnxModel model = model_of(13, {"2"});
  model.output("all").ints("trips", {5}).floats("limit", {}, {10});
  onnx::NodeProto& node = model.node("Loop", {"trips", "", "x"}, {"y", "all"});
  onnx::GraphProto& body = set_graph(node, "body");
  for (const char* name : {"i", "go", "v"}) body.add_input()->set_name(name);
  OnnxModel::add_node(body, "Add", {"v", "v"}, {"twice"});
  set_int(OnnxModel::add_node(body, "ReduceSum", {"twice"}, {"sum"}), "keepdims", 0);
  OnnxModel::add_node(body, "Less", {"sum", "limit"}, {"go_on"});
  for (const char* name : {"go_on", "twice", "twice"}) body.add_output()->set_name(name);
  return model;
}

TEST(Counted, LoopsThatEndEarly) {
  const OnnxModel model = early_exit();
  const std::vector<Tensor> out = run(model, {floats({2}, {1, 2})});
  EXPECT_EQ(to_doubles(out[0]), (Doubles{4, 8}));
  EXPECT_EQ(to_ints(out[2]), (Ints{2, 2}));
  EXPECT_EQ(first(out[1], 4), (Doubles{2, 4, 4, 8}));
  const std::vector<Tensor> never_below = run(model, {floats({2}, {-1, 0})});
  EXPECT_EQ(to_doubles(never_below[0]), (Doubles{-32, 0}));
  EXPECT_EQ(to_ints(never_below[2]), (Ints{5, 2}));
}

TEST(Counted, LoopsWithoutABoundRefuse) {
  OnnxModel model = early_exit();
  model.graph().mutable_node(0)->set_input(0, "");
  EXPECT_NE(model.error().find("is not bounded"), std::string::npos) << model.error();
}

TEST(Counted, ALoopThatNeverRunsHasEmptyScans) {
  OnnxModel model = early_exit();
  model.graph().mutable_initializer(0)->set_int64_data(0, 0);
  const Graph graph = model.import();
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[1])].type.shape, (Shape{0, 2}));
}

// Places beyond the count, and updates for them, change nothing; negative places count from the data's end.
TEST(Counted, ScattersOnlyWhatIsReal) {
  OnnxModel model = model_of(16, {"4"});
  model.ints("four", {4});
  model.node("NonZero", {"x"}, {"row"});
  model.node("Transpose", {"row"}, {"places"});
  model.node("GatherND", {"x", "places"}, {"values"});
  model.node("Sub", {"places", "four"}, {"from_end"});
  model.node("Neg", {"values"}, {"negative"});
  model.node("ScatterND", {"x", "from_end", "negative"}, {"y"});
  const std::vector<Tensor> out = run(model, {floats({4}, {5, 0, 7, 0})});
  EXPECT_EQ(out.size(), 1u);
  EXPECT_EQ(to_doubles(out[0]), (Doubles{-5, 0, -7, 0}));
}

TEST(Counted, RowsAreNormalisedEach) {
  OnnxModel model = model_of(17, {"3", "2"});
  model.input("keep", {"3"}, onnx::TensorProto::BOOL).floats("one", {2}, {1, 1}).output("z");
  set_int(model.node("Compress", {"x", "keep"}, {"rows"}), "axis", 0);
  onnx::NodeProto& node = model.node("LayerNormalization", {"rows", "one"}, {"y"});
  set_float(node, "epsilon", 0);
  model.node("Identity", {"rows"}, {"z"});
  const Tensor keep = Tensor::of<std::uint8_t>(DType::boolean, {3}, {0, 1, 1});
  const std::vector<Tensor> out = run(model, {floats({3, 2}, {9, 9, 1, 3, 4, 2}), keep});
  EXPECT_EQ(first(out[0], 4), (Doubles{-1, 1, 1, -1}));
  OnnxModel across = model;
  set_int(*across.graph().mutable_node(1), "axis", 0);
  EXPECT_NE(across.error().find("depends on data"), std::string::npos) << across.error();
}

}  // namespace
}  // namespace mcc
