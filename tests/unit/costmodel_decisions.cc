// Decisions of a schedule as numbers, and what the learned model makes of them and of batches.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "costmodel/cost_model.h"
#include "costmodel/decisions.h"
#include "costmodel/forest.h"
#include "schedule_samples.h"

namespace mcc {
namespace {

TEST(Decisions, AreNumbersByName) {
  const Decisions d = decisions(parse_trace("split conv m [4,16]; reorder conv m.0 k m.1; mark conv m.1 unroll"));
  const Decisions want = {{"split conv m 0", 2},   {"split conv m 1", 4},     {"reorder conv 0 m.0", 0},
                          {"reorder conv 0 k", 1}, {"reorder conv 0 m.1", 2}, {"mark conv m.1 unroll", 1}};
  EXPECT_EQ(d, want);
}

TEST(Decisions, OnlyThoseThatDifferCount) {
  const std::vector<Decisions> all = {{{"same", 1}, {"size", 2}}, {{"same", 1}, {"size", 3}, {"only here", 1}}};
  const std::vector<std::string> names = differing(all);
  EXPECT_EQ(names, (std::vector<std::string>{"only here", "size"}));
  std::vector<float> row = {7};
  append_decisions(all[0], names, row);
  EXPECT_EQ(row, (std::vector<float>{7, kUndecided, 2}));
}

// One program under many names: its features tell nothing, its traces all.
struct Blind {
  Task task = make_task(samples::conv({}), find_target("x86-64-v3"), 1);
  std::vector<Trace> traces;
  std::vector<double> seconds;

  Blind(size_t n, u64 seed) {
    Rng rng(seed);
    for (size_t i = 0; i < n; i++) {
      const i64 m = rng.below(6), k = rng.below(6);
      traces.push_back(parse_trace(fmt::format("split conv m [{}]; split conv k [{}]", 1 << m, 1 << k)));
      seconds.push_back(1 + static_cast<double>((m - 2) * (m - 2) + k));
    }
  }
  std::vector<Scheduled> candidates(size_t from, size_t n) const {
    std::vector<Scheduled> some;
    for (size_t i = from; i < from + n; i++) some.push_back({&traces[i], &task.func});
    return some;
  }
};

TEST(TreeModel, LearnsFromDecisionsOnAMachineThatChangesItsSpeed) {
  constexpr size_t kBatch = 32, kBatches = 6;
  const Blind known(kBatch * kBatches, 1), unseen(60, 2);
  const std::unique_ptr<CostModel> model = tree_model({}, 1);
  for (size_t batch = 0; batch < kBatches; batch++) {
    std::vector<double> seconds;
    for (size_t i = 0; i < kBatch; i++)
      seconds.push_back(known.seconds[batch * kBatch + i] * (batch % 2 == 0 ? 1.0 : 10.0));
    model->update(known.task, known.candidates(batch * kBatch, kBatch), seconds);
  }
  const std::vector<double> scores = model->score(known.task, unseen.candidates(0, 60));
  EXPECT_GT(rank_quality(scores, unseen.seconds, 10).pairwise_accuracy, 0.9);
}

}  // namespace
}  // namespace mcc
