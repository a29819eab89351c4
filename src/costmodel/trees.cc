// The learned model: for each task it starts from the trees that ship with mcc (shipped.forest, from logs of our own)
// or from the analytic model alone, and is corrected by trees trained anew before the next batch on what this run has
// measured of the task (Chen & Guestrin 2016). Each batch is a group of its own, since what was measured side by side
// is compared best; and all of them are one group more, since the search narrows: most batches hold one family of
// schedules only, and which family is the fastest shows between batches. Beside the features these trees see the
// decisions of the schedule (decisions.h).
#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>

#include "costmodel/cost_model.h"
#include "costmodel/decisions.h"
#include "costmodel/forest.h"
#include "costmodel/training.h"

namespace mcc {
namespace {

constexpr size_t kMaxRows = 1500;  // of a task, in its latest batches: training time stays bounded in long runs

struct Row {
  std::vector<float> features;
  Decisions decisions;
};

std::vector<Row> rows_of(const Task& task, std::span<const Scheduled> candidates) {
  std::vector<Row> rows(candidates.size());
  tbb::parallel_for(size_t{0}, rows.size(), [&](size_t i) {
    rows[i] = {features(task, *candidates[i].func), decisions(*candidates[i].trace)};
  });
  return rows;
}

struct Batch {
  std::vector<Row> rows;
  std::vector<double> seconds;
};

struct Learned {
  std::vector<Batch> batches;
  size_t rows = 0;
  std::vector<std::string> names;  // of the decisions that follow the features in a row
  Forest forest;
  bool stale = false;  // batches hold rows that forest has not seen
};

std::vector<float> whole_row(const Row& row, std::span<const std::string> names) {
  std::vector<float> whole = row.features;
  append_decisions(row.decisions, names, whole);
  return whole;
}

class TreeModel : public CostModel {
 public:
  TreeModel(Forest start, u64 seed) : start_(std::move(start)), seed_(seed) {}
  std::string name() const override { return "trees"; }

  std::vector<double> score(const Task& task, std::span<const Scheduled> candidates) override {
    Learned& learned = tasks_.try_emplace(task.key, Learned{{}, 0, {}, start_, false}).first->second;
    if (learned.stale) train(learned);
    const std::vector<Row> rows = rows_of(task, candidates);
    std::vector<double> scores;
    for (const Row& row : rows) scores.push_back(learned.forest.score(whole_row(row, learned.names)));
    return scores;
  }

  void update(const Task& task, std::span<const Scheduled> batch, std::span<const double> seconds) override {
    Learned& learned = tasks_.try_emplace(task.key, Learned{{}, 0, {}, start_, false}).first->second;
    learned.batches.push_back({rows_of(task, batch), {seconds.begin(), seconds.end()}});
    learned.rows += batch.size();
    while (learned.rows > kMaxRows && learned.batches.size() > 1) {
      learned.rows -= learned.batches.front().rows.size();
      learned.batches.erase(learned.batches.begin());
    }
    learned.stale = true;
  }

 private:
  void train(Learned& learned) const {
    std::vector<Decisions> all;
    for (const Batch& batch : learned.batches)
      for (const Row& row : batch.rows) all.push_back(row.decisions);
    learned.names = differing(all);
    std::vector<RankGroup> groups(1);
    for (const Batch& batch : learned.batches) {
      RankGroup group;
      for (const Row& row : batch.rows) group.rows.push_back(whole_row(row, learned.names));
      group.seconds = batch.seconds;
      groups[0].rows.insert(groups[0].rows.end(), group.rows.begin(), group.rows.end());
      groups[0].seconds.insert(groups[0].seconds.end(), group.seconds.begin(), group.seconds.end());
      groups.push_back(std::move(group));
    }
    TrainingOptions options;
    options.trees = 120;
    options.eta = 0.1;
    options.depth = 4;
    options.rows = 0.7;
    options.columns = 0.4;
    options.seed = seed_;
    learned.forest = train_forest(groups, start_, options);
    learned.stale = false;
  }

  Forest start_;
  u64 seed_;
  std::map<std::string, Learned> tasks_;  // by key
};

}  // namespace

std::unique_ptr<CostModel> tree_model(Forest start, u64 seed) {
  return std::make_unique<TreeModel>(std::move(start), seed);
}

}  // namespace mcc
