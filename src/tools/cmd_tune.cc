// mcc-tune: model -> tasks -> search -> log -> artifact. Ends with the fastest program found, or the default one where
// that is faster.
#include <signal.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <filesystem>
#include <iostream>
#include <optional>

#include "base/json.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "costmodel/forest.h"
#include "measure/runner.h"
#include "passes/passes.h"
#include "search/finals.h"
#include "search/tune.h"
#include "tools/preflight.h"
#include "tools/program_builder.h"
#include "tools/progress.h"
#include "tools/tools.h"

namespace mcc {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr double kSearchShare = 0.95;  // of a time budget; the rest is for finals and whole models

constexpr int kStopSigns[] = {SIGINT, SIGTERM, SIGHUP};  // a person, a container or service manager, a lost terminal
std::atomic<bool> interrupted{false};

struct TuneArgs : BuildArgs {
  std::string log, runner, time_budget, cost_model = "shipped";
  std::vector<std::string> without;
  i64 trials = 1000;
  u64 seed = 1;
  bool check = false, resume = false, fresh = false;
};

TuneArgs parse(const Args& args, bool& help) {
  TuneArgs a;
  CLI::App app("Finds the fastest program for a model on a target, by measuring, and writes it.", args[0]);
  a.add_to(app);
  app.add_option("--trials", a.trials, "measurements in all, over all tasks")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--log", a.log, "tuning log; default: MODEL.TARGET.db here");
  app.add_option("--seed", a.seed, "of everything random")->capture_default_str();
  app.add_option("--runner", a.runner, "local or sim; default: local where the target's programs run here, else sim");
  app.add_option("--time-budget", a.time_budget, "stop after this time, like 10m or 90s");
  app.add_option("--cost-model", a.cost_model,
                 "shipped, fresh (learns from this log alone), none, or a file of mcc-log train")
      ->capture_default_str();
  app.add_option("--without", a.without, "leaves a part of the search out, to see what it is worth")
      ->check(CLI::IsMember({"evolution", "draft", "descent", "transfer"}))
      ->delimiter(',');
  app.add_flag("--check", a.check, "only tell whether the model can be compiled, and what it takes; status 2 if not");
  app.add_flag("--resume", a.resume, "go on from the log (the default)");
  app.add_flag("--fresh", a.fresh, "start anew; an existing log is kept under another name");
  help = !parse_command_line(app, args);
  if (help) return a;
  if (a.resume && a.fresh) fail("mcc-tune: --resume and --fresh exclude each other");
  return a;
}

// The first sign asks the run to end in good order, the second one ends it at once.
void on_interrupt(int) {
  interrupted = true;
  for (const int sign : kStopSigns) signal(sign, SIG_DFL);
}

void end_in_good_order() {
  signal(SIGPIPE, SIG_IGN);  // nobody reads what people are told: no reason to stop
  for (const int sign : kStopSigns)
    if (signal(sign, on_interrupt) == SIG_IGN && sign == SIGHUP) signal(sign, SIG_IGN);  // nohup
}

bool runs_here(const Target& target) {
  return target.emulator.empty() &&
         target.triple.substr(0, target.triple.find('-')) == host().triple.substr(0, host().triple.find('-'));
}

std::unique_ptr<Runner> make_runner(const TuneArgs& a, const Target& target) {
  const std::string kind = !a.runner.empty() ? a.runner : runs_here(target) ? "local" : "sim";
  if (kind == "sim") return simulated_runner(a.seed);
  if (kind != "local") fail("--runner={}: known runners are local and sim", kind);
  if (!runs_here(target))
    fail("--runner=local: programs for {} do not run on this machine; use --runner=sim", target.name);
  MeasureOptions options;
  options.seed = a.seed;
  return local_runner(options);
}

std::unique_ptr<CostModel> make_cost_model(const TuneArgs& a) {
  if (a.cost_model == "none") return random_model(a.seed);
  if (a.cost_model == "fresh") return tree_model({}, a.seed);
  if (a.cost_model == "shipped") return tree_model(shipped_forest(), a.seed);
  try {
    return tree_model(forest_from_text(read_file(a.cost_model)), a.seed);
  } catch (const Error& error) {
    fail("--cost-model={}: {}", a.cost_model, error.what());
  }
}

SearchParts search_parts(const TuneArgs& a) {
  SearchParts parts;
  for (const std::string& part : a.without) {
    parts.evolution &= part != "evolution";
    parts.draft &= part != "draft";
    parts.descent &= part != "descent";
    parts.transfer &= part != "transfer";
  }
  return parts;
}

// Moves an existing log aside: FILE.1, FILE.2, ...
void keep_aside(const fs::path& log) {
  if (!fs::exists(log)) return;
  int n = 1;
  while (fs::exists(log.string() + fmt::format(".{}", n))) n++;
  RecordStore::set_aside(log, log.string() + fmt::format(".{}", n));
}

// Milliseconds of the whole model as the sum over its tasks; nothing while one of them was not measured.
std::optional<double> sum_ms(const Progress& p, double TaskProgress::* seconds) {
  double sum = 0;
  for (const TaskProgress& t : p.tasks) {
    if (t.*seconds <= 0) return std::nullopt;
    sum += t.weight * (t.*seconds) * 1e3;
  }
  return sum;
}

Json json_of(std::optional<double> ms) { return ms ? Json(*ms) : Json(nullptr); }

std::string text_of(std::optional<double> ms) { return ms ? fmt::format("{:.3f} ms", *ms) : "not measured"; }

Json result_json(const TuneArgs& a, const Target& target, const Runner& runner, const TuneResult& result,
                 const Latency& latency, const fs::path& out) {
  const Progress& p = result.progress;
  i64 failed = 0;
  for (const auto& [reason, n] : p.failures) failed += n;
  Json json = {{"model", a.model.file}, {"target", target.name},   {"runner", runner.name()},
               {"seed", a.seed},        {"threads", target.cores}, {"trials", p.trials}};
  json["trials_ok"] = p.trials - failed;
  json["trials_failed"] = p.failures;
  json["internal_errors"] = p.mistakes;
  json["seconds"] = p.seconds;
  json["trials_per_second"] = p.trials_per_second();
  json["seconds_by_step"] = {{"propose", p.proposing}, {"build", p.runner.build}, {"measure", p.runner.measure}};
  json["latency_ms_default"] = json_of(latency.default_ms);
  json["latency_ms_tuned"] = json_of(latency.default_wins() ? latency.default_ms : latency.tuned_ms);
  json["tasks"] = Json::array();
  for (const TaskProgress& t : p.tasks)
    json["tasks"].push_back({{"key", t.key},
                             {"name", t.name},
                             {"weight", t.weight},
                             {"flops", t.flops},
                             {"trials", t.trials},
                             {"failed", t.failed},
                             {"default_ms", t.default_seconds * 1e3},
                             {"best_ms", t.best_seconds * 1e3},
                             {"best", to_string(t.best)}});
  json["artifact"] = out.string();
  json["numerics"] = a.numerics;
  json["interrupted"] = result.interrupted;
  return json;
}

double budget_of(const TuneArgs& a) {
  if (a.time_budget.empty()) return 0;
  const auto seconds = to_seconds(a.time_budget);
  if (!seconds || *seconds <= 0) fail("--time-budget={}: want a time like 10m, 90s or 1.5h", a.time_budget);
  return *seconds;
}

// All that is known before any work is done; nothing is written.
int check_only(const Preflight& flight, const Plan& plan, const TuneArgs& a) {
  if (!a.quiet) say(report(flight, plan));
  if (a.json) std::cout << json_text(to_json(flight, plan)) << "\n";
  return flight.can_compile() ? 0 : 2;
}

// What the parts of one run work with.
struct Run {
  const TuneArgs& a;
  const std::vector<Task>& tasks;
  const Deadline& deadline;
  Runner& runner;
  RecordStore& log;
  ProgramBuilder& builder;

