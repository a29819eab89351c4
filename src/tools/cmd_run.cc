// mcc-run: runs an artifact, times it, and writes its outputs or a trace of its kernels. Shared objects for this
// machine run in this process; other forms run as a program of their own with the same options.
#include <chrono>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/say.h"
#include "graph/npy.h"
#include "tools/artifact.h"
#include "tools/tools.h"

namespace mcc {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct RunArgs {
  std::string artifact, output, profile;
  std::vector<std::string> inputs;
  i64 repeat = 0;
  int threads = 0;
  unsigned seed = 1;
  bool json = false;
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The file given for an input, or "".
std::string input_file(const RunArgs& args, const std::string& name) {
  std::string file;
  for (const std::string& text : args.inputs) {
    if (text.starts_with(name + "=")) file = text.substr(name.size() + 1);
  }
  return file;
}

void check_input_names(const RunArgs& args, const ArtifactInfo& info) {
  for (const std::string& text : args.inputs) {
    const bool known = std::any_of(info.inputs.begin(), info.inputs.end(),
                                   [&](const ArtifactInfo::Port& port) { return text.starts_with(port.name + "="); });
    std::vector<std::string> names;
    for (const ArtifactInfo::Port& port : info.inputs) names.push_back(port.name);
    if (!known) fail("--input={}: want NAME=FILE.npy, where NAME is one of: {}", text, fmt::join(names, ", "));
  }
}

// .npy has no bf16: such an input is given as f32 (and an output written as it).
Tensor read_input(const std::string& file, DType dtype) {
  Tensor tensor = read_npy(file);
  if (dtype != DType::bf16 || tensor.type.dtype != DType::f32) return tensor;
  Tensor narrow({DType::bf16, tensor.type.shape});
  for (i64 i = 0; i < tensor.size(); i++) narrow.set(i, tensor.get(i));
  return narrow;
}

std::vector<Tensor> make_inputs(const RunArgs& args, const ArtifactInfo& info) {
  std::vector<Tensor> tensors;
  for (const ArtifactInfo::Port& port : info.inputs) {
    const std::string file = input_file(args, port.name);
    tensors.push_back(file.empty() ? random_input(port.type, port.name, port.number, args.seed)
                                   : read_input(file, port.type.dtype));
    if (tensors.back().type != port.type)
      fail("{}: is {}, input {} is {}", file, to_string(tensors.back().type), port.name, to_string(port.type));
  }
  return tensors;
}

// Everything that a run needs, allocated once. The threads end before their code is unloaded, whatever is thrown.
struct Session {
  const ArtifactInfo& info;
  OpenedModel opened;
  std::unique_ptr<mcc_runtime, decltype(&mcc_runtime_destroy)> rt;
  std::vector<Tensor> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  Tensor arena;
  double load_ms = 0;

  Session(const RunArgs& args, const ArtifactInfo& artifact, int threads, Clock::time_point start)
      : info(artifact), opened(artifact), rt(opened.runtime_create(threads), opened.runtime_destroy) {
    arena = Tensor({DType::u8, {opened.model->arena_bytes}});
    if (!rt) throw JobError(fmt::format("cannot start {} threads", threads));
    load_ms = ms_since(start);
    inputs = make_inputs(args, info);
    for (const Tensor& tensor : inputs) in.push_back(tensor.bytes());
    for (const ArtifactInfo::Port& port : info.outputs) {
      outputs.emplace_back(port.type);
      out.push_back(outputs.back().bytes());
    }
  }
};

struct Slice {
  int step;
  double start_us, end_us;
};
struct Recorder {
  Clock::time_point start = Clock::now();
  std::vector<Slice> slices;
};

void record_step(void* user, int32_t step, int32_t done) {
  auto& recorder = *static_cast<Recorder*>(user);
  const double now = ms_since(recorder.start) * 1e3;
  if (done)
    recorder.slices.back().end_us = now;
  else
    recorder.slices.push_back({step, now, now});
}

// Chrome's trace event format: one slice for each kernel of each run.
void write_profile(const RunArgs& args, Session& session, i64 runs) {
  Recorder recorder;
  recorder.slices.reserve(static_cast<size_t>(runs * session.opened.model->n_steps));
  for (i64 r = 0; r < runs; r++)
    session.opened.run_hooked(session.opened.model, session.in.data(), session.out.data(), session.arena.bytes(),
                              session.rt.get(), record_step, &recorder);
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const Slice& slice : recorder.slices) {
    const ArtifactInfo::Kernel& kernel = session.info.kernels[static_cast<size_t>(slice.step)];
    events.push_back(
        {{"name", session.opened.model->steps[slice.step].name},
         {"ph", "X"},
         {"ts", slice.start_us},
         {"dur", slice.end_us - slice.start_us},
         {"pid", 1},
         {"tid", 1},
         {"args", {{"step", slice.step}, {"symbol", kernel.symbol}, {"task", kernel.task}, {"nodes", kernel.nodes}}}});
  }
  const nlohmann::ordered_json trace = {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
  write_file(args.profile, json_text(trace) + "\n");
}

nlohmann::ordered_json output_list(const ArtifactInfo& info) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ArtifactInfo::Port& port : info.outputs)
    list.push_back({{"name", port.name}, {"dtype", std::string(name(port.type.dtype))}, {"shape", port.type.shape}});
  return list;
}

