#include "search/finals.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/deadline.h"
#include "schedule/space.h"

namespace mcc {
namespace {

// The fastest as found, the leader so far, and the default schedule.
std::vector<Record> choose_finalists(const Task& task, const RecordStore& log, const FinalsOptions& options) {
  const std::string device = device_key(task.target);
  std::vector<Record> all = log.of_task(task.key, device);
  std::erase_if(all, [](const Record& r) { return r.result.outcome != Outcome::ok; });
  std::stable_sort(all.begin(), all.end(),
                   [](const Record& a, const Record& b) { return a.result.best() < b.result.best(); });
  const Trace usual = default_trace(task);
  const std::vector<Record> leader = log.best(task.key, device, 1);
  const double limit = all.empty() ? 0 : all[0].result.best() * options.within;
  std::vector<Record> chosen;
  for (size_t i = 0; i < all.size(); i++) {
    const bool fast = i < static_cast<size_t>(options.finalists) && all[i].result.best() <= limit;
    if (fast || all[i].trace == usual || all[i].id == leader[0].id) chosen.push_back(std::move(all[i]));
  }
  return chosen;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Ids, fastest first by the median over all samples of all rounds; without those that failed this time.
std::vector<std::string> measure_side_by_side(const Task& task, const std::vector<Record>& finalists, Runner& runner,
                                              int rounds) {
  std::vector<Trace> traces;
  for (int round = 0; round < rounds; round++)
    for (const Record& r : finalists) traces.push_back(r.trace);
  constexpr double kNoEarlyEnd = std::numeric_limits<double>::infinity();
  const std::vector<Result> results = runner.run(task, traces, kNoEarlyEnd);
  std::vector<std::pair<double, std::string>> order;
  for (size_t i = 0; i < finalists.size(); i++) {
    std::vector<double> samples;
    bool ok = true;
    for (size_t at = i; at < results.size(); at += finalists.size()) {
      ok = ok && results[at].outcome == Outcome::ok;
      samples.insert(samples.end(), results[at].seconds.begin(), results[at].seconds.end());
    }
    if (ok && !samples.empty()) order.emplace_back(median(std::move(samples)), finalists[i].id);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> ids;
  for (auto& [seconds, id] : order) ids.push_back(std::move(id));
  return ids;
}

std::optional<Record> find_record(const Task& task, const Trace& trace, const RecordStore& log) {
  for (Record& r : log.of_task(task.key, device_key(task.target)))
    if (r.trace == trace && r.result.outcome == Outcome::ok) return std::move(r);
  return std::nullopt;
}

}  // namespace

int run_finals(const std::vector<Task>& tasks, Runner& runner, RecordStore& log, const FinalsOptions& options) {
  const Deadline deadline(options.time_budget_s);
  std::vector<std::pair<double, const Task*>> order;
  for (const Task& task : tasks) {
    const std::vector<Record> best = log.best(task.key, device_key(task.target), 1);
    if (!best.empty()) order.emplace_back(-task.weight * best[0].result.best(), &task);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  int decided = 0;
  for (const auto& [time, task] : order) {
    const std::string device = device_key(task->target);
    if (deadline.left() <= 0 || (options.stop != nullptr && options.stop->load())) {
      log.put_leaders(task->key, device, {});  // of an earlier run: they have not met what was found since
      continue;
    }
    const std::vector<Record> finalists = choose_finalists(*task, log, options);
    if (finalists.size() < 2) continue;
    log.put_leaders(task->key, device, measure_side_by_side(*task, finalists, runner, options.rounds));
    decided++;
  }
  return decided;
}

void keep_choice(const std::vector<Task>& tasks, const std::map<std::string, Trace>& traces, RecordStore& log) {
  constexpr int kLeaders = 5;
  for (const Task& task : tasks) {
    const auto chosen = traces.find(task.key);
    const std::optional<Record> first =
        find_record(task, chosen != traces.end() ? chosen->second : default_trace(task), log);
    if (!first) continue;
    std::vector<std::string> ids{first->id};
    for (const Record& r : log.best(task.key, device_key(task.target), kLeaders))
      if (r.id != first->id) ids.push_back(r.id);
    log.put_leaders(task.key, device_key(task.target), ids);
  }
}

}  // namespace mcc
