// The cost models rank: figures of a ranking by hand, and the learned model against an order that the analytic one has
// upside down.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "costmodel/cost_model.h"
#include "costmodel/forest.h"
#include "schedule/analytic.h"
#include "schedule/space.h"
#include "schedule_samples.h"

namespace mcc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(RankQuality, CountsPairsAndRecall) {
  const std::vector<double> seconds = {1, 2, 3, 4};
  const RankQuality perfect = rank_quality(std::vector<double>{9, 8, 7, 6}, seconds, 2);
  EXPECT_EQ(perfect.pairwise_accuracy, 1);
  EXPECT_EQ(perfect.recall_at_k, 1);
  const RankQuality reversed = rank_quality(std::vector<double>{6, 7, 8, 9}, seconds, 2);
  EXPECT_EQ(reversed.pairwise_accuracy, 0);
  EXPECT_EQ(reversed.recall_at_k, 0);
  EXPECT_EQ(rank_quality(std::vector<double>{5, 5, 5, 5}, seconds, 2).pairwise_accuracy, 0.5);
  EXPECT_EQ(rank_quality(std::vector<double>{9, 1, 8, 0}, seconds, 2).recall_at_k, 0.5);
}

TEST(RankQuality, EqualTimesAreNoPair) {
  const std::vector<double> seconds = {1, 1.01, 2};
  const RankQuality quality = rank_quality(std::vector<double>{1, 2, 0}, seconds, 1);
  EXPECT_EQ(quality.pairs, 2);
  EXPECT_EQ(quality.pairwise_accuracy, 1);
}

TEST(RankQuality, FailuresAreSlowestAndEqual) {
  const std::vector<double> seconds = {kInfinity, 1, kInfinity};
  EXPECT_EQ(rank_quality(std::vector<double>{0, 1, 2}, seconds, 1).pairwise_accuracy, 0.5);
  EXPECT_EQ(rank_quality(std::vector<double>{0, 1, -2}, seconds, 1).pairwise_accuracy, 1);
  EXPECT_EQ(rank_quality({}, {}, 3).pairwise_accuracy, 0);
}

struct Sample {
  Task task;
  std::vector<Trace> traces;
  std::vector<loop::Func> funcs;
  std::vector<Scheduled> candidates() const {
    std::vector<Scheduled> all;
    for (size_t i = 0; i < funcs.size(); i++) all.push_back({&traces[i], &funcs[i]});
    return all;
  }
};

Sample random_programs(size_t n, u64 seed) {
  Sample sample{make_task(samples::conv({14, 14, 32, 64, 3, 1, 1}), find_target("x86-64-v3"), 1), {}, {}};
  const std::vector<Sketch> space = sketches(sample.task);
  Rng rng(seed);
  while (sample.funcs.size() < n) {
    const Candidate candidate = random_candidate(space, rng);
    const Trace trace = resolve(space[static_cast<size_t>(candidate.sketch)], candidate);
    Applied applied = mcc::apply(sample.task.func, trace);
    if (!applied.func || !check_scheduled(*applied.func, sample.task.target).empty()) continue;
    sample.traces.push_back(trace);
    sample.funcs.push_back(std::move(*applied.func));
  }
  return sample;
}

double accuracy(CostModel& model, const Sample& sample, const std::vector<double>& seconds) {
  return rank_quality(model.score(sample.task, sample.candidates()), seconds, 10).pairwise_accuracy;
}

TEST(TreeModel, RanksLikeTheAnalyticModelFirstAndThenLearns) {
  const Sample train = random_programs(160, 1), test = random_programs(60, 2);
  auto analytic = [](const Sample& sample) {
    std::vector<double> seconds;
    for (const loop::Func& func : sample.funcs) seconds.push_back(analytic_seconds(func, sample.task.target));
    return seconds;
  };
  auto upside_down = [&](const Sample& sample) {
    std::vector<double> seconds = analytic(sample);
    for (double& s : seconds) s = 1e-9 / s;
    return seconds;
  };
  const std::unique_ptr<CostModel> model = tree_model({}, 1);
  EXPECT_EQ(accuracy(*model, test, analytic(test)), 1);
  model->update(train.task, train.candidates(), upside_down(train));
  EXPECT_GT(accuracy(*model, test, upside_down(test)), 0.8);
}

TEST(TreeModel, ABatchOfFailuresLeavesScoresFinite) {
  const Sample sample = random_programs(40, 3);
  const std::unique_ptr<CostModel> model = tree_model({}, 1);
  model->update(sample.task, sample.candidates(), std::vector<double>(sample.funcs.size(), kInfinity));
  for (const double score : model->score(sample.task, sample.candidates())) EXPECT_TRUE(std::isfinite(score));
}

TEST(Features, OneNumberForEachName) {
  const Sample sample = random_programs(5, 4);
  for (const loop::Func& func : sample.funcs) {
    const std::vector<float> row = features(sample.task, func);
    EXPECT_EQ(row.size(), feature_names().size());
    for (const float value : row) EXPECT_TRUE(std::isfinite(value));
  }
}

}  // namespace
}  // namespace mcc
