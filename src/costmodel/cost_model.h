// Which candidates to measure. Scores rank candidates of one task: higher is faster.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loop/loop.h"
#include "schedule/task.h"

namespace mcc {

// Numbers that describe a scheduled Func on a target. Each has a name and a sentence in features.cc; the version
// changes when any does.
constexpr int kFeatureVersion = 1;
std::vector<float> features(const loop::Func& scheduled, const Target& target);
std::span<const std::string_view> feature_names();

// Measured: seconds (infinity for failures), one for each func.
struct CostModel {
  virtual ~CostModel() = default;
  virtual std::vector<double> score(const Task& task, std::span<const loop::Func> funcs) = 0;
  virtual void update(const Task& task, std::span<const loop::Func> funcs, std::span<const double> seconds) = 0;
  virtual std::string name() const = 0;
};
std::unique_ptr<CostModel> xgb_model(u64 seed);  // gradient-boosted trees, ranking objective, grouped by task
std::unique_ptr<CostModel> random_model(u64 seed);

// How well scores predicted measured seconds of one batch.
struct RankQuality {
  double pairwise_accuracy = 0;  // share of pairs (of different seconds) in the right order
  double recall_at_k = 0;        // share of the fastest k that are among the k best scored
};
RankQuality rank_quality(std::span<const double> scores, std::span<const double> seconds, int k);

}  // namespace mcc
