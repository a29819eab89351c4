// Every operator of ONNX with inputs, outputs and attributes that it may not expect: too few, missing ones, other
// types, ranks and sizes. Each call imports to a graph that keeps the rules, or is refused; nothing else may come of
// it.
#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"
#include "base/text.h"
#include "frontend/importer.h"
#include "graph/print.h"
#include "onnx_models.h"

namespace mcc {
namespace {

using onnx::TensorProto;
constexpr i64 kLow = std::numeric_limits<i64>::min(), kHigh = std::numeric_limits<i64>::max();

// A model whose one node may read any of these, or nothing.
const std::vector<std::string> kSources = {"matrix", "image", "vast", "whole", "yes", "empty", "list",
                                           "one",    "far",   "half", "bytes", "ids", "cube",  ""};

OnnxModel model_with_sources(int opset) {
  OnnxModel model(opset);
  model.input("matrix", {"2", "3"}).input("image", {"1", "2", "4", "4"});
  model.input("whole", {"3"}, TensorProto::INT64).input("yes", {"2", "3"}, TensorProto::BOOL);
  model.input("empty", {"0", "3"}).input("vast", {"1", "1", "1099511627776"});
  model.input("bytes", {"2", "3"}, TensorProto::UINT8).input("ids", {"2", "3"}, TensorProto::INT32);
  model.input("cube", {"2", "3", "4"});
  model.ints("list", {1, 2}).ints("one", {1}).ints("far", {kLow, kHigh}).floats("half", {}, {0.5});
  return model;
}

void add_random_attribute(onnx::NodeProto& node, const std::string& name, Rng& rng) {
  const std::vector<i64> numbers = {0, 1, 2, -1, 3, 4, 1 << 20, i64{1} << 40, kLow, kHigh};
  switch (rng.below(4)) {
    case 0: return set_int(node, name, rng.pick(numbers));
    case 1: {
      std::vector<i64> list(static_cast<size_t>(rng.below(5)));
      for (i64& x : list) x = rng.pick(numbers);
      return set_ints(node, name, list);
    }
    case 2: {
      onnx::AttributeProto& added = attribute(node, name);
      added.set_type(onnx::AttributeProto::FLOAT);
      added.set_f(static_cast<float>(rng.pick(numbers)) / 2);
      return;
    }
    default: {
      onnx::AttributeProto& added = attribute(node, name);
      added.set_type(onnx::AttributeProto::STRING);
      added.set_s(rng.below(2) == 0 ? "nearest" : "same");
    }
  }
}

void add_random_call(OnnxModel& model, const frontend::OnnxOp& op, Rng& rng) {
  const std::string full(op.name);
  const size_t dot = full.rfind('.');
  std::vector<std::string> in(static_cast<size_t>(rng.below(6))), out(static_cast<size_t>(rng.below(4)));
  for (std::string& name : in) name = rng.pick(kSources);
  for (size_t i = 0; i < out.size(); i++) out[i] = rng.below(6) == 0 ? "" : fmt::format("y{}", i);
  onnx::NodeProto& node = model.node(dot == std::string::npos ? full : full.substr(dot + 1), in, out);
  if (dot != std::string::npos) {
    node.set_domain(full.substr(0, dot));
    onnx::OperatorSetIdProto& opset = *model.proto.add_opset_import();
    opset.set_domain(node.domain());
    opset.set_version(1);
  }
  for (const std::string& name : split_words(std::string(op.attrs)))
    if (rng.below(4) == 0) add_random_attribute(node, name, rng);
  for (const std::string& name : out)
    if (!name.empty()) model.output(name);
}

TEST(Calls, AreImportedOrRefused) {
  constexpr int kCallsOfEach = 60;
  Rng rng(1);
  int imported = 0;
  for (const frontend::OnnxOp* op : frontend::all_onnx_ops()) {
    for (int i = 0; i < kCallsOfEach; i++) {
      OnnxModel model = model_with_sources(rng.below(2) == 0 ? 9 : 24);
      add_random_call(model, *op, rng);
      try {
        verify(model.import());
        imported++;
      } catch (const Error&) {
      } catch (const std::exception& other) {
        FAIL() << other.what() << " in " << model.proto.graph().node(0).DebugString();
      }
    }
  }
  EXPECT_GT(imported, 100);
}

}  // namespace
}  // namespace mcc
