// One forward pass over the nodes of an ONNX graph. Each node's inputs are looked up by name, its operator's handler
// (or the body of a function, or a subgraph) makes values, and its output names are bound to them. Nothing
// here recurses over the depth of the graph; only functions and subgraphs nest, to a limit.
#include "frontend/onnx_walk.h"

#include <algorithm>

#include "base/text.h"
#include "frontend/counted.h"
#include "frontend/four_bits.h"
#include "frontend/onnx_newer.h"

namespace mcc::frontend {
namespace {

constexpr i64 kMaxVisited = 200'000;  // nodes, each iteration of an unrolled loop and each function call counted
constexpr int kMaxDepth = 32;         // of function calls in function calls

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

// Exporters may leave the name out; the first output says as well which node it is.
std::string name_of(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output())
    if (!output.empty()) return output;
  return "unnamed";
}

std::string not_supported(const std::string& domain, const std::string& op) {
  if (op.empty()) return "the node names no operator";
  return fmt::format("operator {}{}{} is not supported", domain, domain.empty() ? "" : ".", op);
}

// Those that dispatch() takes itself.
constexpr StructuralOp kStructural[] = {
    {"Constant", "value value_float value_floats value_int value_ints", "no strings, no sparse tensors"},
    {"If", "then_branch else_branch",
     "any condition; if it is not known, both branches run and their types must agree"},
    {"Loop", "body", "M known, or a condition that is; unrolled; with M at most 4096 it may end early (OPS.md)"},
    {"Scan",
     "body directions num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions",
     "unrolled; no sequence_lens (opset 8)"},
};

bool is_structural(std::string_view op) {
  return std::any_of(std::begin(kStructural), std::end(kStructural), [&](const auto& row) { return row.name == op; });
}

i64 opset_of(const std::string& domain, const Frame& frame) {
  const auto opset = frame.opsets.find(domain_of(domain));
  return opset == frame.opsets.end() ? 0 : opset->second;
}

std::string without_prefix(const std::string& text, const std::string& prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

Node as_node(const OnnxCall& call) { return {call.op, call.name, {}, {}, {}}; }

// Of Constant and ConstantOfShape.
bool holds_four_bits(const onnx::NodeProto& node, const Frame& frame) {
  if (!node.op_type().starts_with("Constant")) return false;
  const onnx::AttributeProto* value = find_attribute(node, "value", frame);
  return value && is_four_bits(value->t().data_type());
}

void check_attributes(const OnnxCall& call, const OnnxOp& op) {
  const std::vector<std::string> known = split_words(op.attrs);
  for (const auto& [name, value] : call.attrs.items)
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail("attribute '{}' is not supported (opset {})", name, call.opset);
}

}  // namespace

std::span<const StructuralOp> structural_ops() { return kStructural; }

Walker::Walker(Builder& builder, onnx::ModelProto& model, DataFolders folders, Survey* survey)
    : builder_(builder), model_(model), folders_(std::move(folders)), survey_(survey) {
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    const auto [at, is_new] =
        functions_.try_emplace({domain_of(function.domain()), function.name(), overload_of(function)},
                               Function{&function, default_attributes(function)});
    if (!is_new) fail("function '{}' is defined twice", function.name());
  }
}

const Walker::Function* Walker::find_function(const onnx::NodeProto& node) const {
  const auto found = functions_.find({domain_of(node.domain()), node.op_type(), overload_of(node)});
  return found == functions_.end() ? nullptr : &found->second;
}

Frame Walker::main_frame() const {
  Frame frame;
  for (const auto& opset : model_.opset_import()) frame.opsets[domain_of(opset.domain())] = opset.version();
  return frame;
}

ValueId Walker::find(const std::string& name, Scope& scope) {
  if (name.empty()) return kNone;
  for (Scope* s = &scope; s; s = const_cast<Scope*>(s->outer)) {
    if (const auto value = s->values.find(name); value != s->values.end()) {
      if (value->second == kRefused) throw ReadsRefused{};
      return value->second;
    }
    const auto initializer = s->initializers.find(name);
    if (initializer == s->initializers.end()) continue;
    const std::string kept = s->is_main ? name : builder_.unique(name);
    const ValueId id = builder_.graph.add_constant(kept, tensor_from_proto(*initializer->second, folders_));
    if (is_four_bits(initializer->second->data_type())) builder_.four_bits.insert(id);
    if (s->is_main) initializer->second->clear_raw_data();  // a large model need not be held twice; bodies run again
    s->initializers.erase(initializer);
    s->values.emplace(name, id);
    return id;
  }
  fail("value '{}' is defined nowhere", name);
}

