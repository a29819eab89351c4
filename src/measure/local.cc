// The local runner: build a batch, then have a measuring process check and time it (supervisor.h). Building and timing
// never overlap.
#include <cmath>

#include "base/deadline.h"
#include "base/file.h"
#include "measure/builder.h"
#include "measure/runner.h"
#include "measure/supervisor.h"
#include "schedule/analytic.h"

namespace mcc {
namespace {

constexpr double kDisturbed = 1.25;  // the clock probe moved by more than this: the batch is timed again

class LocalRunner : public Runner {
 public:
  explicit LocalRunner(const MeasureOptions& options) : options_(options), supervisor_(options.timeout_s) {}
  std::vector<Result> run(const Task& task, std::span<const Trace> traces, double best_seconds) override;
  std::string name() const override { return "local"; }

 private:
  Job make_job(const Task& task, const Built& built, double best_seconds) const;

  MeasureOptions options_;
  TempDir folder_;
  Supervisor supervisor_;
  i64 batches_ = 0;
  std::string reference_task_, reference_object_;
};

Job LocalRunner::make_job(const Task& task, const Built& built, double best_seconds) const {
  Job job;
  job.task = task.key;
  job.library = built.library.string();
  job.reference = built.reference;
  job.threads = task.target.cores;
  job.best_seconds = std::isfinite(best_seconds) ? best_seconds : 0;
  job.warmup_runs = options_.warmup_runs;
  job.repeats = options_.repeats;
  job.passes = options_.passes;
  job.min_sample_s = options_.min_sample_s;
  job.stop_factor = options_.stop_factor;
  job.tolerance = options_.tolerance;
  job.seed = options_.seed;
  job.cold_bytes = task.target.cold_bytes;
  return job;
}

std::vector<Result> LocalRunner::run(const Task& task, std::span<const Trace> traces, double best_seconds) {
  if (reference_task_ != task.key) {
    reference_task_ = task.key;
    reference_object_.clear();
  }
  const Deadline start(0);
  const std::filesystem::path folder = folder_.path() / fmt::format("{}", batches_++);
  std::filesystem::create_directory(folder);
  const Built built = build(task, traces, folder, reference_object_);
  const double build_s = start.elapsed();
  time.build += build_s;
  std::vector<Result> results = built.failures;
  Job job = make_job(task, built, best_seconds);
  std::vector<Result*> wanted;
  for (size_t i = 0; i < traces.size(); i++) {
    if (!built.candidates[i]) continue;
    job.candidates.push_back(*built.candidates[i]);
    wanted.push_back(&results[i]);
  }
  if (!wanted.empty() && supervisor_.measure(job, wanted) > kDisturbed) {
    // The machine changed its speed in the middle: time those that ran once more and keep the better times of both.
    std::vector<Result> again(wanted.size());
    std::vector<Result*> targets;
    Job second = job;
    second.candidates.clear();
    for (size_t i = 0; i < wanted.size(); i++) {
      if (wanted[i]->outcome != Outcome::ok) continue;
      second.candidates.push_back(job.candidates[i]);
      targets.push_back(&again[i]);
    }
    supervisor_.measure(second, targets);
    for (size_t i = 0; i < wanted.size(); i++) {
      if (again[i].outcome == Outcome::ok && again[i].best() < wanted[i]->best()) *wanted[i] = again[i];
    }
  }
  time.measure += start.elapsed() - build_s;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return results;
}

}  // namespace

std::unique_ptr<Runner> local_runner(const MeasureOptions& options) { return std::make_unique<LocalRunner>(options); }

}  // namespace mcc
