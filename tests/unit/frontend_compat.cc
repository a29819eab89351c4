// Differences between opset versions end in the frontend: the same graph comes out of the old and the new form.
#include <gtest/gtest.h>

#include "graph/print.h"
#include "onnx_models.h"

namespace mcc {
namespace {

const Node& only_node(const Graph& graph) {
  EXPECT_EQ(graph.nodes.size(), 1u) << print(graph);
  return graph.nodes.at(0);
}

Shape output_shape(const Graph& graph, size_t i = 0) {
  return graph.values[static_cast<size_t>(graph.outputs[i])].type.shape;
}

TEST(Compat, SqueezeAndUnsqueezeAxesMovedToAnInput) {
  OnnxModel old = model_of(11, {"1", "3", "1"}), recent = model_of(13, {"1", "3", "1"});
  set_ints(old.node("Squeeze", {"x"}, {"y"}), "axes", {-1});
  recent.ints("axes", {-1}).node("Squeeze", {"x", "axes"}, {"y"});
  EXPECT_EQ(output_shape(old.import()), (Shape{1, 3}));
  EXPECT_EQ(output_shape(recent.import()), (Shape{1, 3}));
  OnnxModel all = model_of(13, {"1", "3", "1"});
  all.node("Squeeze", {"x"}, {"y"});
  EXPECT_EQ(output_shape(all.import()), (Shape{3}));
  OnnxModel wrong = model_of(13, {"1", "3", "1"});
  wrong.ints("axes", {1}).node("Squeeze", {"x", "axes"}, {"y"});
  EXPECT_NE(wrong.error().find("axis 1 of 1x3x1 is not 1"), std::string::npos);
}

TEST(Compat, SliceAttributesAndInputs) {
  OnnxModel old = model_of(9, {"4", "6"}), recent = model_of(13, {"4", "6"});
  onnx::NodeProto& node = old.node("Slice", {"x"}, {"y"});
  set_ints(node, "starts", {1});
  set_ints(node, "ends", {-1});
  set_ints(node, "axes", {1});
  recent.ints("s", {1}).ints("e", {-1}).ints("a", {-1}).node("Slice", {"x", "s", "e", "a"}, {"y"});
  EXPECT_EQ(print(old.import()), print(recent.import()));
  EXPECT_EQ(output_shape(old.import()), (Shape{4, 4}));
}

TEST(Compat, ReduceAxesAttributeInputAndNothing) {
  OnnxModel old = model_of(11, {"2", "3"}), recent = model_of(18, {"2", "3"}), none = model_of(18, {"2", "3"});
  set_ints(old.node("ReduceMean", {"x"}, {"y"}), "axes", {-1});
  recent.ints("axes", {1}).node("ReduceMean", {"x", "axes"}, {"y"});
  set_int(none.node("ReduceMean", {"x"}, {"y"}), "keepdims", 0);
  EXPECT_EQ(only_node(old.import()).attrs.get_ints("axes"), (std::vector<i64>{1}));
  EXPECT_EQ(only_node(recent.import()).attrs.get_ints("axes"), (std::vector<i64>{1}));
  EXPECT_EQ(only_node(none.import()).attrs.get_ints("axes"), (std::vector<i64>{0, 1}));
}

TEST(Compat, SoftmaxUntilOpset12FlattensToAMatrix) {
  OnnxModel old = model_of(11, {"2", "3", "4"}), recent = model_of(13, {"2", "3", "4"});
  old.node("Softmax", {"x"}, {"y"});
  recent.node("Softmax", {"x"}, {"y"});
  const Graph flat = old.import();
  ASSERT_EQ(flat.nodes.size(), 3u);
  EXPECT_EQ(flat.nodes[0].attrs.get_ints("shape"), (std::vector<i64>{2, 12}));
  EXPECT_EQ(output_shape(flat), (Shape{2, 3, 4}));
  EXPECT_EQ(only_node(recent.import()).attrs.get_int("axis"), 2);
}

TEST(Compat, ClipBoundsAttributesConstantsAndRunTimeValues) {
  OnnxModel old = model_of(6, {"2"}), recent = model_of(13, {"2"}), open = model_of(13, {"2"});
  onnx::NodeProto& node = old.node("Clip", {"x"}, {"y"});
  set_float(node, "min", 0);
  set_float(node, "max", 6);
  recent.floats("lo", {}, {0}).floats("hi", {}, {6}).node("Clip", {"x", "lo", "hi"}, {"y"});
  EXPECT_EQ(print(old.import()), print(recent.import()));
  open.input("hi", {}).floats("lo", {}, {0}).node("Clip", {"x", "lo", "hi"}, {"y"});
  const Graph graph = open.import();
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].op, "Clip");
  EXPECT_EQ(graph.nodes[1].op, "Min");
}

