// mcc-tune: model -> tasks -> search -> log -> artifact. Ends with the fastest program found, or the default one where that is faster.
#include <signal.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "measure/runner.h"
#include "package/package.h"
#include "passes/passes.h"
#include "search/recombine.h"
#include "search/tune.h"
#include "tools/progress.h"
#include "tools/tools.h"

namespace mcc {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::atomic<bool> interrupted{false};

struct TuneArgs {
  ModelArgs model;
  std::string target = "host", out, log, runner, time_budget, emit = "so";
  i64 trials = 1000;
  u64 seed = 1;
  int threads = 0;
  bool json = false, quiet = false, resume = false, fresh = false;
};

TuneArgs parse(const Args& args, bool& help) {
  TuneArgs a;
  CLI::App app("Finds the fastest program for a model on a target, by measuring, and writes it.", args[0]);
  a.model.add_to(app);
  app.add_option("--target", a.target, "a known target (mcc targets) or a JSON file; default: this machine");
  app.add_option("--trials", a.trials, "measurements in all, over all tasks")->check(CLI::PositiveNumber);
  app.add_option("-o", a.out, "folder of the artifact; default MODEL.TARGET");
  app.add_option("--log", a.log, "tuning log; default MODEL.TARGET.db");
  app.add_option("--seed", a.seed, "of everything random");
  app.add_option("--threads", a.threads, "threads the artifact uses; default: the target's cores")->check(CLI::PositiveNumber);
  app.add_option("--runner", a.runner, "local or sim; default: local where the target's programs run here, else sim");
  app.add_option("--time-budget", a.time_budget, "stop after this time, like 10m or 90s");
  app.add_option("--emit", a.emit, "so, a, obj, exe or c")->check(CLI::IsMember({"so", "a", "obj", "exe", "c"}));
  app.add_flag("--json", a.json, "one JSON object on standard output");
  app.add_flag("--quiet", a.quiet, "nothing on standard error but errors");
  app.add_flag("--resume", a.resume, "go on from the log (the default)");
  app.add_flag("--fresh", a.fresh, "start anew; an existing log is kept under another name");
  help = !parse_command_line(app, args);
  if (help) return a;
  if (a.resume && a.fresh) fail("mcc-tune: --resume and --fresh exclude each other");
  return a;
}

// The first Ctrl-C asks the run to end in good order, the second one ends it at once.
void on_interrupt(int) {
  interrupted = true;
  signal(SIGINT, SIG_DFL);
}

bool runs_here(const Target& target) { return target.emulator.empty() && target.triple.substr(0, target.triple.find('-')) == host().triple.substr(0, host().triple.find('-')); }

std::unique_ptr<Runner> make_runner(const TuneArgs& a, const Target& target) {
  const std::string kind = !a.runner.empty() ? a.runner : runs_here(target) ? "local" : "sim";
  if (kind == "sim") return simulated_runner(a.seed);
  if (kind != "local") fail("--runner={}: known runners are local and sim", kind);
  if (!runs_here(target)) fail("--runner=local: programs for {} do not run on this machine; use --runner=sim", target.name);
  MeasureOptions options;
  options.seed = a.seed;
  return local_runner(options);
}

// Moves an existing log aside: FILE.1, FILE.2, ...
void keep_aside(const fs::path& log) {
  if (!fs::exists(log)) return;
  int n = 1;
  while (fs::exists(log.string() + fmt::format(".{}", n))) n++;
  RecordStore::open(log, RecordStore::Mode::read_write);  // folds the write-ahead log into the file
  fs::rename(log, log.string() + fmt::format(".{}", n));
}

// Builds artifacts and times whole models in child processes.
class Bakery {
 public:
  Bakery(const TuneArgs& args, const LoweredModel& model, const Target& target) : args_(args), model_(model), target_(target) {}

  Artifact bake(const std::map<std::string, Trace>& traces, const std::map<std::string, std::string>& ids, const fs::path& out, const std::string& emit) const {
    PackageOptions options;
    options.target = target_;
    options.emit = emit;
    options.model_name = fs::path(args_.model.file).stem().string();
    options.out_dir = out;
    options.traces = traces;
    options.record_ids = ids;
    return package(model_, options);
  }

