// The learned model: it starts from the trees that ship with mcc (shipped.forest, from logs of our own) or from the
// analytic model alone, and is corrected by trees trained anew before the next batch on what this run has measured
// (Chen & Guestrin 2016), one group a task: what counts is the order of candidates within a task, so that tasks of any
// size train one model.
#include <algorithm>
#include <map>

#include "costmodel/cost_model.h"
#include "costmodel/forest.h"
#include "costmodel/training.h"

namespace mcc {
namespace {

constexpr size_t kMaxRowsPerTask = 600;  // the latest ones: training time stays bounded in long runs

class TreeModel : public CostModel {
 public:
  TreeModel(Forest start, u64 seed) : start_(std::move(start)), seed_(seed), learned_(start_) {}
  std::string name() const override { return "trees"; }

  std::vector<double> score(const Task& task, std::span<const loop::Func> funcs) override {
    if (stale_) train();
    std::vector<double> scores;
    for (const loop::Func& func : funcs) scores.push_back(learned_.score(features(task, func)));
    return scores;
  }

  void update(const Task& task, std::span<const loop::Func> funcs, std::span<const double> seconds) override {
    RankGroup& group = groups_[task.key];
    for (const loop::Func& func : funcs) group.rows.push_back(features(task, func));
    group.seconds.insert(group.seconds.end(), seconds.begin(), seconds.end());
    if (group.rows.size() > kMaxRowsPerTask) {
      const auto surplus = static_cast<i64>(group.rows.size() - kMaxRowsPerTask);
      group.rows.erase(group.rows.begin(), group.rows.begin() + surplus);
      group.seconds.erase(group.seconds.begin(), group.seconds.begin() + surplus);
    }
    stale_ = true;
  }

 private:
  void train() {
    std::vector<RankGroup> groups;
    for (const auto& [key, one] : groups_) groups.push_back(one);
    TrainingOptions options;
    options.seed = seed_;
    learned_ = train_forest(groups, start_, options);
    stale_ = false;
  }

  Forest start_;
  u64 seed_;
  Forest learned_;
  bool stale_ = false;  // groups_ hold rows that learned_ has not seen
  std::map<std::string, RankGroup> groups_;
};

}  // namespace

std::unique_ptr<CostModel> tree_model(Forest start, u64 seed) {
  return std::make_unique<TreeModel>(std::move(start), seed);
}

}  // namespace mcc
