// If, Loop and Scan vanish at import: the branch that a constant condition takes is inlined, loops whose number of
// iterations is known are unrolled. What depends on a condition known at run time only is computed and selected: both
// branches of an If; and of a Loop with a largest number of iterations all of them, each of which changes the state
// only while the loop still runs. Then its scan outputs are as long as there can be, with a count (counted.cc).
#include <algorithm>
#include <limits>

#include "frontend/counted.h"
#include "frontend/onnx_walk.h"

namespace mcc::frontend {
namespace {

constexpr i64 kMaxSelected = 4096;  // iterations of a loop that may end earlier

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

void require_fixed_length(const OnnxCall& call, ValueId v) {
  if (v == kEmptyOptional || is_sequence(v)) fail("a sequence cannot be selected or stacked at run time");
  if (call.builder.counted.contains(v)) fail("a value whose length depends on data cannot be selected or stacked");
}

// condition ? yes : no, at run time.
ValueId choose(const OnnxCall& call, ValueId condition, ValueId yes, ValueId no) {
  if (yes == no) return yes;
  require_fixed_length(call, yes);
  require_fixed_length(call, no);
  const TensorType &a = call.builder.type(yes), &b = call.builder.type(no);
  if (a != b)
    fail("the condition depends on the model's inputs and selects between types {} and {}", to_string(a), to_string(b));
  return call.emit1("Where", {condition, yes, no});
}

// The slice [i] of the axis, without it.
ValueId take(const OnnxCall& call, ValueId v, i64 axis, i64 i) {
  require_fixed_length(call, v);
  Shape shape = call.builder.shape(v);
  axis = normalize_axis(axis, static_cast<i64>(shape.size()));
  const ValueId part = slice(call, v, axis, i, i + 1);
  shape.erase(shape.begin() + axis);
  return call.reshape(part, shape);
}

ValueId stack(const OnnxCall& call, const std::vector<ValueId>& items, i64 axis) {
  std::vector<ValueId> parts;
  for (const ValueId item : items) {
    require_fixed_length(call, item);
    parts.push_back(unsqueeze(call, item, axis));
  }
  if (parts.size() == 1) return parts[0];
  return call.emit1("Concat", parts, make_attrs({{"axis", normalize_axis(axis, call.builder.rank(parts[0]))}}));
}

// How many of a Scan's inputs are states.
i64 states_of(size_t inputs, i64 scanned) {
  if (scanned < 1 || scanned > static_cast<i64>(inputs)) fail("attribute 'num_scan_inputs' is {}", scanned);
  return static_cast<i64>(inputs) - scanned;
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
  for (size_t i = 0; i < yes.size(); i++) results.push_back(choose(call, scalar, yes[i], no[i]));
  return results;
}

// Whether a loop still runs, as far as this is known: `open` is a bool scalar of the graph, or kNone while it runs for
// certain; `count` counts the iterations that really happen.
struct Running {
  ValueId open = kNone, count = kNone;

