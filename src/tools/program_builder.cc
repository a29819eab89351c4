#include "tools/program_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "search/recombine.h"

namespace mcc {
namespace {

namespace fs = std::filesystem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTimingS = 0.3;    // what one timing of a program is to last
constexpr double kRunLimitS = 600;  // a program that runs longer is hopeless
constexpr int kDuelRounds = 3;

}  // namespace

ProgramBuilder::ProgramBuilder(const LoweredModel& model, Target target, std::string model_name, bool strict,
                               const std::atomic<bool>& stop)
    : model_(model), target_(std::move(target)), name_(std::move(model_name)), strict_(strict), stop_(stop) {}

PackageOptions ProgramBuilder::options(const Traces& traces, const fs::path& out, const std::string& emit) {
  PackageOptions o;
  o.target = target_;
  o.emit = emit;
  o.model_name = name_;
  o.strict = strict_;
  o.out_dir = out;
  o.traces = traces;
  o.objects = &objects_;
  return o;
}

Artifact ProgramBuilder::write(const Traces& traces, const std::vector<Task>& tasks, const RecordStore& log,
                               const fs::path& out, const std::string& emit) {
  PackageOptions o = options(traces, out, emit);
  o.record_ids = ids_of(traces, log, tasks);
  return package(model_, o);
}

// Median milliseconds of an artifact's run, by mcc-run in a process of its own; infinity, and why, when that fails.
double ProgramBuilder::time_ms(const fs::path& artifact, int repeat, std::string* why) const {
  const ProcessResult run =
      run_process({kThisProgram, "run", artifact.string(), "--json", fmt::format("--repeat={}", repeat),
                   fmt::format("--threads={}", target_.cores)},
                  kRunLimitS);
  const auto json = nlohmann::json::parse(run.out, nullptr, false);
  const bool ok = run.exit_code == 0 && json.is_object() && json.contains("median_ms");
  if (!ok && why != nullptr) *why = run.why_failed();
  return ok ? json["median_ms"].get<double>() : kInfinity;
}

double ProgramBuilder::try_default() {
  const Deadline clock(0);
  package(model_, options({}, folder_.path() / "default", "so"));
  build_s_ = clock.elapsed();
  std::string why;
  const double probe = time_ms(folder_.path() / "default", 3, &why);
  if (std::isinf(probe)) throw JobError("the compiled model does not run: " + why);
  repeat_ = static_cast<int>(std::clamp(kTimingS * 1e3 / std::max(probe, 1e-3), 5.0, 2000.0));
  default_ms_ = time_ms(folder_.path() / "default", repeat_);
  return default_ms_;
}

double ProgramBuilder::finish_s() const {
  const double timing_s = repeat_ * default_ms_ * 1e-3 + 0.2;
  return 1.5 * build_s_ + 2 * kDuelRounds * timing_s;
}

double ProgramBuilder::program_seconds(const Traces& traces) {
  if (stop_) return kInfinity;
  package(model_, options(traces, folder_.path() / "candidate", "so"));
  return time_ms(folder_.path() / "candidate", repeat_) * 1e-3;
}

// Default and tuned program against each other, interleaved, in processes of their own.
Latency ProgramBuilder::duel(const Traces& traces) {
  package(model_, options(traces, folder_.path() / "tuned", "so"));
  double usual = kInfinity, tuned = kInfinity;
  for (int round = 0; round < kDuelRounds && (round == 0 || !stop_); round++) {
    usual = std::min(usual, time_ms(folder_.path() / "default", repeat_));
    tuned = std::min(tuned, time_ms(folder_.path() / "tuned", repeat_));
  }
  return {usual, tuned};
}

Traces ProgramBuilder::choose(const std::vector<Task>& tasks, const RecordStore& log, const Deadline& deadline,
                              Latency& latency) {
  const RecombineOptions recombining = {.time_budget_s = std::min(60.0, deadline.left() - finish_s())};
  const Traces traces = recombine(tasks, log, recombining, [&](const Traces& t) { return program_seconds(t); }).traces;
  latency = traces.empty() ? Latency{default_ms_, std::nullopt} : duel(traces);
  return latency.default_wins() ? Traces{} : traces;
}

}  // namespace mcc
