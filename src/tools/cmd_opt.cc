// mcc-opt: every stage of the compiler alone, from text to text. Tests are written with it, and so are bug reports:
//   mcc-opt loop --collapse f.loop | mcc-opt apply --trace="split relu a [8]" /dev/stdin |
//     mcc-opt codegen /dev/stdin
#include <cstdio>

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "codegen/codegen.h"
#include "graph/print.h"
#include "loop/loop_ops.h"
#include "loop/text_form.h"
#include "passes/passes.h"
#include "schedule/analytic.h"
#include "schedule/nest.h"
#include "schedule/space.h"
#include "schedule/trace.h"
#include "tools/tools.h"

namespace mcc {

namespace {

loop::Func read_func(const std::string& file) {
  try {
    return loop::parse_func(read_file(file));
  } catch (const Error& e) {
    fail("{}:{}", file, e.what());
  }
}

void require_valid(const loop::Func& func) {
  if (const std::string wrong = loop::verify(func); !wrong.empty()) fail("{}: {}", func.name, wrong);
}

// The options of all stages; each reads those it has.
struct Stage {
  std::string file, target = "host", trace;
  std::vector<std::string> passes;
  ModelArgs model;
  bool simplify = false, collapse = false, ir = false, c = false;
  int seed = 1;
};

void stage_loop(const Stage& stage) {
  loop::Func func = read_func(stage.file);
  require_valid(func);
  if (stage.simplify) func = loop::simplify(func);
  if (stage.collapse) func = loop::collapse(func);
  require_valid(func);
  fmt::print("{}", loop::print(func));
}

void stage_apply(const Stage& stage) {
  const loop::Func func = read_func(stage.file);
  require_valid(func);
  const Applied applied = mcc::apply(func, parse_trace(stage.trace));
  if (!applied.func) fail("{}", applied.why_not);
  require_valid(*applied.func);
  fmt::print("{}", loop::print(*applied.func));
}

Graph read_graph(const std::string& file) {
  try {
    Graph graph = parse_graph(read_file(file));
    verify(graph);
    return graph;
  } catch (const Error& e) {
    fail("{}:{}", file, e.what());
  }
}

const Pass& find_pass(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Pass& pass : graph_passes()) {
    if (pass.name == name) return pass;
    known.push_back(pass.name);
  }
  fail("there is no pass '{}'; known: {}", name, join(known, ", "));
}

void stage_graph(const Stage& stage) {
  Graph graph = read_graph(stage.file);
  for (const std::string& name : stage.passes) {
    graph = find_pass(name).run(graph);
    verify(graph);
  }
  fmt::print("{}", print(graph));
}

// Prints docs/ONNX.md, or compares it with a file.
void stage_onnx_docs(const Stage& stage) {
  const std::string page = onnx_operators_page();
  if (stage.file.empty()) return fmt::print("{}", page);
  if (read_file(stage.file) != page)
    fail("{} is out of date; write it anew: mcc-opt onnx-docs > {}", stage.file, stage.file);
}

void stage_import(const Stage& stage) {
  fmt::print("{}", print(import_onnx(stage.model.file, stage.model.import_options())));
}

void stage_lower(const Stage& stage) {
  for (const KernelCall& call : lower(read_graph(stage.file)).calls) fmt::print("{}", loop::print(call.func));
}

void stage_sketches(const Stage& stage) {
  loop::Func func = read_func(stage.file);
  require_valid(func);
  const Task task = make_task(std::move(func), find_target(stage.target), 1);
  for (const Sketch& sketch : sketches(task)) {
    fmt::print("{}: {:g} candidates\n", sketch.rules, space_size({sketch}));
    for (const Knob& knob : sketch.knobs) fmt::print("  {}: {}\n", knob.name, join(knob.options, " "));
  }
  for (const Expected& e : expected_traces(task))
    fmt::print("{}: about {:.1f} us: {}\n", e.rules, e.seconds * 1e6, to_string(e.trace));
  fmt::print("default: {}\n", to_string(default_trace(task)));
}

// What the analytic model thinks bounds each statement of a scheduled program, in microseconds.
void stage_estimate(const Stage& stage) {
  const loop::Func func = read_func(stage.file);
  require_valid(func);
  const Target target = find_target(stage.target);
  fmt::print("{:<24} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "block", "core", "L2", "L3", "memory", "loops");
  for (const NestStore& nest : analyze_nests(func)) {
    const AnalyticTerms t = analytic_terms(nest, target);
    fmt::print("{:<24} {:9.1f} {:9.1f} {:9.1f} {:9.1f} {:9.1f}\n", nest.store->block, t.core * 1e6, t.l2 * 1e6,
               t.l3 * 1e6, t.memory * 1e6, t.loops * 1e6);
  }
  fmt::print("whole: {:.1f}\n", analytic_seconds(func, target) * 1e6);
}

void stage_codegen(const Stage& stage) {
  const loop::Func func = read_func(stage.file);
  require_valid(func);
  const KernelSource kernels[] = {{&func, loop::is_identifier(func.name) ? func.name : "kernel"}};
  if (stage.c) return fmt::print("{}", print_c(kernels));
  const Target target = find_target(stage.target);
  fmt::print("{}", stage.ir ? compile_llvm_ir(kernels, target) : compile_assembly(kernels, target));
}

// Small whole numbers, so that sums are exact and easy to follow.
void fill_small(Tensor& tensor, Rng& rng) {
  for (i64 i = 0; i < tensor.size(); i++) tensor.set(i, static_cast<double>(rng.below(7) - 3));
}

void stage_interp(const Stage& stage) {
  const loop::Func func = read_func(stage.file);
  require_valid(func);
  Rng rng(static_cast<u64>(stage.seed));
  std::vector<Tensor> tensors;
  for (const int id : loop::params(func)) {
    const loop::Buffer& buffer = func.buffers[static_cast<size_t>(id)];
    tensors.emplace_back(TensorType{buffer.dtype, buffer.shape});
    if (buffer.scope != loop::Scope::output) fill_small(tensors.back(), rng);
  }
  std::vector<Tensor*> pointers;
  for (Tensor& tensor : tensors) pointers.push_back(&tensor);
  loop::interpret(func, pointers);
  size_t next = 0;
  for (const int id : loop::params(func)) {
    const Tensor& tensor = tensors[next++];
    std::vector<std::string> values;
    for (i64 i = 0; i < tensor.size(); i++) values.push_back(fmt::format("{}", tensor.get(i)));
    fmt::print("{}: {} = [{}]\n", func.buffers[static_cast<size_t>(id)].name, to_string(tensor.type),
               join(values, ", "));
  }
}

CLI::App* add_stage(CLI::App& app, const std::string& name, const std::string& help, Stage& stage,
                    void (*run)(const Stage&)) {
  CLI::App* sub = app.add_subcommand(name, help);
  sub->add_option("FILE", stage.file, "the input text")->required();
  sub->callback([&stage, run] { run(stage); });
  return sub;
}

}  // namespace

int cmd_opt(const Args& args) {
  CLI::App app("Runs one stage of the compiler from text to text.", "mcc-opt");
  Stage stage;
  app.require_subcommand(1);
  CLI::App* sub = add_stage(app, "loop", "checks a loop program and prints it", stage, stage_loop);
  sub->add_flag("--simplify", stage.simplify, "simplify it");
  sub->add_flag("--collapse", stage.collapse, "merge loops and dimensions that go together");
  sub = add_stage(app, "apply", "applies a trace to a loop program", stage, stage_apply);
  sub->add_option("--trace", stage.trace, "steps, separated by ';'")->required();
  sub = add_stage(app, "interp", "runs a loop program on small whole numbers", stage, stage_interp);
  sub->add_option("--seed", stage.seed, "of the numbers")->capture_default_str();
  sub = add_stage(app, "codegen", "compiles a loop program, prints assembly", stage, stage_codegen);
  sub->add_option("--target", stage.target, "for this target")->capture_default_str();
  sub->add_flag("--ir", stage.ir, "print LLVM IR");
  sub->add_flag("--c", stage.c, "print C");
  sub = add_stage(app, "sketches", "lists the schedule space of a loop program", stage, stage_sketches);
  sub->add_option("--target", stage.target, "for this target")->capture_default_str();
  sub = add_stage(app, "estimate", "what bounds each statement of a scheduled loop program", stage, stage_estimate);
  sub->add_option("--target", stage.target, "on this target")->capture_default_str();
  sub = add_stage(app, "graph", "checks a graph and prints it", stage, stage_graph);
  sub->add_option("--pass", stage.passes, "run this pass first (repeatable)");
  add_stage(app, "lower", "fuses a graph and prints its loop programs", stage, stage_lower);
  sub = app.add_subcommand("onnx-docs", "prints the page of the ONNX operators that can be imported");
  sub->add_option("--check", stage.file, "compare it with this file instead");
  sub->callback([&stage] { stage_onnx_docs(stage); });
  sub = app.add_subcommand("import", "prints the graph of an ONNX file");
  stage.model.add_to(*sub);
  sub->callback([&stage] { stage_import(stage); });
  parse_command_line(app, args);
  return 0;
}

}  // namespace mcc
