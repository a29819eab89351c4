// Importing: inputs and their options, shape arithmetic that folds, outputs, order of nodes, errors that say what to
// do.
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "graph/npy.h"
#include "graph/print.h"
#include "onnx_models.h"

namespace mcc {
namespace {

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

const TensorType& type_of_output(const Graph& graph, size_t i = 0) {
  return graph.values[static_cast<size_t>(graph.outputs[i])].type;
}

OnnxModel relu(const std::vector<std::string>& dims) {
  OnnxModel model;
  model.input("x", dims).output("y").node("Relu", {"x"}, {"y"});
  return model;
}

TEST(Import, FreeDimensionNamesItselfAndTheOptions) {
  const std::string error = relu({"batch", "3", "?", "8"}).error();
  expect_in(error, "input 'x': dimensions 0 ('batch'), 2 are free");
  expect_in(error, "--shape=x:1x3x1x8 or --dim=batch=1");
  expect_in(relu({"batch", "3"}).error(), "dimension 0 ('batch') is free; give --shape=x:1x3 or --dim=batch=1");
  expect_in(relu({"-1", "3"}).error(), "dimension 0 is free; give --shape=x:1x3");
  OnnxModel two;
  two.input("a", {"batch", "3"}).input("b", {"batch", "seq"}).output("y");
  two.node("Identity", {"a"}, {"y"});
  expect_in(two.error(),
            "input 'a': dimension 0 ('batch') is free, input 'b': dimensions 0 ('batch'), 1 ('seq') are "
            "free; give --shape=a:1x3 --shape=b:1x1 or --dim=batch=1 --dim=seq=1");
}

TEST(Import, ShapeAndDimCloseFreeDimensions) {
  const OnnxModel model = relu({"batch", "3"});
  EXPECT_EQ(type_of_output(model.import({.shapes = {{"x", {2, 3}}}, .dims = {}, .binds = {}})).shape, (Shape{2, 3}));
  EXPECT_EQ(type_of_output(model.import({.shapes = {}, .dims = {{"batch", 5}}, .binds = {}})).shape, (Shape{5, 3}));
}

TEST(Import, ShapeReplacesZerosThatStandForFreeDimensions) {
  const OnnxModel model = relu({"0", "3"});
  EXPECT_EQ(type_of_output(model.import()).shape, (Shape{0, 3}));
  EXPECT_EQ(type_of_output(model.import({.shapes = {{"x", {2, 3}}}, .dims = {}, .binds = {}})).shape, (Shape{2, 3}));
}

TEST(Import, OneShapeFixesTheNameForAllInputs) {
  OnnxModel model;
  model.input("a", {"n", "4"}).input("b", {"n", "1"}).output("y").node("Add", {"a", "b"}, {"y"});
  EXPECT_EQ(type_of_output(model.import({.shapes = {{"a", {7, 4}}}, .dims = {}, .binds = {}})).shape, (Shape{7, 4}));
  expect_in(model.error({.shapes = {{"a", {7, 4}}, {"b", {8, 1}}}, .dims = {}, .binds = {}}), "dimension 'n' is 8");
}

TEST(Import, OptionsThatDoNotFitAreRefused) {
  const OnnxModel model = relu({"batch", "3"});
  expect_in(model.error({.shapes = {{"x", {2, 4}}}, .dims = {}, .binds = {}}),
            "--shape gives 4 for dimension 1, the model has 3");
  expect_in(model.error({.shapes = {{"x", {2}}}, .dims = {}, .binds = {}}), "gives 1 dimensions, the model has 2");
  expect_in(model.error({.shapes = {{"z", {2}}}, .dims = {}, .binds = {}}), "no such input; it has: x");
  expect_in(model.error({.shapes = {}, .dims = {{"b", 2}}, .binds = {}}), "no such named dimension; it has: batch");
  expect_in(model.error({.shapes = {}, .dims = {{"batch", -2}}, .binds = {}}), "negative");
}

TEST(Import, BoundInputBecomesAConstant) {
  OnnxModel model;
  model.input("x", {"2"}).input("k", {}, onnx::TensorProto::INT64).output("y").output("z");
  set_int(model.node("Cast", {"k"}, {"f"}), "to", onnx::TensorProto::FLOAT);
  model.node("Mul", {"x", "f"}, {"y"});
  model.node("Identity", {"f"}, {"z"});
  const Graph graph = model.import({.shapes = {}, .dims = {}, .binds = {{"k", "16000"}}});
  EXPECT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.nodes.size(), 2u);
  verify(graph);
  expect_in(model.error({.shapes = {}, .dims = {}, .binds = {{"k", "many"}}}),
            "neither a .npy file nor a value of type i64");
}

TEST(Import, InputsKeepTheirNumbersWhenOthersAreBound) {
  OnnxModel model;
  model.input("first", {"2"}).input("w", {"2"}).input("scale", {}).input("last", {"2"}).output("y");
  model.floats("w", {2}, {1, 2});  // initialised: no input, and not counted
  model.node("Mul", {"first", "scale"}, {"a"});
  model.node("Mul", {"a", "w"}, {"b"});
  model.node("Add", {"b", "last"}, {"y"});
  const Graph graph = model.import({.shapes = {}, .dims = {}, .binds = {{"scale", "2"}, {"w", "3"}}});
  ASSERT_EQ(graph.inputs.size(), 2u);
  EXPECT_EQ(input_number(graph, 0), 0);
  EXPECT_EQ(input_number(graph, 1), 2);
}

TEST(Import, BoundFileGivesTheShapeToo) {
  const TempDir folder;
  const std::string file = (folder.path() / "x.npy").string();
  write_file(file, to_npy(Tensor::of<float>(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6})));
  const Graph graph = relu({"batch", "3"}).import({.shapes = {}, .dims = {}, .binds = {{"x", file}}});
  EXPECT_TRUE(graph.inputs.empty());
  EXPECT_EQ(type_of_output(graph).shape, (Shape{2, 3}));
}