  // False when it is known to end here.
  bool goes_on(const OnnxCall& call, ValueId condition) {
    if (condition == kNone) fail("the body gives no condition");
    const Tensor* known = call.builder.known(condition);
    if (known) return is_true(*known);
    if (elements(call.builder.shape(condition)) != 1) fail("a condition has more than one element");
    const ValueId now = call.reshape(condition, {});
    open = open == kNone ? now : call.emit1("And", {open, now});
    return true;
  }
  void iterate(const OnnxCall& call) {
    const ValueId one = open == kNone ? call.constant(Tensor::of<i64>(DType::i64, {}, {1}))
                                      : call.emit1("Cast", {open}, make_attrs({{"to", std::string("i64")}}));
    count = count == kNone ? one : call.emit1("Add", {count, one});
  }
};

Outputs Walker::import_loop(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame) {
  onnx::GraphProto& body = graph_attribute(node, "body");
  const size_t carried = call.in.size() < 2 ? 0 : call.in.size() - 2;
  const i64 trips = call.has(0) ? call.known_int(0, "M") : std::numeric_limits<i64>::max();
  ValueId condition = call.has(1) ? call.in[1] : call.constant(Tensor::of<u8>(DType::boolean, {}, {1}));

  Outputs state(call.in.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(2, call.in.size())), call.in.end());
  std::vector<Outputs> scans(at(std::max<i64>(0, body.output_size() - 1 - static_cast<i64>(carried))));
  Running running;
  const auto iterate = [&](i64 i) {
    Outputs arguments = {call.constant(Tensor::of<i64>(DType::i64, {}, {i})), condition};
    arguments.insert(arguments.end(), state.begin(), state.end());
    Outputs results = run_body(body, arguments, scope, frame);
    if (results.size() < 1 + carried)
      fail("the body gives {} outputs, at least {} are needed", results.size(), 1 + carried);
    return results;
  };
  for (i64 i = 0; i < trips && running.goes_on(call, condition); i++) {
    if (running.open != kNone && trips > kMaxSelected)
      fail("the number of iterations depends on the model's inputs and is not bounded by {}", kMaxSelected);
    const Outputs results = iterate(i);
    running.iterate(call);
    condition = results[0];
    for (size_t c = 0; c < carried; c++)
      state[c] = running.open == kNone ? results[1 + c] : choose(call, running.open, results[1 + c], state[c]);
    for (size_t s = 0; s < scans.size(); s++) scans[s].push_back(results[1 + carried + s]);
  }
  Outputs results = state;
  for (size_t s = 0; s < scans.size(); s++) {
    const bool runs_never = running.count == kNone;
    if (runs_never) scans[s] = {iterate(0)[1 + carried + s]};  // only its type is wanted
    const ValueId all = call.wants(carried + s) ? stack(call, scans[s], 0) : kNone;
    if (all == kNone)
      results.push_back(kNone);
    else if (runs_never)
      results.push_back(slice(call, all, 0, 0, 0));
    else
      results.push_back(running.open == kNone ? all : with_count(call, all, 0, running.count));
  }
  return results;
}

// How the inputs and outputs of a Scan lie.
struct ScanAxes {
  std::vector<i64> in, in_backwards, out, out_backwards;
};

// The steps of a Scan; its state, then its scan outputs.
Outputs Walker::scan_steps(onnx::GraphProto& body, OnnxCall& call, const ScanAxes& axes, Outputs state,
                           const std::vector<ValueId>& scanned, Scope& scope, const Frame& frame) {
  const size_t carried = state.size();
  const i64 steps = builder_.shape(scanned[0])[at(normalize_axis(axes.in[0], builder_.rank(scanned[0])))];
  std::vector<Outputs> scans(axes.out.size());
  if (steps == 0) fail("a scan over nothing is not supported");
  for (i64 step = 0; step < steps; step++) {
    Outputs arguments = state;
    for (size_t s = 0; s < scanned.size(); s++)
      arguments.push_back(take(call, scanned[s], axes.in[s], axes.in_backwards[s] ? steps - 1 - step : step));
    const Outputs results = run_body(body, arguments, scope, frame);
    std::copy_n(results.begin(), carried, state.begin());
    for (size_t s = 0; s < scans.size(); s++) scans[s].push_back(results[carried + s]);
  }
  for (size_t s = 0; s < scans.size(); s++) {
    if (axes.out_backwards[s]) std::reverse(scans[s].begin(), scans[s].end());
    state.push_back(call.wants(carried + s) ? stack(call, scans[s], axes.out[s]) : kNone);
  }
  return state;
}

Outputs Walker::import_scan(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame) {
  if (call.opset < 9) return scan_8(node, call, scope, frame);
  onnx::GraphProto& body = graph_attribute(node, "body");
  const i64 scanned = read_int(node, "num_scan_inputs", frame, 0);
  const i64 carried = states_of(call.in.size(), scanned), stacked = body.output_size() - carried;
  if (stacked < 0) fail("the body has {} outputs for {} states", body.output_size(), carried);
  const ScanAxes axes = {
      read_ints(node, "scan_input_axes", frame, scanned), read_ints(node, "scan_input_directions", frame, scanned),
      read_ints(node, "scan_output_axes", frame, stacked), read_ints(node, "scan_output_directions", frame, stacked)};
  std::vector<ValueId> inputs;
  for (i64 s = 0; s < scanned; s++) inputs.push_back(call.need(at(carried + s), "scan input"));
  return scan_steps(body, call, axes, Outputs(call.in.begin(), call.in.begin() + carried), inputs, scope, frame);
}

// In opset 8 all states and scan inputs have a batch axis before all others, which the body does not see.
Outputs Walker::scan_8(onnx::NodeProto& node, OnnxCall& call, Scope& scope, const Frame& frame) {
  onnx::GraphProto& body = graph_attribute(node, "body");
  if (call.has(0)) fail("sequence_lens is not supported");
  const i64 scanned = read_int(node, "num_scan_inputs", frame, 0);
  if (call.in.empty()) fail("has no inputs");
  const i64 carried = states_of(call.in.size() - 1, scanned), stacked = body.output_size() - carried;
  if (stacked < 0) fail("the body has {} outputs for {} states", body.output_size(), carried);
  const std::vector<i64> zeros(at(scanned), 0), out_zeros(at(stacked), 0);
  const ScanAxes axes = {zeros, read_ints(node, "directions", frame, scanned), out_zeros, out_zeros};
  const ValueId first = call.need(at(carried + 1), "scan input");
  if (builder_.rank(first) < 2) fail("a scan input has rank {}", builder_.rank(first));
  std::vector<Outputs> by_batch(at(carried + stacked));
  for (i64 b = 0; b < builder_.shape(first)[0]; b++) {
    Outputs state, inputs;
    for (i64 c = 0; c < carried; c++) state.push_back(take(call, call.need(at(1 + c), "state"), 0, b));
    for (i64 s = 0; s < scanned; s++) inputs.push_back(take(call, call.need(at(1 + carried + s), "scan input"), 0, b));
    const Outputs results = scan_steps(body, call, axes, state, inputs, scope, frame);
    for (size_t i = 0; i < results.size(); i++) by_batch[i].push_back(results[i]);
  }
  Outputs results;
  for (size_t i = 0; i < by_batch.size(); i++) {
    if (by_batch[i].empty()) fail("a batch of nothing is not supported");
    results.push_back(call.wants(i) ? stack(call, by_batch[i], 0) : kNone);
  }
  return results;
}

}  // namespace mcc::frontend
