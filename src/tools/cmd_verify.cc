// mcc-verify: runs an artifact and the reference evaluator of its model on the same inputs and compares the outputs.
// The error of an output is its largest absolute difference, relative to the output's largest magnitude. Where a sum of
// the reference passes the range of its type, the outputs behind it cannot be compared, which is no verdict but an
// error.
#include <nlohmann/json.hpp>

#include "base/memory.h"
#include "graph/npy.h"
#include "graph/tolerance.h"
#include "ops/op_def.h"
#include "ops/overflow.h"
#include "tools/artifact.h"
#include "tools/tools.h"

namespace mcc {
namespace {

struct VerifyArgs {
  ModelArgs model;
  std::string artifact;
  unsigned seed = 1;
  std::optional<double> tolerance;
  int threads = 0;
  bool json = false;
};

// The model as it was compiled: free dimensions take the artifact's shapes unless options say otherwise.
Graph import_as_compiled(const VerifyArgs& args, const ArtifactInfo& info) {
  ImportOptions options = args.model.import_options();
  for (const ArtifactInfo::Port& input : info.inputs) options.shapes.try_emplace(input.name, input.type.shape);
  Graph graph = import_onnx(args.model.file, options);
  if (graph.inputs.size() != info.inputs.size() || graph.outputs.size() != info.outputs.size())
    fail(
        "{} and {} differ in their inputs or outputs: is it this model's artifact, and was it compiled with the same "
        "--bind?",
        args.model.file, info.folder.string());
  for (size_t i = 0; i < graph.inputs.size(); i++) {
    const Value& value = graph.values[static_cast<size_t>(graph.inputs[i])];
    if (value.name != info.inputs[i].name || value.type != info.inputs[i].type)
      fail("input {} is {} in the model and {} {} in the artifact", value.name, to_string(value.type),
           info.inputs[i].name, to_string(info.inputs[i].type));
  }
  return graph;
}

// The most bytes of values that the reference evaluation holds at a time, beside the inputs.
double reference_bytes(const Graph& graph) {
  std::vector<int> reads(graph.values.size(), 0);
  std::vector<double> size;
  for (const Value& value : graph.values) size.push_back(static_cast<double>(bytes(value.type)));
  for (const ValueId v : graph.inputs) size[static_cast<size_t>(v)] = 0;
  for (const Node& node : graph.nodes)
    for (const ValueId v : node.in)
      if (v != kNone) reads[static_cast<size_t>(v)]++;
  for (const ValueId v : graph.outputs) reads[static_cast<size_t>(v)]++;
  double held = 0, most = 0;
  for (const Node& node : graph.nodes) {
    for (const ValueId v : node.out)
      if (v != kNone) held += size[static_cast<size_t>(v)];
    most = std::max(most, held);
    for (const ValueId v : node.in)
      if (v != kNone && --reads[static_cast<size_t>(v)] == 0) held -= size[static_cast<size_t>(v)];
  }
  return most;
}

void require_memory_for(const ArtifactInfo& info, const Graph& graph) {
  const double inputs = port_bytes(info.inputs), outputs = port_bytes(info.outputs);
  require_memory(std::max(run_bytes(info), inputs + outputs + reference_bytes(graph)),
                 info.folder.string() + ": comparing it with the reference");
}

// 1e-4, or what the narrowest floating-point type of the model allows: an output is only as good as what it comes from.
double tolerance(const VerifyArgs& args, const Graph& graph) {
  double most = 1e-4;
  for (const Value& value : graph.values) most = std::max(most, tolerance_of(value.type.dtype, 1e-4));
  return args.tolerance.value_or(most);
}

struct Judged {
  double tolerance = 0;
  nlohmann::ordered_json outputs;
  std::vector<ValueId> bad;
};

Judged judge(const VerifyArgs& args, const Graph& graph, const std::vector<Tensor>& got,
             const std::vector<Tensor>& want, const ArtifactInfo& info) {
  Judged judged{tolerance(args, graph), nlohmann::ordered_json::array(), {}};
  for (size_t o = 0; o < want.size(); o++) {
    if (got[o].type != want[o].type)
      fail("output {} is {} in the artifact, {} in the model", info.outputs[o].name, to_string(got[o].type),
           to_string(want[o].type));
    const Comparison c = compare(got[o], want[o]);
    const bool good = c.relative() <= judged.tolerance && c.mismatched_special == 0;
    if (!good) judged.bad.push_back(graph.outputs[o]);
    judged.outputs.push_back({{"name", info.outputs[o].name},
                              {"relative_error", c.relative()},
                              {"largest", c.max_abs_want},
                              {"special_mismatches", c.mismatched_special},
                              {"ok", good}});
    fmt::print(stderr, "{}: relative error {:.3g} of {:.3g}{}{}\n", info.outputs[o].name, c.relative(), c.max_abs_want,
               c.mismatched_special ? fmt::format(", {} NaN or infinity mismatches", c.mismatched_special) : "",
               good ? "" : "  TOO LARGE");
  }
  return judged;
}

// Why bad outputs may be right all the same; empty if they are wrong.
std::string why_undecided(const Graph& graph, const std::vector<Tensor>& inputs, const std::vector<ValueId>& bad) {
  const std::optional<Overflow> overflow = find_overflow(graph, inputs, bad);
  if (!overflow) return "";
  return fmt::format(
      "{} may reach {:.3g} on the way, where {} ends at {:.3g}: what comes out depends on the order of "
      "summation",
      overflow->node, overflow->magnitude, name(overflow->dtype), overflow->range);
}

// Prints the verdict. Throws Error when there is none.
bool report(const VerifyArgs& args, const ArtifactInfo& info, const Judged& judged, const std::string& undecided) {
  const bool ok = judged.bad.empty();
  if (args.json) {
    nlohmann::ordered_json json = {
        {"artifact", info.folder.string()}, {"seed", args.seed}, {"tolerance", judged.tolerance}, {"ok", ok}};
    if (!undecided.empty()) json["undecided"] = undecided;
    json["outputs"] = judged.outputs;
    fmt::print("{}\n", json.dump());
  }
  if (!undecided.empty()) fail("{}: cannot be decided: {}", info.folder.string(), undecided);
  if (!args.json) fmt::print("{}\n", ok ? "ok" : "wrong");
  return ok;
}

}  // namespace

int cmd_verify(const Args& args) {
  VerifyArgs a;
  CLI::App app("Compares an artifact's outputs with the reference evaluator's.", args[0]);
  a.model.add_to(app);
  app.add_option("OUT_DIR", a.artifact, "the artifact")->required();
  app.add_option("--seed", a.seed, "of the random inputs")->capture_default_str();
  app.add_option("--tolerance", a.tolerance,
                 "largest error allowed, relative to an output's largest magnitude; default 1e-4, float16 1e-2, "
                 "bfloat16 5e-2");
  app.add_option("--threads", a.threads, "threads to run with; default: what it was compiled for")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", a.json, "print one JSON object on standard output");
  if (!parse_command_line(app, args)) return 0;
  const ArtifactInfo info = read_artifact(a.artifact);
  const Graph graph = import_as_compiled(a, info);
  require_memory_for(info, graph);
  std::vector<Tensor> inputs;
  for (const ArtifactInfo::Port& port : info.inputs)
    inputs.push_back(random_input(port.type, port.name, port.number, a.seed));
  const std::vector<Tensor> got =
      run_once(info, inputs, a.threads > 0 ? std::min(a.threads, info.threads) : info.threads);
  const Judged judged = judge(a, graph, got, evaluate(graph, inputs), info);
  return report(a, info, judged, judged.bad.empty() ? "" : why_undecided(graph, inputs, judged.bad)) ? 0 : 1;
}

}  // namespace mcc
