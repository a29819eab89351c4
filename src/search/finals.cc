#include "search/finals.h"

#include <algorithm>

#include "base/deadline.h"
#include "schedule/space.h"

namespace mcc {
namespace {

std::vector<Record> choose_finalists(const Task& task, const RecordStore& log, const FinalsOptions& options) {
  const std::string device = device_key(task.target);
  std::vector<Record> chosen = log.best(task.key, device, options.finalists);
  double fastest = std::numeric_limits<double>::infinity();
  for (const Record& r : chosen) fastest = std::min(fastest, r.result.best());
  std::erase_if(chosen, [&](const Record& r) { return r.result.best() > fastest * options.within; });
  const Trace usual = default_trace(task);
  const auto is_usual = [&](const Record& r) { return r.trace == usual && r.result.outcome == Outcome::ok; };
  if (chosen.empty() || std::any_of(chosen.begin(), chosen.end(), is_usual)) return chosen;
  const std::vector<Record> all = log.of_task(task.key, device);
  const auto found = std::find_if(all.begin(), all.end(), is_usual);
  if (found != all.end()) chosen.push_back(*found);
  return chosen;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Each finalist's median over all samples of all rounds; fewer than given where one failed this time.
std::vector<std::pair<std::string, double>> measure_side_by_side(const Task& task, const std::vector<Record>& finalists,
                                                                 Runner& runner, int rounds) {
  std::vector<Trace> traces;
  for (int round = 0; round < rounds; round++)
    for (const Record& r : finalists) traces.push_back(r.trace);
  constexpr double kNoEarlyEnd = std::numeric_limits<double>::infinity();
  const std::vector<Result> results = runner.run(task, traces, kNoEarlyEnd);
  std::vector<std::pair<std::string, double>> seconds;
  for (size_t i = 0; i < finalists.size(); i++) {
    std::vector<double> samples;
    bool ok = true;
    for (size_t at = i; at < results.size(); at += finalists.size()) {
      ok = ok && results[at].outcome == Outcome::ok;
      samples.insert(samples.end(), results[at].seconds.begin(), results[at].seconds.end());
    }
    if (ok && !samples.empty()) seconds.emplace_back(finalists[i].id, median(std::move(samples)));
  }
  return seconds;
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
    if (deadline.left() <= 0 || (options.stop != nullptr && options.stop->load())) break;
    const std::vector<Record> finalists = choose_finalists(*task, log, options);
    if (finalists.size() < 2) continue;
    log.put_finals(task->key, device_key(task->target), measure_side_by_side(*task, finalists, runner, options.rounds));
    decided++;
  }
  return decided;
}

}  // namespace mcc