  bool local() const { return runner.name() == "local"; }
  void say(const std::string& text) const {
    if (!a.quiet) mcc::say("{}\n", text);
  }
};

TuneResult search(const Run& run, CostModel& cost_model) {
  TuneOptions options;
  options.trials = run.a.trials;
  options.seed = run.a.seed;
  options.model = utf8(run.a.model_name());  // as it will be read from the log
  options.parts = search_parts(run.a);
  options.stop = &interrupted;
  if (!run.a.time_budget.empty()) {
    const double left = run.deadline.left(), finish = std::min(run.builder.finish_s(), left / 2);
    options.time_budget_s = std::max(run.local() ? (left - finish) * kSearchShare : left, 1e-3);
  }
  ProgressView view(run.a.quiet);
  const auto show = [&](const Progress& p) { view.show(p); };
  TuneResult result = tune(run.tasks, run.runner, cost_model, run.log, options, show);
  view.finish();
  if (!result.gave_up.empty()) throw JobError(fmt::format("{}: {}", run.a.model.file, result.gave_up));
  return result;
}

// The kernels to ship: the log's best ones, or, where programs run here, those that are fastest together.
Traces choose(const Run& run, const Progress& progress, Latency& latency) {
  latency = {sum_ms(progress, &TaskProgress::default_seconds), sum_ms(progress, &TaskProgress::best_seconds)};
  if (!run.local()) return choose_from_log(run.log, run.tasks).traces;
  if (!interrupted) {
    FinalsOptions finals;
    finals.time_budget_s = std::max(std::min(finals.time_budget_s, run.deadline.left() - run.builder.finish_s()), 1e-3);
    finals.stop = &interrupted;
    const int decided = run_finals(run.tasks, run.runner, run.log, finals);
    run.say(fmt::format("leaders of {} tasks measured side by side; trying them together in the whole model", decided));
  }
  Traces traces = run.builder.choose(run.tasks, run.log, run.deadline, latency);
  keep_choice(run.tasks, traces, run.log);
  return traces;
}

}  // namespace

