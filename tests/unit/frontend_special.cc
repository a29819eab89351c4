// Operators that end in the frontend: sequences, transforms of signals, images from columns, random numbers, Scan of
// opset 8; each against numbers worked out by hand or by its definition.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "graph/print.h"
#include "onnx_models.h"
#include "ops/op_def.h"

namespace mcc {
namespace {

using Ints = std::vector<i64>;
using Doubles = std::vector<double>;

Tensor run(const OnnxModel& model, const std::vector<Tensor>& inputs) {
  const Graph graph = model.import();
  verify(graph);
  return evaluate(graph, inputs)[0];
}

TEST(Sequences, SplitEraseInsertAndConcat) {
  OnnxModel model = model_of(17, {"4"});
  model.ints("zero", {0}).ints("sizes", {1, 2, 1});
  model.node("SplitToSequence", {"x", "sizes"}, {"parts"});
  model.node("SequenceAt", {"parts", "zero"}, {"head"});
  model.node("SequenceErase", {"parts", "zero"}, {"tail"});
  model.node("SequenceInsert", {"tail", "head"}, {"turned"});
  set_int(model.node("ConcatFromSequence", {"turned"}, {"y"}), "axis", 0);
  EXPECT_EQ(to_doubles(run(model, {floats({4}, {1, 2, 3, 4})})), (Doubles{2, 3, 4, 1}));
}

TEST(Sequences, StackAndRefusals) {
  OnnxModel model = model_of(17, {"2"});
  model.node("SequenceConstruct", {"x", "x"}, {"pair"});
  onnx::NodeProto& stack = model.node("ConcatFromSequence", {"pair"}, {"y"});
  set_int(stack, "axis", -1);
  set_int(stack, "new_axis", 1);
  EXPECT_EQ(to_doubles(run(model, {floats({2}, {1, 2})})), (Doubles{1, 1, 2, 2}));
  OnnxModel whole = model_of(17, {"2"}), computed = model_of(17, {"2"});
  whole.node("SequenceConstruct", {"x"}, {"y"});
  EXPECT_NE(whole.error().find("output 'y' is a sequence"), std::string::npos) << whole.error();
  computed.node("SequenceConstruct", {"x"}, {"one"});
  computed.node("Relu", {"one"}, {"y"});
  EXPECT_NE(computed.error().find("Relu node 'Relu_y': input 0 is a sequence"), std::string::npos) << computed.error();
}

TEST(Sequences, OptionalsAreKnown) {
  OnnxModel model = model_of(17, {"2"});
  model.node("Optional", {"x"}, {"maybe"});
  model.node("OptionalHasElement", {"maybe"}, {"has"});
  model.node("OptionalGetElement", {"maybe"}, {"element"});
  model.node("Where", {"has", "element", "x"}, {"y"});
  EXPECT_EQ(to_doubles(run(model, {floats({2}, {1, 2})})), (Doubles{1, 2}));
}

TEST(Signals, FourierTransformsByDefinition) {
  const std::vector<float> samples = {1, 2, -1, 0.5f, 3};
  for (const i64 onesided : {0, 1}) {
    OnnxModel model = model_of(17, {"1", "5", "1"});
    set_int(model.node("DFT", {"x"}, {"y"}), "onesided", onesided);
    const Tensor y = run(model, {floats({1, 5, 1}, samples)});
    ASSERT_EQ(y.type.shape, (Shape{1, onesided ? 3 : 5, 2}));
    for (i64 k = 0; k < y.type.shape[1]; k++) {
      double re = 0, im = 0;
      for (size_t i = 0; i < samples.size(); i++) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(i) * static_cast<double>(k) / 5;
        re += samples[i] * std::cos(angle), im += samples[i] * std::sin(angle);
      }
      EXPECT_NEAR(y.get(2 * k), re, 1e-5);
      EXPECT_NEAR(y.get(2 * k + 1), im, 1e-5);
    }
  }
}

TEST(Signals, TheInverseGivesTheSignalBack) {
  OnnxModel model = model_of(17, {"2", "6", "2"});
  model.node("DFT", {"x"}, {"there"});
  set_int(model.node("DFT", {"there"}, {"y"}), "inverse", 1);
  Tensor x({DType::f32, {2, 6, 2}});
  for (i64 i = 0; i < x.size(); i++) x.set(i, static_cast<double>(i * i % 7) - 3);
  EXPECT_LT(compare(run(model, {x}), x).relative(), 1e-5);
}

TEST(Images, ColumnsAddUpWhereTheyOverlap) {
  OnnxModel model = model_of(18, {"1", "2", "3"});
  model.ints("image", {4}).ints("block", {2}).node("Col2Im", {"x", "image", "block"}, {"y"});
  EXPECT_EQ(to_doubles(run(model, {floats({1, 2, 3}, {1, 2, 3, 10, 20, 30})})), (Doubles{1, 12, 23, 30}));
}

TEST(Images, TheIdentityGridSamplesTheImageItself) {
  OnnxModel model = model_of(20, {"1", "1", "2", "3"});
  model.floats("theta", {1, 2, 3}, {1, 0, 0, 0, 1, 0}).ints("size", {1, 1, 2, 3});
  model.node("AffineGrid", {"theta", "size"}, {"grid"});
  model.node("GridSample", {"x", "grid"}, {"y"});
  const Tensor x = floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_LT(compare(run(model, {x}), x).relative(), 1e-5);
}

TEST(Images, AntialiasAveragesAllPixels) {
  OnnxModel model = model_of(18, {"1", "1", "1", "4"});
  model.floats("scales", {4}, {1, 1, 1, 0.5f});
  onnx::NodeProto& node = model.node("Resize", {"x", "", "scales"}, {"y"});
  set_int(node, "antialias", 1);
  onnx::AttributeProto& mode = attribute(node, "mode");
  mode.set_type(onnx::AttributeProto::STRING);
  mode.set_s("linear");
  // Weights 1/8 3/8 3/8 1/8; the pixel beyond the edge is the edge.
  const Tensor y = run(model, {floats({1, 1, 1, 4}, {8, 16, 24, 32})});
  EXPECT_NEAR(y.get(0), 1 + 3 + 6 + 3, 1e-5);
  EXPECT_NEAR(y.get(1), 2 + 9 + 12 + 4, 1e-5);
}

TEST(Images, DeformedByNothingIsAConvolution) {
  OnnxModel model = model_of(19, {"2", "4", "4", "5"}), plain = model_of(19, {"2", "4", "4", "5"});
  std::vector<float> weights;
  for (int i = 0; i < 6 * 2 * 2 * 3; i++) weights.push_back(static_cast<float>(i * 7 % 11) - 5);
  for (OnnxModel* m : {&model, &plain}) m->floats("w", {6, 2, 2, 3}, weights).floats("b", {6}, {1, 2, 3, 4, 5, 6});
  onnx::NodeProto& conv = plain.node("Conv", {"x", "w", "b"}, {"y"});
  onnx::NodeProto& deformed = model.floats("offset", {2, 12, 3, 3}, std::vector<float>(216, 0))
                                  .node("DeformConv", {"x", "w", "offset", "b"}, {"y"});
  set_int(conv, "group", 2), set_int(deformed, "group", 2);
  Tensor x({DType::f32, {2, 4, 4, 5}});
  for (i64 i = 0; i < x.size(); i++) x.set(i, static_cast<double>(i * i % 13) - 6);
  EXPECT_LT(compare(run(model, {x}), run(plain, {x})).relative(), 1e-6);
}

TEST(Images, CenterCropAndPad) {
  OnnxModel model = model_of(18, {"5", "2"});
  model.ints("shape", {3, 4}).node("CenterCropPad", {"x", "shape"}, {"y"});
  EXPECT_EQ(to_doubles(run(model, {floats({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})})),
            (Doubles{0, 3, 4, 0, 0, 5, 6, 0, 0, 7, 8, 0}));
}

TEST(Random, NumbersAreDrawnOnceAndDifferByNodeAndSeed) {
  OnnxModel model = model_of(17, {"1000"});
  model.output("z");
  for (const char* name : {"y", "z"}) {
    onnx::NodeProto& node = model.node("RandomUniformLike", {"x"}, {std::string("u") + name});
    if (name[0] == 'z') set_float(node, "seed", 7);
    model.node("Add", {std::string("u") + name, "x"}, {name});
  }
  const Graph graph = model.import();
  const std::vector<Tensor> inputs = {Tensor({DType::f32, {1000}})};
  const std::vector<Tensor> once = evaluate(graph, inputs), again = evaluate(model.import(), inputs);
  EXPECT_EQ(to_doubles(once[0]), to_doubles(again[0]));
  EXPECT_NE(to_doubles(once[0]), to_doubles(once[1]));
  double mean = 0;
  for (const double u : to_doubles(once[1])) {
    EXPECT_TRUE(u >= 0 && u < 1);
    mean += u / 1000;
  }
  EXPECT_NEAR(mean, 0.5, 0.05);
}

TEST(Random, NormalNumbersHaveTheirMeanAndDeviation) {
  OnnxModel model = model_of(17, {"1"});
  onnx::NodeProto& node = model.node("RandomNormal", {}, {"n"});
  set_ints(node, "shape", {4000});
  set_float(node, "mean", 2);
  set_float(node, "scale", 3);
  model.node("Add", {"n", "x"}, {"y"});
  const Doubles drawn = to_doubles(run(model, {floats({1}, {0})}));
  double mean = 0, square = 0;
  for (const double n : drawn) mean += n / 4000;
  for (const double n : drawn) square += (n - mean) * (n - mean) / 4000;
  EXPECT_NEAR(mean, 2, 0.2);
  EXPECT_NEAR(std::sqrt(square), 3, 0.2);
}

TEST(ScanOfOpset8, RunsOverEachBatch) {
  OnnxModel model(8);
  model.input("start", {"2", "1"}).input("x", {"2", "3", "1"}).output("y").output("sums");
  onnx::NodeProto& node = model.node("Scan", {"", "start", "x"}, {"y", "sums"});
  set_int(node, "num_scan_inputs", 1);
  onnx::GraphProto& body = set_graph(node, "body");
  for (const char* name : {"state", "next"}) body.add_input()->set_name(name);
  OnnxModel::add_node(body, "Add", {"state", "next"}, {"sum"});
  for (const char* name : {"sum", "sum"}) body.add_output()->set_name(name);
  const Graph graph = model.import();
  const std::vector<Tensor> out =
      evaluate(graph, std::vector{floats({2, 1}, {0, 10}), floats({2, 3, 1}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(to_doubles(out[0]), (Doubles{6, 25}));
  EXPECT_EQ(to_doubles(out[1]), (Doubles{1, 3, 6, 14, 19, 25}));
}

}  // namespace
}  // namespace mcc