void print_for_people(const nlohmann::ordered_json& r) {
  say("{}: {} thread(s), {} runs: min {:.4f} ms, median {:.4f} ms, p90 {:.4f} ms; load {:.2f} ms, first run "
      "{:.2f} ms\n",
      r.at("artifact").get<std::string>(), r.at("threads").get<int>(), r.at("runs").get<i64>(),
      r.at("min_ms").get<double>(), r.at("median_ms").get<double>(), r.at("p90_ms").get<double>(),
      r.at("load_ms").get<double>(), r.at("first_ms").get<double>());
}

nlohmann::ordered_json run_here(const RunArgs& args, const ArtifactInfo& info, int threads) {
  Session session(args, info, threads, Clock::now());
  mcc_timing t{};
  const int status = mcc_time_runs(session.opened.run, session.opened.model, session.in.data(), session.out.data(),
                                   session.arena.bytes(), session.rt.get(), args.repeat, &t);
  if (status != MCC_OK) throw JobError(fmt::format("{}: the run failed with status {}", info.folder.string(), status));
  if (!args.profile.empty()) write_profile(args, session, args.repeat > 0 ? args.repeat : 10);
  if (!args.output.empty()) {
    for (size_t o = 0; o < session.outputs.size(); o++)
      write_file(fs::path(args.output) / output_file(info, o), to_npy(session.outputs[o]));
  }
  return {{"artifact", args.artifact},   {"threads", threads},       {"runs", t.runs},
          {"min_ms", t.min_ms},          {"median_ms", t.median_ms}, {"p90_ms", t.p90_ms},
          {"load_ms", session.load_ms},  {"first_ms", t.first_ms},   {"peak_rss_kib", mcc_peak_rss_kib()},
          {"outputs", output_list(info)}};
}

nlohmann::ordered_json run_as_program(const RunArgs& args, const ArtifactInfo& info, int threads) {
  if (!args.profile.empty()) fail("--profile: needs a shared object (--emit=so) for this machine");
  const TempDir scratch;
  std::vector<std::string> command = program_command(info, scratch.path());
  command.insert(command.end(), {"--json", fmt::format("--threads={}", threads), fmt::format("--seed={}", args.seed)});
  for (const std::string& text : args.inputs) command.push_back("--input=" + text);
  if (args.repeat > 0) command.push_back(fmt::format("--repeat={}", args.repeat));
  if (!args.output.empty()) command.push_back("--output=" + args.output);
  const ProcessResult result = run_process(command, 24 * 3600);
  if (result.exit_code == 2) fail("{}", result.err);
  if (result.exit_code != 0)
    throw JobError(fmt::format("{}: the run failed (status {}, signal {}): {}", info.folder.string(), result.exit_code,
                               result.signal, result.err));
  nlohmann::ordered_json report = nlohmann::ordered_json::parse(result.out);
  report["artifact"] = args.artifact;
  return report;
}

}  // namespace

int cmd_run(const Args& args) {
  RunArgs a;
  CLI::App app("Runs an artifact and times it.", args[0]);
  app.add_option("OUT_DIR", a.artifact, "the artifact")->required();
  app.add_option("--input", a.inputs, "NAME=FILE.npy (repeatable); other inputs are random");
  app.add_option("--output", a.output, "folder for the outputs, one .npy each");
  app.add_option("--repeat", a.repeat, "this many timed runs; default: at least 10 and 2 s")
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", a.threads, "threads to run with; default: what it was compiled for")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", a.seed, "of the random inputs")->capture_default_str();
  app.add_option("--profile", a.profile, "file for a Chrome/Perfetto trace with one slice per kernel");
  app.add_flag("--json", a.json, "print one JSON object on standard output");
  if (!parse_command_line(app, args)) return 0;
  const ArtifactInfo info = read_artifact(a.artifact);
  check_input_names(a, info);
  if (a.threads > info.threads)
    fail("--threads={}: the artifact was compiled for {} (its arena has no room for more)", a.threads, info.threads);
  require_memory(run_bytes(info), info.folder.string() + ": a run");
  const int threads = a.threads > 0 ? a.threads : info.threads;
  std::error_code error;
  if (!a.output.empty() && !fs::create_directories(a.output, error) && !fs::is_directory(a.output))
    fail("{}: cannot make this folder", a.output);
  const nlohmann::ordered_json report =
      runs_in_process(info) ? run_here(a, info, threads) : run_as_program(a, info, threads);
  if (a.json)
    fmt::print("{}\n", json_text(report));
  else
    print_for_people(report);
  return 0;
}

}  // namespace mcc