int cmd_tune(const Args& args) {
  bool help = false;
  TuneArgs a = parse(args, help);
  if (help) return 0;
  if (a.quiet) spdlog::set_level(spdlog::level::err);
  const Deadline deadline(budget_of(a));
  const Target target = a.chosen_target();
  const Plan plan = {a.model.file, target, a.strict(), a.trials, budget_of(a)};
  const Preflight flight = preflight(a.model.import_options(), plan);
  if (a.check) return check_only(flight, plan, a);
  if (!flight.can_compile()) refuse(flight, plan);
  const std::string name = a.model_name();
  a.out = a.out_dir(target);
  if (a.log.empty()) a.log = name + "." + target.name + ".db";
  const std::unique_ptr<CostModel> cost_model = make_cost_model(a);
  const std::unique_ptr<Runner> runner = make_runner(a, target);
  if (runner->name() == "local")
    require_memory(flight.port_bytes + static_cast<double>(flight.sizes.arena_bytes), a.model.file + ": a run");
  check_out_dir(a.out);
  if (a.fresh) keep_aside(a.log);
  RecordStore log = RecordStore::open(a.log, RecordStore::Mode::read_write);
  ProgramBuilder builder(*flight.model, target, name, a.strict(), interrupted);
  const Run run{a, flight.tasks, deadline, *runner, log, builder};
  end_in_good_order();
  run.say(summary(flight, plan));
  run.say(fmt::format("{} records in {}, {} runner", log.count(), a.log, runner->name()));
  if (run.local()) run.say(fmt::format("default schedules: {:.3f} ms", builder.try_default()));

  TuneResult result = search(run, *cost_model);
  if (interrupted) run.say("interrupted: writing the best so far");
  Latency latency;
  const Traces traces = choose(run, result.progress, latency);
  result.interrupted |= interrupted;
  const Artifact artifact = builder.write(traces, flight.tasks, log, a.out, a.emit);
  run.say(fmt::format("default {}, tuned {}{}: {}", text_of(latency.default_ms), text_of(latency.tuned_ms),
                      latency.default_wins() ? " (the default ships)" : "", artifact.folder.string()));
  if (a.json) std::cout << json_text(result_json(a, target, *runner, result, latency, artifact.folder)) << "\n";
  return result.interrupted ? 130 : 0;
}

}  // namespace mcc
