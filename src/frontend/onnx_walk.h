// The walk over ONNX graphs: scopes of names, nodes in dependency order, model-local functions, control flow.
#pragma once
#include <onnx/onnx_pb.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/importer.h"
#include "frontend/onnx_weights.h"

namespace mcc::frontend {

// In a survey the walk goes on behind a node that has been refused. Its outputs are names without a value; a node that
// reads one cannot be judged either, but for its operator being known.
constexpr ValueId kRefused = std::numeric_limits<ValueId>::min();  // only in scopes
struct ReadsRefused {};                                            // thrown by Walker::find

// Names visible in one graph. Subgraphs see the names of the graphs around them, functions do not. Initialisers become
// tensors when they are first read, so that unused ones cost nothing.
struct Scope {
  const Scope* outer = nullptr;
  bool is_main = false;  // names of the main graph are kept exactly
  std::unordered_map<std::string, ValueId> values;
  std::unordered_map<std::string, onnx::TensorProto*> initializers;
};

// What holds for all nodes of a function body or of the main graph.
struct Frame {
  std::map<std::string, i64> opsets;                             // domain ("" is ai.onnx) -> version
  std::map<std::string, const onnx::AttributeProto*> arguments;  // of the function call, for ref_attr_name
  int depth = 0;
};

struct ScanAxes;  // onnx_control_flow.cc

class Walker {
 public:
  // Without a survey the first refusal is thrown as an Error.
  Walker(Builder& builder, onnx::ModelProto& model, DataFolders folders, Survey* survey = nullptr);

  // Imports the graph's nodes in an order that defines every value before it is read.
  void run(onnx::GraphProto& graph, Scope& scope, const Frame& frame);
  // kNone for ""; Error when no graph around defines it; ReadsRefused
  ValueId find(const std::string& name, Scope& scope);
  Frame main_frame() const;

 private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  // A function of the model, and the attributes that a call may leave out.
  struct Function {
    onnx::FunctionProto* proto = nullptr;
    std::vector<onnx::AttributeProto> defaults;
  };

  void count_visit();  // Error when there were too many
  void run_nodes(Nodes& nodes, Scope& scope, const Frame& frame);
  void import_node(onnx::NodeProto& node, Scope& scope, const Frame& frame);
  void bind_node(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame);
  void refuse(Refusal refusal);
  void refuse_unknown(const onnx::NodeProto& node, const Frame& frame);
  Outputs dispatch(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame);
  static void require_tensors(const OnnxCall& call, const OnnxOp* op);
  Outputs call_function(const Function& function, onnx::NodeProto& node, OnnxCall& call, const Frame& frame);
  const Function* find_function(const onnx::NodeProto& node) const;  // null: the model has none such
  Outputs constant_node(const onnx::NodeProto& node, OnnxCall& call, const Frame& frame);
  void bind_outputs(const onnx::NodeProto& node, const Outputs& values, ValueId first_new, Scope& scope);

  // onnx_control_flow.cc
  Outputs import_if(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame);
  Outputs import_loop(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame);
  Outputs import_scan(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame);
  Outputs scan_8(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame);
  Outputs scan_steps(onnx::GraphProto& body, OnnxCall& call, const ScanAxes& axes, Outputs state,
                     const std::vector<ValueId>& scanned, Scope& scope, const Frame& frame);
  // The values of a subgraph's outputs, its inputs being `arguments`.
  Outputs run_body(onnx::GraphProto& body, const std::vector<ValueId>& arguments, Scope& outer, const Frame& frame);

  Builder& builder_;
  onnx::ModelProto& model_;
  DataFolders folders_;
  Survey* survey_;
  std::unordered_set<std::string> refused_;
  std::unordered_set<const onnx::FunctionProto*> looked_into_;
  std::map<std::tuple<std::string, std::string, std::string>, Function> functions_;  // by domain, name, overload
  i64 visited_ = 0;
};

// onnx_functions.cc: the definition of an operator that ONNX defines by others, and the node to call it with.
struct StandardFunction {
  onnx::NodeProto node;
  onnx::FunctionProto body;
};
bool is_standard_function(const std::string& op, i64 opset, const std::string& domain);
std::optional<StandardFunction> standard_function(const onnx::NodeProto& node, const std::string& domain,
                                                  const OnnxCall& call, const Frame& frame);

// Operators that the walker takes itself, for the documentation.
struct StructuralOp {
  std::string_view name, attrs, limits;
};
std::span<const StructuralOp> structural_ops();

constexpr i64 kNewestOpset = 24;

// onnx_attributes.cc
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const std::string& name, const Frame& frame);
onnx::GraphProto& graph_attribute(onnx::NodeProto& node, const std::string& name);
// All but graphs; references to function arguments are followed.
Attrs convert_attributes(const onnx::NodeProto& node, const Frame& frame, const DataFolders& folders);

// onnx_order.cc: indices of the nodes so that each comes after those it reads from. Error when there is a cycle.
std::vector<int> dependency_order(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes);

}  // namespace mcc::frontend
