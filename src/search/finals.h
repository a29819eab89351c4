// The finals: what a search found fastest was also lucky. The few leaders of each task, and its default schedule, are
// measured once more, in turns and in one batch, and rank by that from then on (RecordStore::best).
#pragma once
#include <atomic>
#include <vector>

#include "measure/runner.h"
#include "records/record.h"
#include "schedule/task.h"

namespace mcc {

struct FinalsOptions {
  int finalists = 4;                        // of a task, besides the default schedule
  double within = 1.1;                      // times the fastest; what is slower has no chance
  int rounds = 3;                           // measurements of each
  double time_budget_s = 30;                // no further task after this; the heaviest come first
  const std::atomic<bool>* stop = nullptr;  // Ctrl-C
};
// Returns the number of tasks that were decided.
int run_finals(const std::vector<Task>& tasks, Runner& runner, RecordStore& log, const FinalsOptions& options);

}  // namespace mcc
