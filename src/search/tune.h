// The tuning run: task scheduler over per-task searches, with the log as its only state. See docs/SEARCH.md.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "costmodel/cost_model.h"
#include "measure/runner.h"
#include "records/record.h"
#include "schedule/task.h"
#include "search/task_search.h"

namespace mcc {

struct TuneOptions {
  i64 trials = 1000;         // measurements in all, those found in the log for the same run (model, seed) included
  double time_budget_s = 0;  // 0: none
  i64 batch = 32;            // measurements of one task before the scheduler chooses again
  u64 seed = 1;
  SearchParts parts;
  std::string model;                        // written into the records
  const std::atomic<bool>* stop = nullptr;  // Ctrl-C: end after the batch in flight
};

struct TaskProgress {
  std::string key, name;
  double weight = 1;
  i64 flops = 0, trials = 0, failed = 0;
  double default_seconds = 0;  // of the default schedule, measured
  double best_seconds = 0;
  Trace best;
};
struct Progress {
  std::vector<TaskProgress> tasks;
  i64 trials = 0, trials_total = 0;     // those found in the log included
  i64 measured = 0;                     // by this run
  std::map<std::string, i64> failures;  // outcome name -> count
  i64 mistakes = 0;                     // candidates lost to errors of mcc itself (TaskSearch::mistakes)
  double seconds = 0;                   // of this run so far
  double seconds_left = 0;              // of the time budget; infinity without one
  double proposing = 0;                 // of these: candidates found and ranked, cost model trained
  RunnerTime runner;                    // of these
  RankQuality last_round;               // of the cost model on the last batch
  int current_task = -1;
  double trials_per_second() const { return seconds > 0 ? static_cast<double>(measured) / seconds : 0; }
};

struct TuneResult {
  Progress progress;
  bool interrupted = false;
  std::string gave_up;  // why it stopped early: all candidates failed and the most likely cause
};

// Appends to `log` after every batch. Same options, log and simulated runner: same records.
TuneResult tune(const std::vector<Task>& tasks, Runner& runner, CostModel& model, RecordStore& log,
                const TuneOptions& options, const std::function<void(const Progress&)>& on_progress);

}  // namespace mcc
