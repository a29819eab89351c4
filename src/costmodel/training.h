// Trees that rank candidates, from measurements (XGBoost, pairwise objective).
#pragma once
#include <span>
#include <vector>

#include "costmodel/forest.h"

namespace mcc {

// Candidates of one task: a row of features each, and measured seconds (infinity: failed). Only rows of one group are
// compared with each other.
struct RankGroup {
  std::vector<std::vector<float>> rows;
  std::vector<double> seconds;
};

struct TrainingOptions {
  int trees = 60;
  int depth = 6;
  double eta = 0.2;    // learning rate
  double rows = 0.9;   // share of the rows that each tree sees
  double columns = 1;  // and of the features
  u64 seed = 1;
};

// `start` with more trees, which correct its scores; `start` itself when there is too little to learn from. Throws
// JobError.
Forest train_forest(std::span<const RankGroup> groups, const Forest& start, const TrainingOptions& options);

// How well a model ranks groups it has not seen, mean over the groups.
struct Ranking {
  double pairwise_accuracy = 0, recall = 0;  // of the faster half (cost_model.h)
  double first_choice = 0;                   // time of the best scored over that of the fastest, geometric mean
};
struct CrossValidation {
  i64 groups = 0;
  Ranking learned;   // trained on the other folds
  Ranking analytic;  // without trees
};
// `fold_of[i]`: fold of group i; groups of one fold never judge each other.
CrossValidation cross_validate(std::span<const RankGroup> groups, std::span<const int> fold_of, int folds,
                               const TrainingOptions& options);

}  // namespace mcc