  // Median milliseconds of an artifact's run, by mcc-run in a process of its own; infinity when that fails.
  double time_ms(const fs::path& artifact, int repeat) const {
    const ProcessResult run = run_process({self_path().string(), "run", artifact.string(), "--json", fmt::format("--repeat={}", repeat),
                                           fmt::format("--threads={}", target_.cores)}, 600);
    const Json json = Json::parse(run.out, nullptr, false);
    return run.exit_code == 0 && json.is_object() && json.contains("median_ms") ? json["median_ms"].get<double>() : std::numeric_limits<double>::infinity();
  }

  double seconds_of(const std::map<std::string, Trace>& traces, int repeat) const {
    const TempDir dir;
    bake(traces, {}, dir.path() / "a", "so");
    return time_ms(dir.path() / "a", repeat) * 1e-3;
  }

 private:
  const TuneArgs& args_;
  const LoweredModel& model_;
  const Target& target_;
};

std::map<std::string, std::string> ids_of(const std::vector<Task>& tasks, const RecordStore& log, const std::map<std::string, Trace>& traces) {
  std::map<std::string, std::string> ids;
  for (const Task& task : tasks) {
    const auto chosen = traces.find(task.key);
    if (chosen == traces.end()) continue;
    for (const Record& r : log.best(task.key, device_key(task.target), 16)) {
      if (r.trace == chosen->second) ids[task.key] = r.id;
    }
  }
  return ids;
}

struct Latency {
  double default_ms = 0, tuned_ms = 0;
  bool default_wins = false;
};

// Default and tuned program against each other, interleaved, in processes of their own.
Latency duel(const Bakery& bakery, const std::map<std::string, Trace>& tuned) {
  const TempDir dir;
  bakery.bake({}, {}, dir.path() / "default", "so");
  bakery.bake(tuned, {}, dir.path() / "tuned", "so");
  const double probe = bakery.time_ms(dir.path() / "default", 3);
  const int repeat = static_cast<int>(std::clamp(300.0 / std::max(probe, 1e-3), 5.0, 2000.0));
  std::vector<double> defaults, tuneds;
  for (int round = 0; round < 3 && (round == 0 || !interrupted); round++) {
    defaults.push_back(bakery.time_ms(dir.path() / "default", repeat));
    tuneds.push_back(bakery.time_ms(dir.path() / "tuned", repeat));
  }
  Latency l{*std::min_element(defaults.begin(), defaults.end()), *std::min_element(tuneds.begin(), tuneds.end()), false};
  if (std::isinf(l.default_ms) && std::isinf(l.tuned_ms)) throw JobError("the compiled model does not run: mcc-run fails on it");
  l.default_wins = l.default_ms < l.tuned_ms;
  return l;
}

// The combination of each task's fastest kernels that is fastest in the whole model; cut short by Ctrl-C.
std::map<std::string, Trace> best_together(const Bakery& bakery, const std::vector<Task>& tasks, const RecordStore& log, const Progress& progress) {
  const int repeat = static_cast<int>(std::clamp(0.5 / std::max(run_seconds(progress), 1e-6), 5.0, 2000.0));
  auto seconds = [&](const std::map<std::string, Trace>& chosen) {
    return interrupted ? std::numeric_limits<double>::infinity() : bakery.seconds_of(chosen, repeat);
  };
  RecombineOptions options;
  options.time_budget_s = std::clamp(0.2 * progress.seconds, 5.0, 60.0);
  return recombine(tasks, log, options, seconds).traces;
}

// The sum over tasks, where whole programs cannot run here.
Latency estimate(const Progress& p) {
  Latency l;
  for (const TaskProgress& t : p.tasks) l.default_ms += t.weight * t.default_seconds * 1e3, l.tuned_ms += t.weight * t.best_seconds * 1e3;
  return l;
}

Json summary(const TuneArgs& a, const Target& target, const Runner& runner, const TuneResult& result, const Latency& latency, const fs::path& out) {
  const Progress& p = result.progress;
  i64 failed = 0;
  for (const auto& [reason, n] : p.failures) failed += n;
  Json json = {{"model", a.model.file}, {"target", target.name}, {"runner", runner.name()}, {"seed", a.seed}, {"threads", target.cores}, {"trials", p.trials}};
  json["trials_ok"] = p.trials - failed;
  json["trials_failed"] = p.failures;
  json["seconds"] = p.seconds;
  json["trials_per_second"] = p.seconds > 0 ? static_cast<double>(p.trials) / p.seconds : 0;
  json["latency_ms_default"] = latency.default_ms;
  json["latency_ms_tuned"] = std::min(latency.default_ms, latency.tuned_ms);
  json["tasks"] = Json::array();
  for (const TaskProgress& t : p.tasks)
    json["tasks"].push_back({{"key", t.key}, {"name", t.name}, {"weight", t.weight}, {"flops", t.flops}, {"trials", t.trials}, {"failed", t.failed},
                             {"default_ms", t.default_seconds * 1e3}, {"best_ms", t.best_seconds * 1e3}, {"best", to_string(t.best)}});
  json["artifact"] = out.string();
  json["numerics"] = "default";
  json["interrupted"] = result.interrupted;
  return json;
}

}  // namespace

