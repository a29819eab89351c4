// If, Loop and Scan vanish at import: the branch that a constant condition takes is inlined, loops whose number of
// iterations is known are unrolled. An If on a run-time condition computes both branches and selects.
#include <algorithm>
#include <limits>

#include "frontend/onnx_walk.h"

namespace mcc::frontend {
namespace {

i64 read_int(const onnx::NodeProto& node, const std::string& name, const Frame& frame, i64 otherwise) {
  const auto* attribute = find_attribute(node, name, frame);
  return attribute ? attribute->i() : otherwise;
}

std::vector<i64> read_ints(const onnx::NodeProto& node, const std::string& name, const Frame& frame, i64 count) {
  const auto* attribute = find_attribute(node, name, frame);
  if (!attribute) return std::vector<i64>(at(count), 0);
  if (attribute->ints_size() != count)
    fail("attribute '{}' has {} entries instead of {}", name, attribute->ints_size(), count);
  return {attribute->ints().begin(), attribute->ints().end()};
}

bool is_true(const Tensor& condition) {
  if (condition.size() != 1) fail("a condition has {} elements instead of one", condition.size());
  return condition.get(0) != 0;
}

ValueId unsqueeze(const OnnxCall& call, ValueId v, i64 axis) {
  Shape shape = call.builder.shape(v);
  axis = normalize_axis(axis, static_cast<i64>(shape.size()) + 1);
  shape.insert(shape.begin() + axis, 1);
  return call.reshape(v, shape);
}

// The slice [i] of the axis, without it.
ValueId take(const OnnxCall& call, ValueId v, i64 axis, i64 i) {
  Shape shape = call.builder.shape(v);
  axis = normalize_axis(axis, static_cast<i64>(shape.size()));
  const ValueId slice = call.emit1("Slice", {v},
                                   make_attrs({{"starts", std::vector<i64>{i}},
                                               {"ends", std::vector<i64>{i + 1}},
                                               {"axes", std::vector<i64>{axis}},
                                               {"steps", std::vector<i64>{1}}}));
  shape.erase(shape.begin() + axis);
  return call.reshape(slice, shape);
}

ValueId stack(const OnnxCall& call, const std::vector<ValueId>& items, i64 axis) {
  if (items.empty()) fail("a scan output of a loop without iterations is not supported");
  std::vector<ValueId> parts;
  for (const ValueId item : items) parts.push_back(unsqueeze(call, item, axis));
  if (parts.size() == 1) return parts[0];
  return call.emit1("Concat", parts, make_attrs({{"axis", normalize_axis(axis, call.builder.rank(parts[0]))}}));
}

}  // namespace

Outputs Walker::run_body(onnx::GraphProto& body, const std::vector<ValueId>& arguments, Scope& outer,
                         const Frame& frame) {
  count_visit();
  if (static_cast<size_t>(body.input_size()) != arguments.size())
    fail("a subgraph takes {} inputs but gets {}", body.input_size(), arguments.size());
  Scope scope;
  scope.outer = &outer;
  for (int i = 0; i < body.input_size(); i++) scope.values[body.input(i).name()] = arguments[at(i)];
  run(body, scope, frame);
  Outputs results;
  for (const auto& output : body.output()) {
    if (output.name().empty()) fail("an output of a subgraph has no name");
    results.push_back(find(output.name(), scope));
    if (results.back() == kNone) fail("the subgraph's output '{}' is an input that is left out", output.name());
  }
  return results;
}

Outputs Walker::import_if(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame) {
  const ValueId condition = call.need(0, "cond");
  if (elements(builder_.shape(condition)) != 1) fail("the condition has more than one element");
  if (const Tensor* known = builder_.known(condition))
    return run_body(graph_attribute(node, is_true(*known) ? "then_branch" : "else_branch"), {}, scope, frame);

  const Outputs yes = run_body(graph_attribute(node, "then_branch"), {}, scope, frame);
  const Outputs no = run_body(graph_attribute(node, "else_branch"), {}, scope, frame);
  if (yes.size() != no.size()) fail("the branches have different numbers of outputs");
  const ValueId scalar = call.reshape(condition, {});
  Outputs results;
  for (size_t i = 0; i < yes.size(); i++) {
    if (builder_.type(yes[i]) != builder_.type(no[i]))
      fail("the condition depends on the model's inputs and the branches have types {} and {}",
           to_string(builder_.type(yes[i])), to_string(builder_.type(no[i])));
    results.push_back(yes[i] == no[i] ? yes[i] : call.emit1("Where", {scalar, yes[i], no[i]}));
  }
  return results;
}

Outputs Walker::import_loop(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame) {
  onnx::GraphProto& body = graph_attribute(node, "body");
  const size_t carried = call.in.size() < 2 ? 0 : call.in.size() - 2;
  const i64 trips = call.has(0) ? call.known_int(0, "M") : std::numeric_limits<i64>::max();
  if (call.has(1)) call.known_number(1, "cond");
  ValueId condition = call.has(1) ? call.in[1] : call.constant(Tensor::of<u8>(DType::boolean, {}, {1}));

  Outputs state(call.in.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(2, call.in.size())), call.in.end());
  std::vector<Outputs> scans(at(std::max<i64>(0, body.output_size() - 1 - static_cast<i64>(carried))));
  for (i64 i = 0; i < trips && is_true(*builder_.known(condition)); i++) {
    Outputs arguments = {call.constant(Tensor::of<i64>(DType::i64, {}, {i})), condition};
    arguments.insert(arguments.end(), state.begin(), state.end());
    const Outputs results = run_body(body, arguments, scope, frame);
    if (results.size() < 1 + carried)
      fail("the body gives {} outputs, at least {} are needed", results.size(), 1 + carried);
    condition = results[0];
    if (!builder_.known(condition)) fail("the number of iterations depends on the model's inputs");
    std::copy_n(results.begin() + 1, carried, state.begin());
    for (size_t s = 0; s < scans.size(); s++) scans[s].push_back(results[1 + carried + s]);
  }
  Outputs results = state;
  for (size_t s = 0; s < scans.size(); s++)
    results.push_back(call.wants(carried + s) ? stack(call, scans[s], 0) : kNone);
  return results;
}

