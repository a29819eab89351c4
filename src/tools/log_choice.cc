#include "tools/log_choice.h"

#include <algorithm>

#include "package/kernels.h"
#include "schedule/space.h"

namespace mcc {
namespace {

constexpr int kLookedAt = 16;  // records of a task, the best ones

}  // namespace

LogChoice choose_from_log(const RecordStore& log, const std::vector<Task>& tasks) {
  LogChoice choice;
  for (const Task& task : tasks) {
    const std::vector<Record> best = log.best(task.key, device_key(task.target), kLookedAt);
    const auto applies = [&](const Record& r) { return apply_logged(task, r.trace).func.has_value(); };
    const auto first = std::find_if(best.begin(), best.end(), applies);
    if (first == best.end()) {
      choice.not_applicable += !best.empty();
      continue;
    }
    choice.traces[task.key] = first->trace;
    choice.record_ids[task.key] = first->id;
  }
  return choice;
}

std::map<std::string, std::string> ids_of(const Traces& traces, const RecordStore& log,
                                          const std::vector<Task>& tasks) {
  std::map<std::string, std::string> ids;
  for (const Task& task : tasks) {
    const auto chosen = traces.find(task.key);
    const Trace trace = chosen != traces.end() ? chosen->second : default_trace(task);
    const std::vector<Record> best = log.best(task.key, device_key(task.target), kLookedAt);
    const auto same = std::find_if(best.begin(), best.end(), [&](const Record& r) { return r.trace == trace; });
    if (same != best.end()) ids[task.key] = same->id;
  }
  return ids;
}

}  // namespace mcc
