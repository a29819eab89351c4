#include "search/task_scheduler.h"

#include <algorithm>
#include <cmath>

#include "schedule/analytic.h"

namespace mcc {
namespace {

constexpr double kTrustInPast = 0.3;  // weight of the last improvement against the optimistic outlook
constexpr double kPeakShare = 0.9;    // no kernel gets beyond this share of the peak: one there has nothing to gain

constexpr double kLeastOutlook = 0.05;  // of the present time, wherever the peak may be
constexpr double kFirstOutlook = 0.5;   // share of what there is to gain that the first batch is expected to find

// Seconds of a run that the task's next batch is expected to save.
double expected_gain(const TaskSearch& search, i64 batch) {
  const double best = search.best_seconds();
  if (!std::isfinite(best)) return 0;
  const auto& history = search.history();
  const size_t now = history.size();
  const size_t before = now > static_cast<size_t>(batch) ? now - static_cast<size_t>(batch) - 1 : 0;
  const double earlier = std::isfinite(history[before]) ? history[before] : best;
  const double past = earlier - best;
  const double rounds = static_cast<double>(now) / static_cast<double>(batch);
  const double floor = static_cast<double>(search.task().flops) / (kPeakShare * peak_flops(search.task().target, 4));
  const double outlook = std::max(kLeastOutlook * best, best - floor) / (1 + rounds) * kFirstOutlook;
  return search.task().weight * (kTrustInPast * past + (1 - kTrustInPast) * outlook);
}

}  // namespace

int next_task(const std::vector<TaskSearch>& searches, const std::vector<bool>& closed, i64 batch) {
  int chosen = -1;
  double most = -1;
  for (size_t i = 0; i < searches.size(); i++) {
    if (closed[i] || searches[i].exhausted()) continue;
    if (searches[i].trials() == 0) return static_cast<int>(i);
    const double gain = expected_gain(searches[i], batch);
    if (gain > most) {
      most = gain;
      chosen = static_cast<int>(i);
    }
  }
  return chosen;
}

}  // namespace mcc
