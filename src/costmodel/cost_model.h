// Which candidates to measure. Scores rank candidates of one task: higher is faster.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loop/loop.h"
#include "schedule/task.h"
#include "schedule/trace.h"

namespace mcc {

// Numbers that describe a scheduled Func of a task. Each has a name in features.cc; the version changes when
// any of them does.
constexpr int kFeatureVersion = 3;
std::vector<float> features(const Task& task, const loop::Func& scheduled);
std::span<const std::string_view> feature_names();

struct Forest;

// A candidate: its schedule and what apply() made of it.
struct Scheduled {
  const Trace* trace;
  const loop::Func* func;
};

struct CostModel {
  virtual ~CostModel() = default;
  virtual std::vector<double> score(const Task& task, std::span<const Scheduled> candidates) = 0;
  // One batch, measured together: seconds (infinity for failures), one for each candidate.
  virtual void update(const Task& task, std::span<const Scheduled> batch, std::span<const double> seconds) = 0;
  virtual std::string name() const = 0;
};
// Gradient-boosted trees, ranking objective, some for each task. They correct `start` (forest.h; an empty one is the
// analytic model).
std::unique_ptr<CostModel> tree_model(Forest start, u64 seed);
std::unique_ptr<CostModel> random_model(u64 seed);

// How well scores predicted measured seconds of one batch.
constexpr double kDistinct = 0.05;  // times closer than this share are no pair: two timings of one program differ so
struct RankQuality {
  // Share of pairs (of distinct seconds) in the right order; 0 where there is no such pair.
  double pairwise_accuracy = 0;
  i64 pairs = 0;
  double recall_at_k = 0;  // share of the fastest k that are among the k best scored
};
RankQuality rank_quality(std::span<const double> scores, std::span<const double> seconds, int k);

}  // namespace mcc
