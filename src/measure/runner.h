// Turning traces into results. Local: builds a batch in parallel (never while timing), links it into one shared object,
// and runs it in a child process that may crash, hang or scribble. Simulated: deterministic, from the target's numbers
// alone.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "records/record.h"
#include "schedule/task.h"

namespace mcc {

struct MeasureOptions {
  int warmup_runs = 1;
  int repeats = 3;  // samples right after the check; each runs the kernel often enough to last min_sample_s
  int passes = 16;  // further samples, one in each pass through the batch
  double min_sample_s = 3e-4;
  double stop_factor = 3;   // a candidate's first run slower than this times the best known ends its measurement early
  double timeout_s = 10;    // for one candidate, all its runs
  double tolerance = 1e-4;  // relative to the largest reference value (f32); exact for integers
  u64 seed = 1;             // of the input data
};

// Where a runner's time went, in seconds.
struct RunnerTime {
  double build = 0;    // applying, compiling, linking
  double measure = 0;  // checking and timing
};

struct Runner {
  virtual ~Runner() = default;
  // One result for each trace, same order. `best_seconds`: best known for this task, for early stopping (infinity if
  // none).
  virtual std::vector<Result> run(const Task& task, std::span<const Trace> traces, double best_seconds) = 0;
  virtual std::string name() const = 0;
  RunnerTime time;  // of all calls so far
};

std::unique_ptr<Runner> local_runner(const MeasureOptions& options);
// Analytic time with reproducible noise; checks traces by apply() and the checks that run nothing.
std::unique_ptr<Runner> simulated_runner(u64 seed);

// Entry point of the measuring child process (`mcc --measure-child`), talking on its standard input and output. Returns
// its exit status.
int measure_child_main();

}  // namespace mcc
