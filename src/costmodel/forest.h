// An ensemble of regression trees as plain data: what the cost model evaluates, and how a trained one is kept.
//
// Text form: a line "mcc-forest 1 features N", N the version of the features (cost_model.h) it was trained on; then a
// line for each tree, its nodes in preorder: "F<T" splits (feature number F below T goes to the first child, else - not
// a number included - to the second), "=V" is a leaf.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"

namespace mcc {

struct TreeNode {
  int feature = -1;  // below 0: a leaf
  float value = 0;   // threshold, or what the leaf adds to the score
  int second = 0;    // index of the second child; the first is the next node
  bool operator==(const TreeNode&) const = default;
};
using Tree = std::vector<TreeNode>;  // preorder, root first

// Higher is faster. Without trees it ranks as the analytic model does, which the trees then correct: the score starts
// at the row's first feature, log2 of the analytic time, times -kAnalyticWeight.
constexpr double kAnalyticWeight = 3;
struct Forest {
  std::vector<Tree> trees;
  double score(std::span<const float> row) const;
  bool operator==(const Forest&) const = default;
};

std::string to_text(const Forest& forest);
// Throws Error naming the line; for another version of the features (kFeatureVersion), or where a node asks for a
// feature that no row has.
Forest forest_from_text(std::string_view text);

// The forest that is built into this program (shipped.forest, made by `mcc-log train`).
const Forest& shipped_forest();

}  // namespace mcc
