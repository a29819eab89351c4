// The first half of a survey: what the file says of itself. Operators are counted where they stand, in subgraphs and
// functions too, so a function counts once however often it is called, and nothing is unrolled. The second half, what
// cannot be imported and why, is found by the walk itself, which goes on behind a refused node (onnx_walk.h).
#include "frontend/onnx_survey.h"

#include <onnx/onnx_pb.h>

#include <unordered_set>

#include "frontend/onnx_inputs.h"

namespace mcc::frontend {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

void count(const Nodes& nodes, std::map<std::string, i64>& ops) {
  std::vector<const Nodes*> open = {&nodes};
  while (!open.empty()) {
    const Nodes& next = *open.back();
    open.pop_back();
    for (const auto& node : next) {
      const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
      ops[standard ? node.op_type() : node.domain() + "." + node.op_type()]++;
      for (const auto& attribute : node.attribute())
        if (attribute.has_g()) open.push_back(&attribute.g().node());
    }
  }
}

}  // namespace

Survey describe_model(const onnx::ModelProto& model) {
  Survey survey;
  count(model.graph().node(), survey.ops);
  for (const auto& function : model.functions()) count(function.node(), survey.ops);
  std::unordered_set<std::string> initialized;
  for (const auto& tensor : model.graph().initializer()) initialized.insert(tensor.name());
  for (const auto& input : model.graph().input())
    if (!initialized.contains(input.name())) survey.inputs.push_back(port_of(input));
  for (const auto& output : model.graph().output()) survey.outputs.push_back(port_of(output));
  return survey;
}

}  // namespace mcc::frontend
