#include "search/recombine.h"
#include "base/deadline.h"

#include <algorithm>

namespace mcc {
namespace {

// Whatever the finals said: a model is no bench.
Trace fastest_found(const Task& task, const RecordStore& log) {
  const std::vector<Record> all = log.of_task(task.key, device_key(task.target));
  return std::min_element(all.begin(), all.end(),
                          [](const Record& a, const Record& b) { return a.result.best() < b.result.best(); })
      ->trace;
}

}  // namespace

Recombined recombine(const std::vector<Task>& tasks, const RecordStore& log, const RecombineOptions& options,
                     const std::function<double(const std::map<std::string, Trace>&)>& seconds) {
  Recombined result;
  std::vector<std::pair<double, size_t>> by_time;
  std::vector<std::vector<Record>> top(tasks.size());
  std::map<std::string, Trace> as_found;
  for (size_t i = 0; i < tasks.size(); i++) {
    top[i] = log.best(tasks[i].key, device_key(tasks[i].target), options.alternatives);
    if (top[i].empty()) continue;
    result.traces[tasks[i].key] = top[i].front().trace;
    as_found[tasks[i].key] = fastest_found(tasks[i], log);
    by_time.emplace_back(-tasks[i].weight * top[i].front().result.best(), i);
  }
  std::stable_sort(by_time.begin(), by_time.end());
  if (by_time.size() > static_cast<size_t>(options.tasks)) by_time.resize(static_cast<size_t>(options.tasks));
  if (by_time.empty()) return result;
  const Deadline deadline(std::max(options.time_budget_s, 1e-3));  // 0 would be no limit
  double incumbent = seconds(result.traces);
  if (as_found != result.traces && deadline.left() > 0) {
    const double now = seconds(as_found);
    result.tried++;
    if (now < incumbent) {
      incumbent = now;
      result.traces = as_found;
      result.kept++;
    }
  }
  for (const auto& [time, i] : by_time) {
    for (size_t k = 0; k < top[i].size() && deadline.left() > 0; k++) {
      if (top[i][k].trace == result.traces[tasks[i].key]) continue;
      std::map<std::string, Trace> challenger = result.traces;
      challenger[tasks[i].key] = top[i][k].trace;
      const double now = seconds(challenger);
      result.tried++;
      if (now >= incumbent * (1 - options.min_gain)) continue;
      incumbent = now;
      result.traces = std::move(challenger);
      result.kept++;
    }
  }
  return result;
}

}  // namespace mcc
