#include "costmodel/training.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "costmodel/cost_model.h"

namespace mcc {
namespace {

constexpr size_t kMinRows = 16;
constexpr double kFailedChoice = 10;  // times the fastest: what a first choice that fails counts as

void check(int status) {
  if (status != 0) throw JobError(fmt::format("cost model: {}", XGBGetLastError()));
}

// All rows, their labels - how fast each was relative to the best of its group - and where each starts from.
struct Rows {
  std::vector<float> values, labels, margins;
  std::vector<unsigned> sizes;  // of the groups
};

Rows rows_of(std::span<const RankGroup> groups, const Forest& start) {
  Rows all;
  for (const RankGroup& group : groups) {
    if (group.rows.empty()) continue;
    const double best = *std::min_element(group.seconds.begin(), group.seconds.end());
    for (size_t i = 0; i < group.rows.size(); i++) {
      const std::vector<float>& row = group.rows[i];
      all.values.insert(all.values.end(), row.begin(), row.end());
      all.labels.push_back(std::isfinite(group.seconds[i]) ? static_cast<float>(best / group.seconds[i]) : 0.0f);
      all.margins.push_back(static_cast<float>(start.score(row)));
    }
    all.sizes.push_back(static_cast<unsigned>(group.rows.size()));
  }
  return all;
}

using Matrix = std::unique_ptr<void, int (*)(DMatrixHandle)>;
using Booster = std::unique_ptr<void, int (*)(BoosterHandle)>;

Matrix matrix_of(const Rows& rows) {
  DMatrixHandle handle = nullptr;
  const size_t n = rows.labels.size();
  check(XGDMatrixCreateFromMat(rows.values.data(), n, rows.values.size() / n, std::nanf(""), &handle));
  Matrix matrix(handle, XGDMatrixFree);
  check(XGDMatrixSetFloatInfo(handle, "label", rows.labels.data(), n));
  check(XGDMatrixSetFloatInfo(handle, "base_margin", rows.margins.data(), n));
  check(XGDMatrixSetUIntInfo(handle, "group", rows.sizes.data(), rows.sizes.size()));
  return matrix;
}

Booster booster_of(const Matrix& matrix, const TrainingOptions& options) {
  BoosterHandle handle = nullptr;
  const DMatrixHandle handles[] = {matrix.get()};
  check(XGBoosterCreate(handles, 1, &handle));
  Booster booster(handle, XGBoosterFree);
  const std::pair<const char*, std::string> parameters[] = {{"objective", "rank:pairwise"},
                                                            {"eta", fmt::format("{}", options.eta)},
                                                            {"max_depth", fmt::format("{}", options.depth)},
                                                            {"min_child_weight", "0"},
                                                            {"num_pairsample", "4"},
                                                            {"subsample", fmt::format("{}", options.rows)},
                                                            {"colsample_bytree", fmt::format("{}", options.columns)},
                                                            {"tree_method", "hist"},
                                                            {"nthread", "1"},
                                                            {"seed", fmt::format("{}", options.seed & 0x7fffffff)},
                                                            {"verbosity", "0"}};
  for (const auto& [key, value] : parameters) check(XGBoosterSetParam(handle, key, value.c_str()));
  for (int round = 0; round < options.trees; round++) check(XGBoosterUpdateOneIter(handle, round, matrix.get()));
  return booster;
}

// A tree of XGBoost's JSON model ("left_children" -1 is a leaf, whose value is its "split_conditions"), in preorder.
Tree tree_of(const nlohmann::json& json) {
  const auto left = json.at("left_children").get<std::vector<int>>();
  const auto right = json.at("right_children").get<std::vector<int>>();
  const auto feature = json.at("split_indices").get<std::vector<int>>();
  const auto value = json.at("split_conditions").get<std::vector<float>>();
  Tree tree;
  std::vector<std::pair<int, int>> todo = {{0, -1}};  // node there, and the split here whose second child it is
  while (!todo.empty()) {
    const auto [from, parent] = todo.back();
    todo.pop_back();
    const auto at = static_cast<size_t>(from);
    if (parent >= 0) tree[static_cast<size_t>(parent)].second = static_cast<int>(tree.size());
    const bool leaf = left[at] < 0;
    tree.push_back({leaf ? -1 : feature[at], value[at], 0});
    if (leaf) continue;
    todo.emplace_back(right[at], static_cast<int>(tree.size()) - 1);
    todo.emplace_back(left[at], -1);
  }
  return tree;
}

std::vector<Tree> trees_of(const Booster& booster) {
  bst_ulong size = 0;
  const char* text = nullptr;
  check(XGBoosterSaveModelToBuffer(booster.get(), R"({"format": "json"})", &size, &text));
  const nlohmann::json json = nlohmann::json::parse(std::string_view(text, size));
  std::vector<Tree> trees;
  for (const nlohmann::json& tree : json.at("learner").at("gradient_booster").at("model").at("trees"))
    trees.push_back(tree_of(tree));
  return trees;
}

// Adds how well the forest ranks the group; false where all its times are alike.
bool judge(const Forest& forest, const RankGroup& group, Ranking& sum) {
  std::vector<double> scores;
  for (const std::vector<float>& row : group.rows) scores.push_back(forest.score(row));
  const RankQuality q = rank_quality(scores, group.seconds, static_cast<int>(scores.size() + 1) / 2);
  if (q.pairs == 0) return false;
  const auto first = std::max_element(scores.begin(), scores.end()) - scores.begin();
  const double best = *std::min_element(group.seconds.begin(), group.seconds.end());
  sum.pairwise_accuracy += q.pairwise_accuracy;
  sum.recall += q.recall_at_k;
  sum.first_choice += std::log(std::min(kFailedChoice, group.seconds[at(first)] / best));
  return true;
}

void finish(Ranking& sum, i64 groups) {
  const double n = std::max(1.0, static_cast<double>(groups));
  sum.pairwise_accuracy /= n;
  sum.recall /= n;
  sum.first_choice = std::exp(sum.first_choice / n);
}

}  // namespace

Forest train_forest(std::span<const RankGroup> groups, const Forest& start, const TrainingOptions& options) {
  const Rows rows = rows_of(groups, start);
  if (rows.labels.size() < kMinRows) return start;
  Forest forest = start;
  for (Tree& tree : trees_of(booster_of(matrix_of(rows), options))) forest.trees.push_back(std::move(tree));
  return forest;
}

CrossValidation cross_validate(std::span<const RankGroup> groups, std::span<const int> fold_of, int folds,
                               const TrainingOptions& options) {
  CrossValidation sum;
  for (int fold = 0; fold < folds; fold++) {
    std::vector<RankGroup> others;
    for (size_t i = 0; i < groups.size(); i++) {
      if (fold_of[i] != fold) others.push_back(groups[i]);
    }
    const Forest forest = train_forest(others, {}, options);
    for (size_t i = 0; i < groups.size(); i++) {
      if (fold_of[i] == fold && judge(forest, groups[i], sum.learned)) {
        judge({}, groups[i], sum.analytic);
        sum.groups++;
      }
    }
  }
  finish(sum.learned, sum.groups);
  finish(sum.analytic, sum.groups);
  return sum;
}

}  // namespace mcc