TEST(Compat, OldBroadcastAlignsAtAnAxis) {
  OnnxModel model = model_of(6, {"2", "3", "4"});
  onnx::NodeProto& node = model.floats("b", {3}, {1, 2, 3}).node("Add", {"x", "b"}, {"y"});
  set_int(node, "axis", 1);
  set_int(node, "broadcast", 1);
  const Graph graph = model.import();
  EXPECT_EQ(graph.values[static_cast<size_t>(only_node(graph).in[1])].type.shape, (Shape{3, 1}));
  node.mutable_attribute(0)->set_i(2);
  EXPECT_NE(model.error().find("do not broadcast"), std::string::npos);
}

TEST(Compat, SplitSizesGivenEqualAndUnequal) {
  OnnxModel equal = model_of(13, {"6"}), last_is_smaller = model_of(18, {"7"}), given = model_of(13, {"6"});
  equal.output("z").node("Split", {"x"}, {"y", "z"});
  last_is_smaller.output("z");
  set_int(last_is_smaller.node("Split", {"x"}, {"y", "z"}), "num_outputs", 2);
  given.output("z").ints("sizes", {2, 4}).node("Split", {"x", "sizes"}, {"y", "z"});
  EXPECT_EQ(output_shape(equal.import(), 1), (Shape{3}));
  EXPECT_EQ(output_shape(last_is_smaller.import(), 1), (Shape{3}));
  EXPECT_EQ(output_shape(given.import(), 1), (Shape{4}));
}

TEST(Compat, PadsPartialAxesAndNegative) {
  OnnxModel model = model_of(18, {"4", "5"});
  model.ints("pads", {-1, 2})
      .floats("value", {}, {7})
      .ints("axes", {-1})
      .node("Pad", {"x", "pads", "value", "axes"}, {"y"});
  const Graph graph = model.import();
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].op, "Slice");
  EXPECT_EQ(graph.nodes[1].attrs.get_ints("pads"), (std::vector<i64>{0, 0, 0, 2}));
  EXPECT_EQ(output_shape(graph), (Shape{4, 6}));
}

TEST(Compat, AutoPadBecomesPads) {
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    OnnxModel model = model_of(13, {"1", "1", "5"});
    model.floats("w", {1, 1, 2}, {1, 1});
    onnx::NodeProto& node = model.node("Conv", {"x", "w"}, {"y"});
    attribute(node, "auto_pad").set_s(mode);
    const std::string name = mode;
    const std::vector<i64> want = name == "VALID"        ? std::vector<i64>{0, 0}
                                  : name == "SAME_UPPER" ? std::vector<i64>{0, 1}
                                                         : std::vector<i64>{1, 0};
    EXPECT_EQ(only_node(model.import()).attrs.get_ints("pads"), want) << mode;
  }
}

TEST(Compat, DropoutPassesAndTrainingIsRefused) {
  OnnxModel inference = model_of(13, {"2"}), training = model_of(13, {"2"});
  inference.output("mask").node("Dropout", {"x"}, {"d", "mask"});
  inference.node("Relu", {"d"}, {"y"});
  const Graph graph = inference.import();
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[1])].type.dtype, DType::boolean);
  onnx::TensorProto& yes = *training.floats("ratio", {}, {0.5f}).graph().add_initializer();
  yes.set_name("yes");
  yes.set_data_type(onnx::TensorProto::BOOL);
  yes.add_int32_data(1);
  training.node("Dropout", {"x", "ratio", "yes"}, {"y"});
  EXPECT_NE(training.error().find("training is not supported"), std::string::npos);
}

TEST(Compat, ResizeByScalesSizesAndUpsample) {
  OnnxModel upsample = model_of(9, {"1", "1", "2", "2"}), sizes = model_of(13, {"1", "1", "2", "2"});
  upsample.floats("scales", {4}, {1, 1, 2, 2}).node("Upsample", {"x", "scales"}, {"y"});
  sizes.ints("sizes", {1, 1, 4, 4}).node("Resize", {"x", "", "", "sizes"}, {"y"});
  EXPECT_EQ(output_shape(upsample.import()), (Shape{1, 1, 4, 4}));
  EXPECT_EQ(only_node(upsample.import()).attrs.get_string("nearest_mode", ""), "floor");
  EXPECT_EQ(output_shape(sizes.import()), (Shape{1, 1, 4, 4}));
  EXPECT_EQ(only_node(sizes.import()).attrs.get_floats("scales", {}), (std::vector<double>{1, 1, 2, 2}));
}