TEST(Import, ShapeArithmeticFoldsAway) {
  OnnxModel model;
  model.input("x", {"n", "3", "4"}).output("y").ints("zero", {0}).ints("rest", {-1});
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "zero"}, {"n"});
  set_int(model.node("Concat", {"n", "rest"}, {"wanted"}), "axis", 0);
  model.node("Reshape", {"x", "wanted"}, {"y"});
  const Graph graph = model.import({.shapes = {}, .dims = {{"n", 2}}, .binds = {}});
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].attrs.get_ints("shape"), (std::vector<i64>{2, 12}));
}

TEST(Import, UnknownValueWhereAConstantIsNeededSuggestsBind) {
  OnnxModel model;
  model.input("x", {"4"}).input("s", {"1"}, onnx::TensorProto::INT64).output("y");
  model.node("Reshape", {"x", "s"}, {"y"});
  expect_in(model.error(), "Reshape node 'Reshape_y': input 'shape' must be known at compile time");
  expect_in(model.error(), "give --bind=s=VALUE");
}

TEST(Import, UnsupportedOperatorAndAttributeNameTheNode) {
  OnnxModel model;
  model.input("x", {"4"}).output("y");
  model.node("Frobnicate", {"x"}, {"y"});
  expect_in(model.error(), "Frobnicate node 'Frobnicate_y': operator Frobnicate is not supported");
  OnnxModel odd = relu({"4"});
  set_int(*odd.graph().mutable_node(0), "strange", 1);
  expect_in(odd.error(), "attribute 'strange' is not supported");
}

TEST(Import, OutputsThatAreInputsConstantsOrTwiceTheSame) {
  OnnxModel model;
  model.input("x", {"2"}).floats("w", {2}, {1, 2}).output("x").output("w").output("a").output("b");
  model.node("Relu", {"x"}, {"r"});
  model.node("Identity", {"r"}, {"a"});
  model.node("Identity", {"r"}, {"b"});
  const Graph graph = model.import();
  verify(graph);
  ASSERT_EQ(graph.outputs.size(), 4u);
  EXPECT_EQ(std::set<ValueId>(graph.outputs.begin(), graph.outputs.end()).size(), 4u);
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[0])].name, "x");
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[1])].name, "w");
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[2])].name, "a");
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[3])].name, "b");
}