Outputs Walker::import_scan(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame) {
  if (call.opset < 9) fail("Scan of opset 8 is not supported");
  onnx::GraphProto& body = graph_attribute(node, "body");
  const i64 scanned = read_int(node, "num_scan_inputs", frame, 0);
  const i64 carried = static_cast<i64>(call.in.size()) - scanned;
  const i64 stacked = body.output_size() - carried;
  if (scanned < 1 || carried < 0 || stacked < 0) fail("attribute 'num_scan_inputs' is {}", scanned);
  const std::vector<i64> in_axes = read_ints(node, "scan_input_axes", frame, scanned);
  const std::vector<i64> in_backwards = read_ints(node, "scan_input_directions", frame, scanned);
  const std::vector<i64> out_axes = read_ints(node, "scan_output_axes", frame, stacked);
  const std::vector<i64> out_backwards = read_ints(node, "scan_output_directions", frame, stacked);

  Outputs state(call.in.begin(), call.in.begin() + carried);
  const ValueId first = call.need(at(carried), "scan input");
  const i64 steps = builder_.shape(first)[at(normalize_axis(in_axes[0], builder_.rank(first)))];
  std::vector<Outputs> scans(at(stacked));
  for (i64 step = 0; step < steps; step++) {
    Outputs arguments = state;
    for (i64 s = 0; s < scanned; s++)
      arguments.push_back(take(call, call.need(at(carried + s), "scan input"), in_axes[at(s)],
                               in_backwards[at(s)] ? steps - 1 - step : step));
    const Outputs results = run_body(body, arguments, scope, frame);
    std::copy_n(results.begin(), carried, state.begin());
    for (i64 s = 0; s < stacked; s++) scans[at(s)].push_back(results[at(carried + s)]);
  }
  Outputs results = state;
  for (i64 s = 0; s < stacked; s++) {
    if (out_backwards[at(s)]) std::reverse(scans[at(s)].begin(), scans[at(s)].end());
    results.push_back(call.wants(at(carried + s)) ? stack(call, scans[at(s)], out_axes[at(s)]) : kNone);
  }
  return results;
}

}  // namespace mcc::frontend
