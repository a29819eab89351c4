// mcc-log train: the cost model that ships with mcc (src/costmodel/shipped.forest) is what this writes from logs of
// many models. Before it trains on everything it says how well such a model ranks layers it has not seen: five folds by
// the name of the task, so that the same layer of two models is never on both sides.
#include <algorithm>
#include <iostream>
#include <limits>
#include <map>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "costmodel/cost_model.h"
#include "costmodel/training.h"
#include "search/task_notes.h"
#include "tools/tools.h"

namespace mcc {
namespace {

constexpr int kFolds = 5;

struct Dataset {
  std::vector<RankGroup> groups;
  std::vector<int> folds;
  i64 records = 0, without_task = 0, rows = 0;
};

bool left_out(const std::string& name, const std::vector<std::string>& except) {
  return std::any_of(except.begin(), except.end(),
                     [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

void add_log(const std::string& file, const std::vector<std::string>& except, Dataset& data) {
  const RecordStore log = RecordStore::open(file, RecordStore::Mode::read_only);
  std::map<std::string, Task> tasks;
  for (Task& task : noted_tasks(log)) tasks.emplace(task.key, std::move(task));
  std::map<std::string, RankGroup> groups;
  for (const Record& r : log.all()) {
    data.records++;
    const auto task = tasks.find(r.task);
    if (task == tasks.end()) {
      data.without_task++;
      continue;
    }
    if (left_out(task->second.name, except)) continue;
    const Applied applied = mcc::apply(task->second.func, r.trace);
    if (!applied.func) continue;
    RankGroup& group = groups[r.task];
    group.rows.push_back(features(task->second, *applied.func));
    group.seconds.push_back(r.result.outcome == Outcome::ok ? r.result.best()
                                                            : std::numeric_limits<double>::infinity());
    data.rows++;
  }
  for (auto& [key, group] : groups) {
    data.folds.push_back(static_cast<int>(hash64(tasks.at(key).name) % kFolds));
    data.groups.push_back(std::move(group));
  }
}

nlohmann::ordered_json json(const Ranking& r) {
  return {{"pairwise_accuracy", r.pairwise_accuracy}, {"recall", r.recall}, {"first_choice", r.first_choice}};
}

}  // namespace

int train_cost_model(const std::vector<std::string>& files, const std::vector<std::string>& except,
                     const std::string& output, bool as_json) {
  if (output.empty()) fail("mcc-log train: -o FILE is missing");
  Dataset data;
  for (const std::string& file : files) add_log(file, except, data);
  if (data.rows == 0)
    fail("mcc-log train: none of the {} records has its task in its log; tune again with this mcc", data.records);
  TrainingOptions options;
  options.trees = 200;
  options.eta = 0.1;
  const CrossValidation v = cross_validate(data.groups, data.folds, kFolds, options);
  const Forest forest = train_forest(data.groups, {}, options);
  write_file(output, to_text(forest));
  if (as_json) {
    const nlohmann::ordered_json all = {{"records", data.records},    {"records_without_task", data.without_task},
                                        {"rows", data.rows},          {"tasks", data.groups.size()},
                                        {"judged", v.groups},         {"trees", forest.trees.size()},
                                        {"learned", json(v.learned)}, {"analytic", json(v.analytic)}};
    return std::cout << json_text(all) << "\n", 0;
  }
  fmt::print("{} records of {} tasks ({} records without their task)\n", data.rows, data.groups.size(),
             data.without_task);
  fmt::print("layers not seen      pairwise accuracy  recall  first choice / fastest\n");
  for (const auto& [who, r] : {std::pair("learned", v.learned), std::pair("analytic", v.analytic)})
    fmt::print("  {:<18} {:>17.3f} {:>7.3f} {:>23.3f}\n", who, r.pairwise_accuracy, r.recall, r.first_choice);
  fmt::print("{}: {} trees\n", output, forest.trees.size());
  return 0;
}

}  // namespace mcc