TEST(Import, OfInitializersWithOneNameTheLastCounts) {
  OnnxModel model;
  model.input("x", {"2"}).floats("w", {2}, {1, 2}).floats("w", {2}, {3, 4}).output("y");
  model.node("Add", {"x", "w"}, {"y"});
  const Graph graph = model.import();
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.nodes[0].in[1])].constant->get(0), 3);
}

TEST(Import, NamesMayHoldAnything) {
  const std::string in = "a b/\"c\"\\:0\n%", out = "\xc3\xa4{}=;#";
  OnnxModel model;
  model.input(in, {"2"}).output(out);
  model.node("Relu", {in}, {out});
  const Graph graph = model.import();
  verify(graph);
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.inputs[0])].name, in);
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[0])].name, out);
  EXPECT_EQ(print(parse_graph(print(graph))), print(graph));
}

TEST(Import, NamesBecomeText) {
  OnnxModel model;
  model.input("x\xff\xc3\xa4\xed\xa0\x80", {"2"}).output("\xf0\x9f\x98\x80y\xe2\x82");
  model.node("Relu", {"x\xff\xc3\xa4\xed\xa0\x80"}, {"\xf0\x9f\x98\x80y\xe2\x82"});
  const Graph graph = model.import();
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.inputs[0])].name, "x?\xc3\xa4???");
  EXPECT_EQ(graph.values[static_cast<size_t>(graph.outputs[0])].name, "\xf0\x9f\x98\x80y??");
}

TEST(Import, NodesOutOfOrderAreSorted) {
  OnnxModel model;
  model.input("x", {"2"}).output("y");
  model.node("Exp", {"b"}, {"y"});
  model.node("Neg", {"a"}, {"b"});
  model.node("Relu", {"x"}, {"a"});
  const Graph graph = model.import();
  verify(graph);
  EXPECT_EQ(graph.nodes[0].op, "Relu");
  EXPECT_EQ(graph.nodes[2].op, "Exp");
}

TEST(Import, CyclesDuplicatesAndUndefinedValuesAreRefused) {
  OnnxModel cycle;
  cycle.input("x", {"2"}).output("a");
  cycle.node("Add", {"x", "b"}, {"a"});
  cycle.node("Neg", {"a"}, {"b"});
  expect_in(cycle.error(), "cycle through value 'a'");
  OnnxModel twice = relu({"2"});
  twice.node("Neg", {"x"}, {"y"});
  expect_in(twice.error(), "value 'y' is defined twice");
  OnnxModel missing;
  missing.input("x", {"2"}).output("y").node("Add", {"x", "nowhere"}, {"y"});
  expect_in(missing.error(), "value 'nowhere' is defined nowhere");
  expect_in(relu({"2"}).output("z").error(), "value 'z' is defined nowhere");
}

TEST(Import, TenThousandNodesInAChain) {
  OnnxModel model;
  model.input("x", {"2"});
  std::string last = "x";
  for (int i = 0; i < 10000; i++) {
    const std::string next = "v" + std::to_string(i);
    model.node(i % 2 ? "Neg" : "Relu", {last}, {next});
    last = next;
  }
  EXPECT_EQ(model.output(last).import().nodes.size(), 10000u);
}

TEST(Import, NonTensorInputsAndOddFilesAreRefused) {
  OnnxModel sequence;
  sequence.output("y").node("Identity", {"x"}, {"y"});
  onnx::ValueInfoProto& info = *sequence.graph().add_input();
  info.set_name("x");
  info.mutable_type()->mutable_sequence_type();
  expect_in(sequence.error(), "only tensors are supported");
  EXPECT_THROW(import_onnx_bytes("", {}), Error);
  EXPECT_THROW(import_onnx_bytes("not a model", {}), Error);
  EXPECT_THROW(import_onnx("/no/such/file.onnx"), Error);
  EXPECT_THROW(import_onnx("/"), Error);
  OnnxModel future(99);
  future.input("x", {"2"}).output("y").node("Relu", {"x"}, {"y"});
  expect_in(future.error(), "opset 99 is not supported");
}

}  // namespace
}  // namespace mcc
