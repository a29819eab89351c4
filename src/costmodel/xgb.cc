// Gradient-boosted trees with a pairwise ranking objective (XGBoost, Chen & Guestrin 2016), one group a task: what
// counts is the order of candidates within a task, so that tasks of any size train one model. Trained anew on all data
// after each batch; before the first it ranks by the analytic model, which is also one of the features.
#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "costmodel/cost_model.h"
#include "schedule/analytic.h"

namespace mcc {
namespace {

constexpr int kRounds = 60;
constexpr size_t kMaxRowsPerTask = 600;  // the latest ones: training time stays bounded in long runs
constexpr size_t kMinRows = 16;

void check(int status) {
  if (status != 0) throw JobError(fmt::format("cost model: {}", XGBGetLastError()));
}

// Rows of one task, with how fast each was relative to the best of them.
struct Group {
  std::vector<std::vector<float>> rows;
  std::vector<double> seconds;
};

class Matrix {
 public:
  Matrix(const std::vector<float>& values, size_t rows) {
    check(XGDMatrixCreateFromMat(values.data(), rows, values.size() / rows, std::nanf(""), &handle_));
  }
  ~Matrix() { XGDMatrixFree(handle_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

class XgbModel : public CostModel {
 public:
  explicit XgbModel(u64 seed) : seed_(seed) {}
  ~XgbModel() override { drop_booster(); }
  std::string name() const override { return "xgboost"; }

  std::vector<double> score(const Task& task, std::span<const loop::Func> funcs) override {
    std::vector<double> scores;
    if (funcs.empty()) return scores;
    if (booster_ == nullptr) {
      for (const loop::Func& func : funcs)
        scores.push_back(-std::log(std::max(1e-12, analytic_seconds(func, task.target))));
      return scores;
    }
    std::vector<float> values;
    for (const loop::Func& func : funcs) {
      const std::vector<float> row = features(func, task.target);
      values.insert(values.end(), row.begin(), row.end());
    }
    const Matrix matrix(values, funcs.size());
    bst_ulong n = 0;
    const float* out = nullptr;
    check(XGBoosterPredict(booster_, matrix.handle(), 0, 0, 0, &n, &out));
    scores.assign(out, out + n);
    return scores;
  }

  void update(const Task& task, std::span<const loop::Func> funcs, std::span<const double> seconds) override {
    Group& group = groups_[task.key];
    for (size_t i = 0; i < funcs.size(); i++) {
      group.rows.push_back(features(funcs[i], task.target));
      group.seconds.push_back(seconds[i]);
    }
    train();
  }

 private:
  void drop_booster() {
    if (booster_ != nullptr) XGBoosterFree(booster_);
    booster_ = nullptr;
  }

  void train() {
    std::vector<float> values, labels;
    std::vector<unsigned> sizes;
    for (const auto& [key, group] : groups_) {
      const size_t first = group.rows.size() > kMaxRowsPerTask ? group.rows.size() - kMaxRowsPerTask : 0;
      const double best = *std::min_element(group.seconds.begin(), group.seconds.end());
      for (size_t i = first; i < group.rows.size(); i++) {
        values.insert(values.end(), group.rows[i].begin(), group.rows[i].end());
        labels.push_back(std::isfinite(group.seconds[i]) ? static_cast<float>(best / group.seconds[i]) : 0.0f);
      }
      sizes.push_back(static_cast<unsigned>(group.rows.size() - first));
    }
    if (labels.size() < kMinRows) return;
    const Matrix matrix(values, labels.size());
    check(XGDMatrixSetFloatInfo(matrix.handle(), "label", labels.data(), labels.size()));
    check(XGDMatrixSetUIntInfo(matrix.handle(), "group", sizes.data(), sizes.size()));
    drop_booster();
    const DMatrixHandle handles[] = {matrix.handle()};
    check(XGBoosterCreate(handles, 1, &booster_));
    const std::pair<const char*, std::string> parameters[] = {{"objective", "rank:pairwise"},
                                                              {"eta", "0.2"},
                                                              {"max_depth", "6"},
                                                              {"min_child_weight", "0"},
                                                              {"subsample", "0.9"},
                                                              {"tree_method", "hist"},
                                                              {"nthread", "1"},
                                                              {"seed", fmt::format("{}", seed_ & 0x7fffffff)},
                                                              {"verbosity", "0"}};
    for (const auto& [key, value] : parameters) check(XGBoosterSetParam(booster_, key, value.c_str()));
    for (int round = 0; round < kRounds; round++) check(XGBoosterUpdateOneIter(booster_, round, matrix.handle()));
  }

  u64 seed_;
  BoosterHandle booster_ = nullptr;
  std::map<std::string, Group> groups_;
};

}  // namespace

std::unique_ptr<CostModel> xgb_model(u64 seed) { return std::make_unique<XgbModel>(seed); }

}  // namespace mcc
