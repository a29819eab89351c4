// Operators of ONNX Runtime's own domain, and those that ONNX has had since for the same: each is what the plain
// operators make of it. The families qoperator, ort_bert and llama (scripts/zoo/runtime.py) compare whole networks with
// ONNX Runtime; here are forms that they do not have, numbers worked out by hand, and refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/print.h"
#include "onnx_models.h"
#include "ops/op_def.h"

namespace mcc {
namespace {

using Doubles = std::vector<double>;

OnnxModel runtime_model(int opset, const std::vector<std::string>& dims) {
  OnnxModel model = model_of(opset, dims);
  onnx::OperatorSetIdProto& own = *model.proto.add_opset_import();
  own.set_domain("com.microsoft");
  own.set_version(1);
  return model;
}

onnx::NodeProto& runtime_node(OnnxModel& model, const std::string& op, const std::vector<std::string>& in,
                              const std::vector<std::string>& out = {"y"}) {
  onnx::NodeProto& node = model.node(op, in, out);
  node.set_domain("com.microsoft");
  return node;
}

Tensor run(const OnnxModel& model, const std::vector<Tensor>& inputs) {
  const Graph graph = model.import();
  verify(graph);
  return evaluate(graph, inputs)[0];
}

const std::vector<float> kFour = {1, -2, 3, -4};

// A 1x1 convolution of one channel doubles; 3 is added to it, and 10 where there is a Z.
TEST(Fused, ConvAddsZBeforeItsActivation) {
  for (const bool with_z : {false, true}) {
    OnnxModel model = runtime_model(13, {"1", "1", "2", "2"});
    model.floats("w", {1, 1, 1, 1}, {2}).floats("b", {1}, {3}).floats("z", {1, 1, 2, 2}, {10, 10, 10, 10});
    onnx::NodeProto& node = runtime_node(model, "FusedConv", {"x", "w", "b", with_z ? "z" : ""});
    set_string(node, "activation", "LeakyRelu");
    set_floats(node, "activation_params", {0.5f});
    const Doubles plain = {5, -0.5, 9, -2.5}, all = {15, 9, 19, 5};
    EXPECT_EQ(to_doubles(run(model, {floats({1, 1, 2, 2}, kFour)})), with_z ? all : plain);
  }
}

TEST(Fused, ActivationsAreKnownOnes) {
  OnnxModel other = runtime_model(13, {"1", "1", "2", "2"}), count = other;
  for (OnnxModel* model : {&other, &count}) {
    model->floats("w", {1, 1, 1, 1}, {2});
    onnx::NodeProto& node = runtime_node(*model, "FusedConv", {"x", "w"});
    set_string(node, "activation", model == &other ? "Mystery" : "Clip");
  }
  expect_refused(other, "activation 'Mystery' is not supported");
  expect_refused(count, "activation 'Clip' takes 2 parameters, not 0");
  OnnxModel gemm = runtime_model(13, {"2", "2"});
  onnx::NodeProto& node = runtime_node(gemm, "FusedGemm", {"x", "x"});
  set_string(node, "activation", "Relu");
  set_float(node, "activation_alpha", 1);
  expect_refused(gemm, "activation 'Relu' takes no alpha");
}

TEST(Fused, TheBatchOfAProductMayBeInItsMiddle) {
  OnnxModel model = runtime_model(13, {"2", "3", "4"}), plain = model_of(13, {"2", "3", "4"});
  for (OnnxModel* m : {&model, &plain}) m->floats("w", {3, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  set_int(runtime_node(model, "FusedMatMul", {"x", "w"}), "transBatchA", 1);
  set_ints(plain.node("Transpose", {"x"}, {"t"}), "perm", {1, 0, 2});
  plain.node("MatMul", {"t", "w"}, {"y"});
  Tensor x({DType::f32, {2, 3, 4}});
  for (i64 i = 0; i < x.size(); i++) x.set(i, static_cast<double>(i % 7));
  EXPECT_EQ(to_doubles(run(model, {x})), to_doubles(run(plain, {x})));
}

// Scale 0.5 everywhere, no zero points: (2 + -3 / 2) and so on.
TEST(Quantised, AddWithoutZeroPoints) {
  OnnxModel model = runtime_model(13, {});
  model.graph().clear_input();
  model.input("x", {"3"}, onnx::TensorProto::INT8).floats("s", {}, {0.5f}).floats("big", {1}, {2});
  runtime_node(model, "QLinearAdd", {"x", "s", "", "x", "s", "", "big", ""});
  const Tensor y = run(model, {Tensor::of<std::int8_t>(DType::i8, {3}, {8, -12, 100})});
  EXPECT_EQ(y.type.dtype, DType::i8);
  EXPECT_EQ(to_ints(y), (std::vector<i64>{4, -6, 50}));
  OnnxModel channels = model, more = model;
  channels.floats("wide", {3}, {1, 2, 3}).graph().mutable_node(0)->set_input(1, "wide");
  expect_refused(channels, "a scale 3 is not one value");
  more.graph().mutable_node(0)->add_input("s");
  expect_refused(more, "takes at most 8 inputs, not 9");
}

TEST(Quantised, GemmIsRealWithoutAScaleOfItsResult) {
  OnnxModel model = runtime_model(13, {});
  model.graph().clear_input();
  model.input("x", {"1", "2"}, onnx::TensorProto::UINT8).floats("s", {}, {0.5f}).floats("t", {2}, {1, 2});
  model.input("w", {"2", "2"}, onnx::TensorProto::UINT8);
  set_int(runtime_node(model, "QGemm", {"x", "s", "", "w", "t", ""}), "transB", 1);
  const Tensor y =
      run(model, {Tensor::of<u8>(DType::u8, {1, 2}, {2, 4}), Tensor::of<u8>(DType::u8, {2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(to_doubles(y), (Doubles{5, 22}));
}

// Two columns of three numbers in blocks of four, the lower half of a byte first; zero points are 8 and 0.
TEST(Quantised, WeightsOfFourBits) {
  OnnxModel model = runtime_model(13, {"1", "3"});
  model.floats("scales", {2}, {0.5f, 2}).floats("zeros", {2}, {8, 0});
  onnx::TensorProto& weights = *model.graph().add_initializer();
  weights.set_name("w");
  weights.set_data_type(onnx::TensorProto::UINT8);
  for (const i64 dim : {2, 1, 2}) weights.add_dims(dim);
  for (const int byte : {0xA9, 0xFB, 0x21, 0xF3}) weights.add_int32_data(byte);
  onnx::NodeProto& node = runtime_node(model, "MatMulNBits", {"x", "w", "scales", "zeros"});
  for (const auto& [name, value] : {std::pair{"K", 3}, {"N", 2}, {"block_size", 4}}) set_int(node, name, value);
  EXPECT_EQ(to_doubles(run(model, {floats({1, 3}, {1, 10, 100})})), (Doubles{160.5, 642}));
}

OnnxModel& four_bits(OnnxModel& model, const std::string& name, int type, const std::vector<i64>& dims,
                     const std::vector<int>& bytes) {
  onnx::TensorProto& tensor = *model.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const i64 dim : dims) tensor.add_dims(dim);
  for (const int byte : bytes) tensor.add_int32_data(byte);
  return model;
}

// Weights 1 2 3 4 in blocks of two, of scales 1 and 10.
TEST(Quantised, BlocksOfFourBits) {
  OnnxModel model = model_of(21, {"1", "4"});
  four_bits(model, "w", kInt4, {1, 4}, {0x21, 0x43}).floats("scales", {2, 1}, {1, 10});
  model.node("Transpose", {"w"}, {"column"});
  onnx::NodeProto& node = model.node("DequantizeLinear", {"column", "scales"}, {"real"});
  set_int(node, "axis", 0);
  set_int(node, "block_size", 2);
  model.node("MatMul", {"x", "real"}, {"y"});
  EXPECT_EQ(to_doubles(run(model, {floats({1, 4}, {1, 1, 1, 1})})), (Doubles{73}));
}

TEST(Quantised, RoundedToFourBits) {
  const Tensor x = floats({5}, {-100, -8, 3.6f, 8, 100});
  const auto quantized = [&](int type, const std::vector<std::string>& inputs) {
    OnnxModel model = model_of(21, {"5"});
    four_bits(model.floats("one", {}, {1}), "zero", kUint4, {}, {1});
    onnx::NodeProto& node = model.node("QuantizeLinear", inputs, {"y"});
    if (type != 0) set_int(node, "output_dtype", type);
    return to_ints(run(model, {x}));
  };
  EXPECT_EQ(quantized(kInt4, {"x", "one"}), (std::vector<i64>{-8, -8, 4, 7, 7}));
  EXPECT_EQ(quantized(0, {"x", "one", "zero"}), (std::vector<i64>{0, 0, 5, 9, 15}));
}

TEST(Quantised, CutToFourBits) {
  OnnxModel model = model_of(21, {});
  model.graph().clear_input();
  model.input("x", {"4"}, onnx::TensorProto::INT32);
  set_int(model.node("Cast", {"x"}, {"small"}), "to", kInt4);
  set_int(model.node("Cast", {"small"}, {"y"}), "to", onnx::TensorProto::INT32);
  const Tensor x = Tensor::of<std::int32_t>(DType::i32, {4}, {7, 8, -9, 16});
  EXPECT_EQ(to_ints(run(model, {x})), (std::vector<i64>{7, -8, 7, 0}));
}

// The places of x's numbers that are not 0, as many as there are.
TEST(Quantised, FourBitsKeepALengthThatDependsOnData) {
  OnnxModel model = model_of(21, {"3"});
  model.node("NonZero", {"x"}, {"places"});
  set_int(model.node("Cast", {"places"}, {"small"}), "to", kInt4);
  model.node("Transpose", {"small"}, {"turned"});
  set_int(model.node("Cast", {"turned"}, {"y"}), "to", onnx::TensorProto::INT64);
  const std::vector<Tensor> out = evaluate(model.import(), std::vector{floats({3}, {0, 5, 7})});
  EXPECT_EQ(to_ints(out[1]), (std::vector<i64>{2, 1}));
  EXPECT_EQ(out[0].get_int(0), 1);
  EXPECT_EQ(out[0].get_int(1), 2);
}

TEST(Quantised, FourBitsOnlyWhereOnnxHasThem) {
  OnnxModel model = model_of(21, {"4"});
  four_bits(model, "w", kInt4, {4}, {0x21, 0x43}).node("Add", {"w", "w"}, {"y"});
  expect_refused(model, "4-bit integers are not supported here");
}

TEST(Norms, RootMeanSquareOverTheLastAxes) {
  OnnxModel model = model_of(23, {"1", "2", "2"});
  model.floats("scale", {2}, {1, 10});
  onnx::NodeProto& node = model.node("RMSNormalization", {"x", "scale"}, {"y"});
  set_int(node, "axis", 1);
  set_float(node, "epsilon", 0);
  const double root = std::sqrt(30.0 / 4);
  const Tensor y = run(model, {floats({1, 2, 2}, kFour)});
  for (i64 i = 0; i < 4; i++)
    EXPECT_NEAR(y.get(i), static_cast<double>(kFour[static_cast<size_t>(i)]) / root * (i % 2 == 0 ? 1 : 10), 1e-5);
}

TEST(Norms, TheMeanBesideASkipNormMayHaveAName) {
  OnnxModel model = runtime_model(13, {"1", "2", "2"});
  model.floats("scale", {2}, {1, 1});
  runtime_node(model, "SkipLayerNormalization", {"x", "x", "scale"}, {"y", "mean", "deviation"});
  EXPECT_EQ(model.error(), "");
  model.output("mean");
  expect_refused(model, "output 'mean' is not supported");
}

// Until opset 13 the number of outputs says whether a BatchNormalization is training, read or not: of 1 and 3 the mean
// is 2 and the variance 1.
TEST(Norms, BatchNormalizationWithFiveOutputsIsTraining) {
  OnnxModel model = model_of(7, {"1", "1", "2"});
  model.floats("one", {1}, {1}).floats("zero", {1}, {0});
  onnx::NodeProto& node =
      model.node("BatchNormalization", {"x", "one", "zero", "zero", "one"}, {"y", "m", "v", "sm", "sv"});
  set_float(node, "epsilon", 0);
  EXPECT_EQ(to_doubles(run(model, {floats({1, 1, 2}, {1, 3})})), (Doubles{-1, 1}));
}

// Two heads of queries share one of keys, all equal, so that each query takes the mean of the values it may see: of
// three in the past the first two are real, and the new one takes the place of the third.
OnnxModel group_query_model(i64 heads_of_keys = 1) {
  OnnxModel model = runtime_model(13, {"1", "1", "4"});
  model.floats("k", {1, 1, 2}, {0, 0}).floats("v", {1, 1, 2}, {6, 6}).output("keys").output("values");
  model.floats("past", {1, 1, 3, 2}, {1, 1, 2, 2, 9, 9}).input("last", {"1"}, onnx::TensorProto::INT32);
  model.ints("total", {4});
  onnx::NodeProto& node = runtime_node(model, "GroupQueryAttention", {"x", "k", "v", "past", "past", "last", "total"},
                                       {"y", "keys", "values"});
  set_int(node, "num_heads", 2);
  set_int(node, "kv_num_heads", heads_of_keys);
  return model;
}

TEST(Attention, CachesAreFilledWhereTheDataSays) {
  const Graph graph = group_query_model().import();
  const std::vector<Tensor> out =
      evaluate(graph, std::vector{floats({1, 1, 4}, {0, 0, 0, 0}), Tensor::of<std::int32_t>(DType::i32, {1}, {2})});
  EXPECT_EQ(to_doubles(out[2]), (Doubles{1, 1, 2, 2, 6, 6, 0, 0}));
  for (i64 i = 0; i < 4; i++) EXPECT_NEAR(out[0].get(i), 3, 1e-6);
}

TEST(Attention, GroupsOfQueriesThatAreNotSupported) {
  OnnxModel smooth = group_query_model(), open = group_query_model();
  set_int(*smooth.graph().mutable_node(0), "smooth_softmax", 1);
  expect_refused(smooth, "smooth_softmax is not supported");
  expect_refused(group_query_model(3), "2 heads of queries do not share 3 of keys");
  open.graph().mutable_node(0)->set_input(6, "last");
  expect_refused(open, "total_sequence_length");
}

// Of three heads of one number each, the keys are equal, so that each query takes the mean of what it may see.
TEST(Attention, MasksAndThePast) {
  OnnxModel model = model_of(23, {"1", "2", "1", "1"});
  model.floats("k", {1, 1, 1, 1}, {0}).floats("v", {1, 1, 1, 1}, {6}).floats("past", {1, 1, 2, 1}, {1, 2});
  model.output("all");
  set_int(model.node("Attention", {"x", "k", "v", "", "past", "past"}, {"y", "", "all"}), "is_causal", 1);
  const Graph graph = model.import();
  const std::vector<Tensor> out = evaluate(graph, std::vector{floats({1, 2, 1, 1}, {0, 0})});
  EXPECT_EQ(to_doubles(out[1]), (Doubles{1, 2, 6}));
  EXPECT_NEAR(out[0].get(0), 3, 1e-6);
  EXPECT_NEAR(out[0].get(1), 3, 1e-6);
}

TEST(Attention, RefusesWhatItDoesNotKnow) {
  OnnxModel model = runtime_model(13, {"2", "3", "6"});
  model.input("mask", {"8"}, onnx::TensorProto::INT32);
  set_int(runtime_node(model, "MultiHeadAttention", {"x", "x", "x", "", "mask"}), "num_heads", 2);
  expect_refused(model, "a mask 8 for batch 2, 3 queries and 3 keys is not supported");
  OnnxModel rotary = runtime_model(13, {"2", "3", "6"});
  rotary.floats("w", {6, 18}, std::vector<float>(108, 1));
  onnx::NodeProto& node = runtime_node(rotary, "Attention", {"x", "w"});
  set_int(node, "num_heads", 2);
  set_int(node, "do_rotary", 1);
  expect_refused(rotary, "do_rotary is not supported");
}

TEST(Rotary, PairsAreHalvesOrNeighbours) {
  for (const i64 interleaved : {0, 1}) {
    OnnxModel model = model_of(23, {"1", "1", "1", "4"});
    model.floats("cos", {1, 1, 2}, {0, 1}).floats("sin", {1, 1, 2}, {1, 0});
    set_int(model.node("RotaryEmbedding", {"x", "cos", "sin"}, {"y"}), "interleaved", interleaved);
    const Doubles halves = {-3, 2, 1, 4}, neighbours = {-2, 1, 3, 4};
    EXPECT_EQ(to_doubles(run(model, {floats({1, 1, 1, 4}, {1, 2, 3, 4})})), interleaved ? neighbours : halves);
  }
}

// x sigmoid(alpha x)
TEST(Activations, SwishHasItsAlpha) {
  OnnxModel model = model_of(24, {"1"});
  set_float(model.node("Swish", {"x"}, {"y"}), "alpha", 2);
  EXPECT_NEAR(run(model, {floats({1}, {1})}).get(0), 1 / (1 + std::exp(-2.0)), 1e-6);
}

TEST(Recurrent, LengthsMayBeData) {
  OnnxModel model(14);
  model.input("x", {"3", "2", "1"}).input("lengths", {"2"}, onnx::TensorProto::INT32).output("y");
  model.floats("w", {1, 1, 1}, {1}).floats("r", {1, 1, 1}, {1});
  onnx::NodeProto& node = model.node("RNN", {"x", "w", "r", "", "lengths"}, {"", "y"});
  set_string(node, "activations", "Relu");
  node.mutable_attribute(0)->set_type(onnx::AttributeProto::STRINGS);
  node.mutable_attribute(0)->add_strings("Relu");
  const Tensor x = floats({3, 2, 1}, {1, 10, 2, 20, 3, 30});
  EXPECT_EQ(to_doubles(run(model, {x, Tensor::of<std::int32_t>(DType::i32, {2}, {3, 1})})), (Doubles{6, 10}));
}

}  // namespace
}  // namespace mcc