void Walker::run(onnx::GraphProto& graph, Scope& scope, const Frame& frame) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer())  // of two with one name the last counts
    scope.initializers.insert_or_assign(tensor.name(), &tensor);
  if (graph.sparse_initializer_size() > 0) fail("sparse initializers are not supported");
  run_nodes(*graph.mutable_node(), scope, frame);
}

void Walker::run_nodes(Nodes& nodes, Scope& scope, const Frame& frame) {
  for (const int i : dependency_order(nodes)) import_node(nodes[i], scope, frame);
}

void Walker::count_visit() {
  if (++visited_ > kMaxVisited)
    fail("the model needs more than {} nodes once loops and functions are unrolled", kMaxVisited);
}

void Walker::import_node(onnx::NodeProto& node, Scope& scope, const Frame& frame) {
  count_visit();
  OnnxCall call{builder_, node.op_type(), name_of(node), 0, {}, {}, {}};
  try {
    return bind_node(node, call, scope, frame);
  } catch (const ReadsRefused&) {
    refuse_unknown(node, frame);
  } catch (const Error& error) {
    const std::string text = error.what();
    if (survey_) {
      refuse({call.op, call.name, without_prefix(text, describe(as_node(call)) + ": ")});
    } else {
      if (text.find(" node '") != std::string::npos) throw;  // it names its node already
      fail("{}: {}", describe(as_node(call)), text);
    }
  }
  for (const std::string& name : node.output())
    if (!name.empty()) scope.values.emplace(name, kRefused);
}

void Walker::bind_node(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame) {
  if (node.output_size() == 0) fail("has no outputs");
  call.opset = opset_of(node.domain(), frame);
  for (const std::string& name : node.input()) call.in.push_back(find(name, scope));
  for (const std::string& name : node.output()) call.wanted.push_back(!name.empty());
  const ValueId first_new = static_cast<ValueId>(builder_.graph.values.size());
  const Outputs values = dispatch(node, call, scope, frame);
  if (holds_four_bits(node, frame)) builder_.four_bits.insert(values.begin(), values.end());
  bind_outputs(node, values, first_new, scope);
}

// A body that runs several times refuses the same nodes each time.
void Walker::refuse(Refusal refusal) {
  const std::string key = fmt::format("{}\n{}\n{}", refusal.op, refusal.node, refusal.reason);
  if (refused_.insert(key).second) survey_->refusals.push_back(std::move(refusal));
}

// What can be said of a node without its inputs' types; of the nodes of its subgraphs and of its function too.
void Walker::refuse_unknown(const onnx::NodeProto& node, const Frame& frame) {
  const std::string domain = domain_of(node.domain());
  const Function* function = find_function(node);
  const bool known = (domain.empty() && is_structural(node.op_type())) || find_onnx_op(domain, node.op_type()) ||
                     function != nullptr ||
                     is_standard_function(node.op_type(), opset_of(node.domain(), frame), domain);
  if (!known) refuse({node.op_type(), name_of(node), not_supported(domain, node.op_type())});
  for (const auto& attribute : node.attribute())
    if (attribute.has_g())
      for (const auto& inner : attribute.g().node()) refuse_unknown(inner, frame);
  if (function == nullptr || !looked_into_.insert(function->proto).second) return;
  for (const auto& inner : function->proto->node()) refuse_unknown(inner, frame);
}

void Walker::require_tensors(const OnnxCall& call, const OnnxOp* op) {
  if (op && op->takes_sequences) return;
  for (size_t i = 0; i < call.in.size(); i++) {
    if (call.in[i] == kEmptyOptional) fail("input {} is an optional without an element", i);
    if (is_sequence(call.in[i])) fail("input {} is a sequence, not a tensor", i);
  }
}

