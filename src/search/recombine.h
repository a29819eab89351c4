// The best kernel of each task in isolation is not always the best in the model: caches, alignment and frequency
// differ. The fastest few of each task are tried in the whole model, heaviest task first, and kept when the model as a
// whole gets faster.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "records/record.h"
#include "schedule/task.h"

namespace mcc {

struct RecombineOptions {
  int alternatives = 3;       // leaders of a task that take part
  int tasks = 4;              // heaviest ones only
  double min_gain = 0.01;     // of the whole model, to displace the incumbent
  double time_budget_s = 60;  // no further challenger is tried after this
};
struct Recombined {
  std::map<std::string, Trace> traces;  // task key -> trace
  int tried = 0, kept = 0;
};
// `seconds(traces)` builds and times the whole model; infinity when it cannot. The start is the first of the log's
// traces for each task, or the fastest when found: whichever makes the faster model.
Recombined recombine(const std::vector<Task>& tasks, const RecordStore& log, const RecombineOptions& options,
                     const std::function<double(const std::map<std::string, Trace>&)>& seconds);

}  // namespace mcc