int cmd_tune(const Args& args) {
  bool help = false;
  TuneArgs a = parse(args, help);
  if (help) return 0;
  double budget = 0;
  if (!a.time_budget.empty()) {
    const auto seconds = to_seconds(a.time_budget);
    if (!seconds) fail("--time-budget={}: want a time like 10m, 90s or 1.5h", a.time_budget);
    budget = *seconds;
  }
  const Target target = target_with_threads(a.target, a.threads);
  const Graph graph = import_onnx(a.model.file, a.model.import_options());
  const LoweredModel model = compile_graph(graph);
  const std::vector<Task> tasks = model_tasks(model, target);
  const std::string stem = fs::path(a.model.file).stem().string() + "." + target.name;
  if (a.out.empty()) a.out = stem;
  if (a.log.empty()) a.log = stem + ".db";
  const std::unique_ptr<Runner> runner = make_runner(a, target);
  check_out_dir(a.out);
  if (a.fresh) keep_aside(a.log);
  RecordStore log = RecordStore::open(a.log, RecordStore::Mode::read_write);
  if (!a.quiet) fmt::print(stderr, "{}: {} tasks, {} records in {}, {} runner\n", a.model.file, tasks.size(), log.count(), a.log, runner->name());

  TuneOptions options;
  options.trials = a.trials;
  options.time_budget_s = budget;
  options.seed = a.seed;
  options.model = fs::path(a.model.file).stem().string();
  options.stop = &interrupted;
  signal(SIGINT, on_interrupt);
  ProgressView view(a.quiet);
  const std::unique_ptr<CostModel> cost_model = xgb_model(a.seed);
  TuneResult result = tune(tasks, *runner, *cost_model, log, options, [&](const Progress& p) { view.show(p); });
  view.finish();
  if (!result.gave_up.empty()) throw JobError(fmt::format("{}: {}", a.model.file, result.gave_up));

  const Bakery bakery(a, model, target);
  std::map<std::string, Trace> traces;
  for (const TaskProgress& t : result.progress.tasks) {
    if (t.best_seconds > 0) traces[t.key] = t.best;
  }
  Latency latency = estimate(result.progress);
  if (runner->name() == "local" && !interrupted) {
    if (!a.quiet) fmt::print(stderr, "trying the fastest kernels together in the whole model\n");
    traces = best_together(bakery, tasks, log, result.progress);
    if (!interrupted) latency = duel(bakery, traces);
    if (latency.default_wins) traces.clear();
  }
  result.interrupted |= interrupted;
  if (result.interrupted && !a.quiet) fmt::print(stderr, "interrupted: writing the best so far\n");
  const Artifact artifact = bakery.bake(traces, ids_of(tasks, log, traces), a.out, a.emit);
  if (!a.quiet) {
    fmt::print(stderr, "default {:.3f} ms, tuned {:.3f} ms{}: {}\n", latency.default_ms, latency.tuned_ms, latency.default_wins ? " (the default ships)" : "", artifact.folder.string());
  }
  if (a.json) std::cout << summary(a, target, *runner, result, latency, artifact.folder).dump() << "\n";
  return result.interrupted ? 130 : 0;
}

}  // namespace mcc