TEST(Compat, ResizeComputesExtentsInFloat) {
  OnnxModel model = model_of(13, {"1", "1", "10", "30"});
  model.floats("scales", {4}, {1, 1, 1.3f, 3.3f}).node("Resize", {"x", "", "scales"}, {"y"});
  EXPECT_EQ(output_shape(model.import(), 0), (Shape{1, 1, 13, 99}));
}

TEST(Compat, WideIntegersThatAttributesCannotHold) {
  OnnxModel model;
  model.input("x", {"3"}, onnx::TensorProto::INT64).output("y").ints("lo", {0}).ints("hi", {(i64{1} << 53) + 1});
  for (onnx::TensorProto& bound : *model.graph().mutable_initializer()) bound.clear_dims();
  model.node("Clip", {"x", "lo", "hi"}, {"y"});
  const Graph graph = model.import();
  EXPECT_EQ(graph.nodes.back().op, "Min");
  OnnxModel pad;
  pad.input("x", {"3"}, onnx::TensorProto::INT64).output("y").ints("pads", {1, 1}).ints("value", {(i64{1} << 60) + 1});
  pad.node("Pad", {"x", "pads", "value"}, {"y"});
  EXPECT_NE(pad.error().find("'constant_value' is 1152921504606846977: beyond 2^53"), std::string::npos);
}

TEST(Compat, ResizeOfNothingHasNoExtent) {
  OnnxModel model = model_of(18, {"1", "1", "0", "2"});
  onnx::NodeProto& node = model.ints("sizes", {1, 1, 3, 4}).node("Resize", {"x", "", "", "sizes"}, {"y"});
  onnx::AttributeProto& policy = *node.add_attribute();
  policy.set_name("keep_aspect_ratio_policy");
  policy.set_type(onnx::AttributeProto::STRING);
  policy.set_s("not_smaller");
  EXPECT_NE(model.error().find("an output extent is"), std::string::npos) << model.error();
}

TEST(Compat, ResizeOfNothingByScalesIsNothing) {
  OnnxModel model = model_of(18, {"1", "1", "0", "2"});
  model.floats("scales", {4}, {1, 1, 3, 2}).node("Resize", {"x", "", "scales"}, {"y"});
  EXPECT_EQ(output_shape(model.import()), (Shape{1, 1, 0, 4}));
}

TEST(Compat, IfWithAKnownConditionIsInlined) {
  OnnxModel model = model_of(13, {"2"});
  model.input("c", {}, onnx::TensorProto::BOOL);
  onnx::NodeProto& node = model.node("If", {"c"}, {"y"});
  onnx::GraphProto& yes = set_graph(node, "then_branch");
  OnnxModel::add_node(yes, "Neg", {"x"}, {"a"});
  yes.add_output()->set_name("a");
  onnx::GraphProto& no = set_graph(node, "else_branch");
  OnnxModel::add_node(no, "Exp", {"x"}, {"a"});
  no.add_output()->set_name("a");
  EXPECT_EQ(only_node(model.import({.shapes = {}, .dims = {}, .binds = {{"c", "1"}}})).op, "Neg");
  EXPECT_EQ(only_node(model.import({.shapes = {}, .dims = {}, .binds = {{"c", "false"}}})).op, "Exp");
  const Graph both = model.import();
  ASSERT_EQ(both.nodes.size(), 3u);
  EXPECT_EQ(both.nodes[2].op, "Where");
}

OnnxModel doubling_loop(i64 trips) {
  OnnxModel model = model_of(13, {"2"});
  model.output("all").ints("trips", {trips});
  onnx::NodeProto& node = model.node("Loop", {"trips", "", "x"}, {"y", "all"});
  onnx::GraphProto& body = set_graph(node, "body");
  for (const char* name : {"i", "go", "v"}) body.add_input()->set_name(name);
  OnnxModel::add_node(body, "Identity", {"go"}, {"go_on"});
  OnnxModel::add_node(body, "Add", {"v", "v"}, {"twice"});
  for (const char* name : {"go_on", "twice", "twice"}) body.add_output()->set_name(name);
  return model;
}

