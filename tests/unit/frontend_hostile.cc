// Models that are well-formed and absurd: each is refused in one line, soon, and without much memory.
#include <gtest/gtest.h>

#include <limits>

#include "onnx_models.h"

namespace mcc {
namespace {

using onnx::TensorProto;

void add_output(onnx::GraphProto& graph, const std::string& name) {
  OnnxModel::add_value(*graph.add_output(), name, {}, TensorProto::FLOAT);
}

TEST(Hostile, ScanOfNothingOverAHugeAxis) {
  OnnxModel model(17);
  model.input("x", {"1099511627776", "2"}).output("y");
  onnx::NodeProto& node = model.node("Scan", {"x"}, {"y"});
  set_int(node, "num_scan_inputs", 1);
  onnx::GraphProto& body = set_graph(node, "body");
  OnnxModel::add_value(*body.add_input(), "row", {}, TensorProto::FLOAT);
  add_output(body, "row");
  expect_refused(model, "nodes once loops and functions are unrolled");
}

TEST(Hostile, SubgraphOutputsWithoutAName) {
  OnnxModel model(17);
  model.input("x", {"2"}).input("c", {"1"}, TensorProto::BOOL).output("y");
  onnx::NodeProto& node = model.node("If", {"c"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& body = set_graph(node, branch);
    OnnxModel::add_node(body, "Relu", {"x"}, {"r"});
    add_output(body, "");
  }
  expect_refused(model, "an output of a subgraph has no name");
}

TEST(Hostile, NodesWithoutOutputs) {
  for (const char* op : {"Relu", "Conv", "Constant", "Loop"}) {
    OnnxModel model(17);
    model.input("x", {"2"}).output("x").node(op, {"x"}, {});
    expect_refused(model, "has no outputs");
  }
}

TEST(Hostile, SizesThatNoMachineHas) {
  OnnxModel input(17);
  input.input("x", {"4194304", "4194304", "8"}).output("y").node("Relu", {"x"}, {"y"});
  expect_refused(input, "input 'x' f32[4194304,4194304,8] has more than 64 TiB");
  OnnxModel result(17);
  result.input("x", {"1", "1"}).ints("shape", {1 << 23, 1 << 23}).output("y").node("Expand", {"x", "shape"}, {"y"});
  expect_refused(result, "the result f32[8388608,8388608] has more than 64 TiB");
}

TEST(Hostile, BlocksWhoseSquareOverflows) {
  for (const char* op : {"DepthToSpace", "SpaceToDepth"}) {
    for (const i64 size : {i64{0}, i64{-1}, i64{1} << 32, i64{1} << 62}) {
      OnnxModel model(13);
      model.input("x", {"1", "4", "4", "4"}).output("y");
      set_int(model.node(op, {"x"}, {"y"}), "blocksize", size);
      expect_refused(model, fmt::format("blocksize {} is not", size));
    }
  }
}

TEST(Hostile, TypesAndSizesThatDoNotFit) {
  OnnxModel bias(13);
  bias.input("x", {"1", "1", "4", "4"}).input("b", {"1"}, TensorProto::INT32).output("y");
  bias.floats("w", {1, 1, 1, 1}, {1}).node("Conv", {"x", "w", "b"}, {"y"});
  expect_refused(bias, "bias i32[1] does not fit 1 output channels of f32");
  OnnxModel pads(13);
  pads.input("x", {"1", "1", "4"}).output("y");
  onnx::NodeProto& pool = pads.node("MaxPool", {"x"}, {"y"});
  set_ints(pool, "kernel_shape", {2});
  set_ints(pool, "pads", {std::numeric_limits<i64>::max(), 0});
  expect_refused(pads, "must not be larger than");
  OnnxModel arg(13);
  arg.input("x", {"2"}, TensorProto::BOOL).output("y").node("ArgMax", {"x"}, {"y"});
  expect_refused(arg, "takes numbers, not bool");
  OnnxModel gather(13);
  gather.input("x", {"0", "2"}).ints("i", {1, 1}).output("y");
  gather.graph().mutable_initializer(0)->clear_dims();
  gather.graph().mutable_initializer(0)->add_dims(1), gather.graph().mutable_initializer(0)->add_dims(2);
  gather.node("GatherElements", {"x", "i"}, {"y"});
  expect_refused(gather, "axis 0 is empty");
  OnnxModel tuples(13);
  tuples.input("x", {"2"}).ints("i", {1}).output("y");
  set_int(tuples.node("GatherND", {"x", "i"}, {"y"}), "batch_dims", std::numeric_limits<i64>::max());
  expect_refused(tuples, "do not fit 2");
  OnnxModel lstm(14);
  lstm.input("x", {"1", "1", "1"})
      .floats("w", {1, 4, 1}, {1, 1, 1, 1})
      .floats("r", {1, 4, 1}, {1, 1, 1, 1})
      .output("y");
  set_int(lstm.node("LSTM", {"x", "w", "r"}, {"y"}), "hidden_size", i64{1} << 62);
  expect_refused(lstm, "hidden_size 4611686018427387904 does not fit R");
}

TEST(Hostile, QuantisedProducts) {
  OnnxModel zero(13);
  zero.input("a", {"2", "3"}, TensorProto::UINT8).input("b", {"3", "4"}, TensorProto::UINT8);
  zero.input("za", {"5"}, TensorProto::UINT8).output("y").node("MatMulInteger", {"a", "b", "za"}, {"y"});
  expect_refused(zero, "the zero point of the first operand u8[5] does not fit 2x3");
  OnnxModel missing(13);
  missing.input("a", {"2", "3"}, TensorProto::UINT8).input("b", {"3", "4"}, TensorProto::UINT8).input("s", {});
  missing.input("z", {}, TensorProto::UINT8).output("y");
  missing.node("QLinearMatMul", {"a", "s", "z", "b", "s", "z", "s", ""}, {"y"});
  expect_refused(missing, "is missing");
}

TEST(Hostile, ManyLargeConstants) {
  OnnxModel model(13);
  model.input("x", {"1"}).ints("size", {32 << 20}).output("y");
  std::vector<std::string> parts;
  for (int i = 0; i < 100; i++) {
    parts.push_back(fmt::format("c{}", i));
    model.node("ConstantOfShape", {"size"}, {parts.back()});
  }
  model.node("Concat", parts, {"all"});
  model.node("Mul", {"x", "all"}, {"y"});
  expect_refused(model, "computed constants would have more than 1024 MiB together");
}

TEST(Hostile, AttributesOfAnotherType) {
  OnnxModel model(13);
  model.ints("size", {2}).output("y");
  set_int(model.node("ConstantOfShape", {"size"}, {"y"}), "value", 1);
  expect_refused(model, "attribute 'value' is not a tensor");
}

TEST(Hostile, PoolsWhollyInTheirPadding) {
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    OnnxModel model(19);
    model.input("x", {"1", "2", "6", "5"}).output("y");
    onnx::NodeProto& pool = model.node(op, {"x"}, {"y"});
    set_ints(pool, "kernel_shape", {2, 3});
    set_ints(pool, "pads", {64, 1, 0, 1});
    expect_refused(model, "wholly in the padding of 6 pixels");
  }
}

TEST(Hostile, KernelsOfTooManyElements) {
  OnnxModel model(19);
  model.input("x", {"1", "1", "4", "4"}).output("y");
  onnx::NodeProto& pool = model.node("MaxPool", {"x"}, {"y"});
  set_ints(pool, "kernel_shape", {1 << 30, 1 << 30});
  set_ints(pool, "pads", std::vector<i64>(4, (1 << 30) - 1));
  set_ints(pool, "strides", {1 << 30, 1 << 30});
  expect_refused(model, "a kernel of 1073741824x1073741824 has more than");
}

// A constant under a window of so many taps is not folded: the reference would go over all of them.
TEST(Hostile, FoldingUnderALargeWindow) {
  OnnxModel model(19);
  model.floats("x", {1, 1, 1, 1}, {1}).output("y");
  onnx::NodeProto& pool = model.node("AveragePool", {"x"}, {"y"});
  set_ints(pool, "kernel_shape", {1 << 14, 1 << 14});
  set_ints(pool, "pads", std::vector<i64>(4, (1 << 13) + 8));
  EXPECT_EQ(model.import().nodes.size(), 1u);
}

// Numbers whose products, differences or magnitudes i64 does not hold.
TEST(Hostile, NumbersAtTheEndsOfTheirType) {
  constexpr i64 low = std::numeric_limits<i64>::min(), high = std::numeric_limits<i64>::max();
  OnnxModel tile(13);
  tile.input("x", {"4"}).ints("r", {high / 2}).output("y").node("Tile", {"x", "r"}, {"y"});
  expect_refused(tile, "Tile node");
  OnnxModel pad(13);
  pad.input("x", {"4"}).ints("p", {low, 0}).output("y").node("Pad", {"x", "p"}, {"y"});
  expect_refused(pad, "a pad is -9223372036854775808");
  for (const i64 step : {low, high}) {
    OnnxModel slice(13);
    slice.input("x", {"4"}).ints("s", {2}).ints("e", {step < 0 ? low : high}).ints("a", {0}).ints("t", {step});
    slice.output("y").node("Slice", {"x", "s", "e", "a", "t"}, {"y"});
    EXPECT_EQ(slice.import().values.back().type, (TensorType{DType::f32, {1}}));
  }
  OnnxModel spread(13);
  spread.input("x", {"1", "1", "1099511627776"}).floats("w", {1, 1, 1}, {1}).output("y");
  set_ints(spread.node("ConvTranspose", {"x", "w"}, {"y"}), "strides", {1 << 30});
  expect_refused(spread, "1099511627776 pixels 1073741824 apart are too many");
  OnnxModel scan(17);
  scan.input("x", {"2", "3"}).output("y");
  onnx::NodeProto& node = scan.node("Scan", {"x"}, {"y"});
  set_int(node, "num_scan_inputs", low);
  set_graph(node, "body");
  expect_refused(scan, "attribute 'num_scan_inputs' is -9223372036854775808");
  OnnxModel type(13);
  type.output("y");
  onnx::NodeProto& random = type.node("RandomNormal", {}, {"y"});
  set_ints(random, "shape", {2});
  set_int(random, "dtype", (i64{1} << 32) + 1);
  expect_refused(type, "attribute 'dtype'");
}

// Everything but the data, as attributes.
TEST(Hostile, SlicesOfNothing) {
  OnnxModel model(9);
  onnx::NodeProto& node = model.output("y").node("Slice", {}, {"y"});
  set_ints(node, "starts", {0});
  set_ints(node, "ends", {1});
  expect_refused(model, "('input') is missing");
}

TEST(Hostile, WindowsWithoutAnAxis) {
  OnnxModel model(17);
  model.input("x", {"1", "16"}).floats("w", {}, {1}).ints("step", {2}).output("y");
  model.node("STFT", {"x", "step", "w"}, {"y"});
  expect_refused(model, "the window has rank 0, not 1");
}

// Also where nothing reads what the node gives, so that no program is made of it.
TEST(Hostile, WordsThatOperatorsDoNotKnow) {
  const auto model = [](const char* op, const std::string& word, const std::string& value, i64 inputs,
                        TensorProto::DataType type) {
    OnnxModel made(20);
    made.input("x", {"2", "3"}, type).output("y");
    onnx::NodeProto& node = made.node(op, {"x"}, {"unused"});
    for (i64 i = 1; i < inputs; i++) node.add_input("x");
    set_string(node, word, value);
    made.node("Identity", {"x"}, {"y"});
    return made;
  };
  expect_refused(model("BitShift", "direction", "UP", 2, TensorProto::UINT8), "direction is 'UP', not LEFT or RIGHT");
  expect_refused(model("Gelu", "approximate", "erf", 1, TensorProto::FLOAT), "approximate is 'erf', not none or tanh");
  OnnxModel aligned(20);
  aligned.input("x", {"1", "1", "4", "4"}).floats("rois", {1, 4}, {0, 0, 2, 2}).ints("at", {0}).output("y");
  set_string(aligned.node("RoiAlign", {"x", "rois", "at"}, {"y"}), "coordinate_transformation_mode", "whole");
  expect_refused(aligned, "coordinate_transformation_mode 'whole' is unknown");
  EXPECT_EQ(model("Gelu", "approximate", "tanh", 1, TensorProto::FLOAT).error(), "");
}

// Extreme values that mean something.
TEST(Hostile, DiagonalsFarOutside) {
  for (const char* op : {"Trilu", "EyeLike"}) {
    for (const i64 k : {std::numeric_limits<i64>::min(), std::numeric_limits<i64>::max()}) {
      OnnxModel model(14);
      model.input("x", {"2", "3"}).output("y");
      onnx::NodeProto& node = model.node(op, {"x"}, {"y"});
      if (op == std::string("EyeLike"))
        set_int(node, "k", k);
      else
        node.add_input("k"), model.ints("k", {k});
      EXPECT_EQ(model.error(), "");
    }
  }
}

}  // namespace
}  // namespace mcc
