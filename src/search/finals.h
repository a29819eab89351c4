// The finals: what a search found fastest was also lucky. The few fastest of each task, and its default schedule, are
// measured once more, in turns and in one batch, and lead in the log in that order (RecordStore::best).
#pragma once
#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "measure/runner.h"
#include "records/record.h"
#include "schedule/task.h"

namespace mcc {

struct FinalsOptions {
  int finalists = 4;                        // of a task, besides the default schedule and the leader so far
  double within = 1.1;                      // times the fastest; what is slower has no chance
  int rounds = 2;                           // measurements of each, many samples in turns each time
  double time_budget_s = 30;                // no further task after this; the heaviest come first
  const std::atomic<bool>* stop = nullptr;  // Ctrl-C
};
// Returns the number of tasks that were decided.
int run_finals(const std::vector<Task>& tasks, Runner& runner, RecordStore& log, const FinalsOptions& options);

// What the whole model is fastest with becomes each task's leader, so that a later look-up builds the same program: the
// trace given for the task, else its default one.
void keep_choice(const std::vector<Task>& tasks, const std::map<std::string, Trace>& traces, RecordStore& log);

}  // namespace mcc