TEST(Compat, LoopWithAKnownCountIsUnrolled) {
  const Graph graph = doubling_loop(3).import();
  verify(graph);
  EXPECT_EQ(output_shape(graph, 0), (Shape{2}));
  EXPECT_EQ(output_shape(graph, 1), (Shape{3, 2}));
  EXPECT_NE(doubling_loop(i64{1} << 40).error().find("unrolled"), std::string::npos);
}

// A function from a to b, without nodes, and a call of it from x to y.
onnx::FunctionProto& add_function(OnnxModel& model, const std::string& name) {
  onnx::FunctionProto& function = *model.proto.add_functions();
  function.set_domain("mine");
  function.set_name(name);
  function.add_input("a");
  function.add_output("b");
  return function;
}

onnx::NodeProto& add_call(OnnxModel& model, const std::string& name) {
  onnx::NodeProto& call = model.node(name, {"x"}, {"y"});
  call.set_domain("mine");
  return call;
}

// LeakyRelu from a to b, its slope an argument of the function.
onnx::NodeProto& add_leaky_relu(onnx::FunctionProto& function) {
  onnx::NodeProto& node = OnnxModel::add_node(function, "LeakyRelu", {"a"}, {"b"});
  onnx::AttributeProto& alpha = attribute(node, "alpha");
  alpha.set_type(onnx::AttributeProto::FLOAT);
  alpha.set_ref_attr_name("slope");
  return node;
}

TEST(Compat, FunctionsAreInlinedAndMayNotRecurse) {
  OnnxModel model = model_of(15, {"2"});
  onnx::FunctionProto& function = add_function(model, "Scaled");
  function.add_attribute("slope");
  function.add_opset_import()->set_version(15);
  onnx::NodeProto& inner = add_leaky_relu(function);
  set_float(add_call(model, "Scaled"), "slope", 0.25f);
  EXPECT_EQ(only_node(model.import()).attrs.get_float("alpha", 0), 0.25);
  inner.set_op_type("Scaled");
  inner.set_domain("mine");
  EXPECT_NE(model.error().find("call each other"), std::string::npos);
}

// Fields of newer ONNX, as the library's older protobuf keeps them.
template <typename Message>
void add_unknown(Message& message, int number, const std::string& bytes) {
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(number, bytes);
}

TEST(Compat, FunctionsHaveDefaultsOfAttributes) {
  OnnxModel model = model_of(15, {"2"});
  onnx::FunctionProto& function = add_function(model, "Scaled");
  onnx::AttributeProto slope;
  slope.set_name("slope");
  slope.set_type(onnx::AttributeProto::FLOAT);
  slope.set_f(0.5f);
  add_unknown(function, 11, slope.SerializeAsString());
  add_leaky_relu(function);
  onnx::NodeProto& call = add_call(model, "Scaled");
  EXPECT_EQ(only_node(model.import()).attrs.get_float("alpha", 0), 0.5);
  set_float(call, "slope", 0.25f);
  EXPECT_EQ(only_node(model.import()).attrs.get_float("alpha", 0), 0.25);
}

TEST(Compat, FunctionsOfOneNameAreToldApartByOverload) {
  OnnxModel model = model_of(15, {"2"});
  for (const char* op : {"Neg", "Relu"}) {
    onnx::FunctionProto& function = add_function(model, "Act");
    add_unknown(function, 13, op);
    OnnxModel::add_node(function, op, {"a"}, {"b"});
  }
  add_unknown(add_call(model, "Act"), 8, "Neg");
  EXPECT_EQ(only_node(model.import()).op, "Neg");
  *model.proto.add_functions() = model.proto.functions(0);
  EXPECT_EQ(model.error(), "model: function 'Act' is defined twice");
}

TEST(Compat, LargeConstantsAreNotFolded) {
  OnnxModel model = model_of(13, {"1"});
  model.floats("one", {1}, {1}).ints("shape", {1 << 20, 1 << 10});
  model.node("Expand", {"one", "shape"}, {"big"});
  set_int(model.node("ReduceMax", {"big"}, {"y"}), "keepdims", 0);
  EXPECT_EQ(model.import().nodes[0].op, "Expand");
  OnnxModel filled = model_of(13, {"1"});
  filled.ints("shape", {1 << 20, 1 << 10}).node("ConstantOfShape", {"shape"}, {"y"});
  EXPECT_NE(filled.error().find("would be a constant of more than 256 MiB"), std::string::npos);
}

}  // namespace
}  // namespace mcc
