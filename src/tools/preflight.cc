// See preflight.h. The frontend surveys the file; if nothing is refused there, the passes, the lowering and the memory
// plan run as in a compile, with default schedules, and only machine code is left out.
//
// The time of tuning is trials divided by a pace, which falls with the work of an average task. It is a line fitted (in
// logarithms) to the ten networks of docs/RESULTS.md, Tuning speed, and within a factor of 1.5 of each: it is there to
// tell minutes from hours.
#include "tools/preflight.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "loop/loop_ops.h"

namespace mcc {
namespace {

using Json = nlohmann::ordered_json;

bool has_product(const loop::Expr& e) {
  return e.op == loop::ExprOp::mul || std::any_of(e.args.begin(), e.args.end(), has_product);
}

// Sums of products; what else a kernel computes is left out.
i64 multiply_adds(const loop::Func& func) {
  i64 total = 0;
  loop::for_each_store(func, [&](const loop::Store& store, std::span<const loop::Loop* const> loops) {
    if (store.op != loop::StoreOp::add || !has_product(store.value)) return;
    i64 times = 1;
    for (const loop::Loop* l : loops) times *= l->extent;
    total += times;
  });
  return total;
}

// Trials a second. Multiply-adds of an average task: from kSmall (mobilenet_v2) to kLarge (vgg16) measured.
double pace(const std::vector<Task>& tasks) {
  constexpr double kSmall = 7e6, kLarge = 6e8, kPaceAt1e7 = 21.2, kExponent = -0.42;
  double work = 0;
  for (const Task& task : tasks) work += static_cast<double>(task.flops) / 2;
  const double mean = std::clamp(work / static_cast<double>(std::max<size_t>(1, tasks.size())), kSmall, kLarge);
  return kPaceAt1e7 * std::pow(mean / 1e7, kExponent);
}

void size_up(Preflight& flight, const Plan& plan) {
  flight.tasks = model_tasks(*flight.model, plan.target, plan.strict);
  for (const Task& task : flight.tasks)
    flight.multiply_adds += static_cast<i64>(task.weight) * multiply_adds(task.func);
  PackageOptions options;
  options.target = plan.target;
  options.strict = plan.strict;
  flight.sizes = artifact_sizes(*flight.model, options);
  const Graph& graph = flight.model->graph;
  for (const std::vector<ValueId>* ports : {&graph.inputs, &graph.outputs})
    for (const ValueId v : *ports)
      flight.port_bytes += static_cast<double>(bytes(graph.values[static_cast<size_t>(v)].type));
  flight.tuning_s = static_cast<double>(plan.trials) / pace(flight.tasks);
  if (plan.time_budget_s > 0) flight.tuning_s = std::min(flight.tuning_s, plan.time_budget_s);
}

// What can be done about a refusal; nothing where its reason says so already.
std::string advice(const Refusal& refusal) {
  if (refusal.reason.find("--") != std::string::npos) return "";
  if (refusal.reason.starts_with("operator "))
    return "export the model without it or replace it by operators of docs/ONNX.md";
  return "docs/ONNX.md tells what is taken; simplifying the model or other settings of its exporter may avoid it";
}

std::string option_for(const FreeDimension& dim, const std::vector<ModelPort>& inputs) {
  if (!dim.name.empty()) return fmt::format("--dim={}=1", dim.name);
  const auto port = std::find_if(inputs.begin(), inputs.end(), [&](const auto& p) { return p.name == dim.input; });
  if (port == inputs.end()) return "--shape";
  std::vector<std::string> dims;
  for (const std::string& d : port->dims) dims.push_back(to_i64(d) ? d : "1");
  return fmt::format("--shape={}:{}", dim.input, join(dims, "x"));
}

std::string text_of(const ModelPort& port) {
  return fmt::format("{}: {}[{}]", port.name, port.dtype, join(port.dims, ","));
}

std::string mib(double bytes) { return fmt::format("{:.2f} MiB", bytes / (1 << 20)); }
std::string mib(i64 bytes) { return mib(static_cast<double>(bytes)); }

std::string amount(i64 count) {
  const auto n = static_cast<double>(count);
  return count >= 1'000'000'000 ? fmt::format("{:.2f} G ", n / 1e9)
         : count >= 1'000'000   ? fmt::format("{:.2f} M ", n / 1e6)
                                : fmt::format("{} ", count);
}

std::string duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", std::ceil(seconds));
  return seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

i64 count_nodes(const Survey& survey) {
  i64 nodes = 0;
  for (const auto& [op, n] : survey.ops) nodes += n;
  return nodes;
}

std::string what_is_refused(const Refusal& r) {
  if (r.op == "model") return r.reason;
  return fmt::format("{} {}'{}': {}", r.op, r.op == "input" || r.op == "output" ? "" : "node ", r.node, r.reason);
}

// What the types of a finished graph say about inputs and outputs, where the file left them open.
void take_ports(const Graph& graph, const std::vector<ValueId>& values, std::vector<ModelPort>& ports) {
  ports.clear();
  for (const ValueId v : values) {
    const Value& value = graph.values[static_cast<size_t>(v)];
    ModelPort& port = ports.emplace_back(ModelPort{value.name, std::string(name(value.type.dtype)), {}});
    for (const i64 extent : value.type.shape) port.dims.push_back(std::to_string(extent));
  }
}

}  // namespace

Preflight preflight(const ImportOptions& options, const Plan& plan) {
  Preflight flight;
  flight.survey = survey_onnx(plan.model, options);
  if (!flight.survey.graph) return flight;
  const Graph graph = std::move(*flight.survey.graph);
  flight.survey.graph.reset();
  take_ports(graph, graph.inputs, flight.survey.inputs);
  take_ports(graph, graph.outputs, flight.survey.outputs);
  try {
    flight.model = compile_graph(graph);
    size_up(flight, plan);
  } catch (const Error& error) {
    flight.model.reset();
    flight.survey.refusals.push_back({"model", "", error.what()});
  }
  return flight;
}

std::string summary(const Preflight& flight, const Plan& plan) {
  return fmt::format(
      "{}: {} kernels, {} tasks, {}multiply-adds, {} of weights, {} of arena, {} of inputs and outputs; {} trials take "
      "about {}",
      plan.model, flight.model->calls.size(), flight.tasks.size(), amount(flight.multiply_adds),
      mib(flight.sizes.weight_bytes), mib(flight.sizes.arena_bytes), mib(flight.port_bytes), plan.trials,
      duration(flight.tuning_s));
}

std::string report(const Preflight& flight, const Plan& plan) {
  const Survey& survey = flight.survey;
  std::string text = fmt::format("{}: {} nodes\n", plan.model, count_nodes(survey));
  for (const ModelPort& port : survey.inputs) text += "  input " + text_of(port) + "\n";
  for (const ModelPort& port : survey.outputs) text += "  output " + text_of(port) + "\n";
  for (const auto& [op, n] : survey.ops) text += fmt::format("  {:>6}  {}\n", n, op);
  if (!survey.free.empty()) text += "free dimensions:\n";
  for (const FreeDimension& dim : survey.free)
    text += fmt::format("  dimension {}{} of input '{}': give {}\n", dim.axis,
                        dim.name.empty() ? "" : " ('" + dim.name + "')", dim.input, option_for(dim, survey.inputs));
  if (!survey.refusals.empty()) text += "not supported:\n";
  for (const Refusal& refusal : survey.refusals) {
    const std::string todo = advice(refusal);
    text += fmt::format("  {}{}{}\n", what_is_refused(refusal), todo.empty() ? "" : "; ", todo);
  }
  if (!flight.can_compile()) return text + "cannot be compiled\n";
  return text + summary(flight, plan) + "\ncan be compiled\n";
}

Json to_json(const Preflight& flight, const Plan& plan) {
  const Survey& survey = flight.survey;
  const auto ports = [](const std::vector<ModelPort>& list) {
    Json all = Json::array();
    for (const ModelPort& port : list) {
      Json shape = Json::array();
      for (const std::string& dim : port.dims) shape.push_back(to_i64(dim) ? Json(*to_i64(dim)) : Json(dim));
      all.push_back({{"name", port.name}, {"dtype", port.dtype}, {"shape", shape}});
    }
    return all;
  };
  Json json = {{"model", plan.model},
               {"target", plan.target.name},
               {"can_compile", flight.can_compile()},
               {"inputs", ports(survey.inputs)},
               {"outputs", ports(survey.outputs)},
               {"nodes", count_nodes(survey)},
               {"operators", survey.ops},
               {"free_dimensions", Json::array()},
               {"refusals", Json::array()}};
  for (const FreeDimension& dim : survey.free)
    json["free_dimensions"].push_back(
        {{"input", dim.input}, {"axis", dim.axis}, {"name", dim.name}, {"option", option_for(dim, survey.inputs)}});
  for (const Refusal& r : survey.refusals)
    json["refusals"].push_back({{"op", r.op}, {"node", r.node}, {"reason", r.reason}, {"advice", advice(r)}});
  if (!flight.can_compile()) return json;
  json["kernels"] = flight.model->calls.size();
  json["tasks"] = flight.tasks.size();
  json["multiply_adds"] = flight.multiply_adds;
  json["weight_bytes"] = flight.sizes.weight_bytes;
  json["peak_arena_bytes"] = flight.sizes.arena_bytes;
  json["trials"] = plan.trials;
  json["estimated_seconds"] = flight.tuning_s;
  return json;
}

void refuse(const Preflight& flight, const Plan& plan) {
  const Survey& survey = flight.survey;
  const size_t obstacles = survey.refusals.size() + survey.free.size();
  std::string first = survey.refusals.empty() ? "" : what_is_refused(survey.refusals[0]);
  if (first.empty()) {
    std::vector<std::string> open;
    for (const FreeDimension& dim : survey.free) {
      const std::string option = option_for(dim, survey.inputs);
      if (std::find(open.begin(), open.end(), option) == open.end()) open.push_back(option);
    }
    fail("{}: dimensions of inputs are free; give {}", plan.model, join(open, " "));
  }
  if (obstacles == 1) fail("{}: {}", plan.model, first);
  fail("{}: {} (and {} more; mcc-tune MODEL --check lists them all)", plan.model, first, obstacles - 1);
}

}  // namespace mcc