Outputs Walker::dispatch(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame) {
  const std::string domain = domain_of(node.domain());
  if (domain.empty()) {
    if (call.op == "Constant") return constant_node(node, call, frame);
    if (call.op == "If") return import_if(node, call, scope, frame);
    if (call.op == "Loop") return import_loop(node, call, scope, frame);
    if (call.op == "Scan") return import_scan(node, call, scope, frame);
  }
  const Function* function = find_function(node);
  const OnnxOp* op = find_onnx_op(domain, call.op);
  if (function != nullptr && (!domain.empty() || !op)) return call_function(*function, node, call, frame);
  if (!op) {
    std::optional<StandardFunction> standard = standard_function(node, domain, call, frame);
    if (!standard) fail("{}", not_supported(domain, call.op));
    return call_function({&standard->body, {}}, standard->node, call, frame);
  }
  require_tensors(call, op);
  if (call.opset == 0) fail("the model imports no opset for domain '{}'", domain.empty() ? "ai.onnx" : domain);
  call.attrs = convert_attributes(node, frame, folders_);
  check_attributes(call, *op);
  const bool keeps = keeps_four_bits(call);
  const Outputs out = has_counted_input(call) ? import_counted(call, *op) : op->import(call);
  if (keeps) builder_.four_bits.insert(out[0]);
  return out;
}

Outputs Walker::call_function(const Function& called, onnx::NodeProto& node, OnnxCall& call, const Frame& frame) {
  onnx::FunctionProto& function = *called.proto;
  Frame inner = main_frame();  // a function may leave out what the model says already
  inner.depth = frame.depth + 1;
  if (inner.depth > kMaxDepth) fail("functions call each other more than {} deep", kMaxDepth);
  for (const auto& opset : function.opset_import()) inner.opsets[domain_of(opset.domain())] = opset.version();
  for (const auto& attribute : called.defaults) inner.arguments[attribute.name()] = &attribute;
  for (const auto& attribute : node.attribute())
    if (const auto* value = find_attribute(node, attribute.name(), frame)) inner.arguments[attribute.name()] = value;

  Scope scope;
  if (static_cast<int>(call.in.size()) > function.input_size())
    fail("the function takes {} inputs", function.input_size());
  for (int i = 0; i < function.input_size(); i++) scope.values[function.input(i)] = call.input(static_cast<size_t>(i));
  run_nodes(*function.mutable_node(), scope, inner);
  Outputs results;
  for (int i = 0; i < function.output_size() && i < node.output_size(); i++)
    results.push_back(call.wants(static_cast<size_t>(i)) ? find(function.output(i), scope) : kNone);
  return results;
}

// Constant holds its value in one of several attributes.
Outputs Walker::constant_node(const onnx::NodeProto& node, OnnxCall& call, const Frame& frame) {
  const Attrs attrs = convert_attributes(node, frame, folders_);
  if (attrs.items.size() != 1) fail("needs exactly one value");
  const auto& [key, value] = attrs.items[0];
  const auto give = [&](Tensor tensor) { return Outputs{call.constant(std::move(tensor))}; };
  if (key == "value" && std::holds_alternative<Tensor>(value)) return give(std::get<Tensor>(value));
  if (key == "value_float")
    return give(Tensor::of<float>(DType::f32, {}, {static_cast<float>(attrs.get_float(key, 0))}));
  if (key == "value_int") return give(Tensor::of<i64>(DType::i64, {}, {attrs.get_int(key)}));
  if (key == "value_ints") {
    const std::vector<i64> list = attrs.get_ints(key);
    return give(Tensor::of<i64>(DType::i64, {static_cast<i64>(list.size())}, list));
  }
  if (key == "value_floats") {
    const std::vector<double> list = attrs.get_floats(key, {});
    return give(Tensor::of<float>(DType::f32, {static_cast<i64>(list.size())}, {list.begin(), list.end()}));
  }
  fail("a constant given by '{}' is not supported", key);
}

void Walker::bind_outputs(const onnx::NodeProto& node, const Outputs& values, ValueId first_new, Scope& scope) {
  for (int i = 0; i < node.output_size(); i++) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    if (i >= static_cast<int>(values.size()) || values[at(i)] == kNone) fail("output '{}' is not supported", name);
    const ValueId v = values[at(i)];
    if (!scope.values.emplace(name, v).second) fail("value '{}' is defined twice", name);
    const bool first_use = std::find(values.begin(), values.begin() + i, v) == values.begin() + i;
    if (v >= first_new && first_use) builder_.graph.value(v).name = scope.is_main ? name : builder_.unique(name);
  }
}

}  // namespace mcc::frontend
