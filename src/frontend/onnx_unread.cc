// Exporters name outputs that nobody reads: the mask of a Dropout, the mean beside a normalisation. Such an output may
// be one that is not supported, and need not be: before the walk the name of every output but a node's first is taken
// away where nothing reads it. Not of BatchNormalization, which until opset 13 was training when it had more than one.
//
// A name is read by a node's inputs and by a graph's outputs, in the graph itself or in one nested in it. Functions see
// only their own names.
#include "frontend/onnx_unread.h"

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_set>
#include <vector>

namespace mcc::frontend {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Names = std::unordered_set<std::string>;

// The lists of nodes in `nodes` and below; what they and the graphs around them read goes into `read`.
std::vector<Nodes*> lists_of(Nodes& nodes, Names& read) {
  std::vector<Nodes*> lists = {&nodes};
  for (size_t i = 0; i < lists.size(); i++)
    for (onnx::NodeProto& node : *lists[i]) {
      read.insert(node.input().begin(), node.input().end());
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (!attribute.has_g()) continue;
        for (const auto& output : attribute.g().output()) read.insert(output.name());
        lists.push_back(attribute.mutable_g()->mutable_node());
      }
    }
  return lists;
}

void drop(Nodes& nodes, Names read) {
  for (Nodes* list : lists_of(nodes, read))
    for (onnx::NodeProto& node : *list) {
      if (node.op_type() == "BatchNormalization") continue;
      for (int i = 1; i < node.output_size(); i++)
        if (!read.contains(node.output(i))) node.mutable_output(i)->clear();
    }
}

}  // namespace

void drop_unread_outputs(onnx::ModelProto& model) {
  Names read;
  for (const auto& output : model.graph().output()) read.insert(output.name());
  drop(*model.mutable_graph()->mutable_node(), std::move(read));
  for (onnx::FunctionProto& function : *model.mutable_functions())
    drop(*function.mutable_node(), Names(function.output().begin(), function.output().end()));
}

}  // namespace mcc::frontend
