// The tuning run on runners that need no hardware: it gets better, keeps to its budget, goes on from its log, and copes
// with tasks and machines on which nothing works.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "costmodel/forest.h"
#include "schedule/space.h"
#include "schedule_samples.h"
#include "search/finals.h"
#include "search/task_notes.h"
#include "search/tune.h"

namespace mcc {
namespace {

Task conv_task(double weight) {
  return make_task(samples::conv({14, 14, 32, 64, 3, 1, 1}), find_target("x86-64-v3"), weight);
}
Task matmul_task(double weight) {
  return make_task(samples::matmul(32, 48, 64, true, false, true), find_target("x86-64-v3"), weight);
}

TuneResult tune_with(
    Runner& runner, const std::vector<Task>& tasks, RecordStore& log, i64 trials,
    const std::atomic<bool>* stop = nullptr,
    const std::function<void(const Progress&)>& watch = [](const Progress&) {}) {
  TuneOptions options;
  options.trials = trials;
  options.seed = 3;
  options.model = "test";
  options.stop = stop;
  const std::unique_ptr<CostModel> model = tree_model({}, 3);
  return tune(tasks, runner, *model, log, options, watch);
}

TuneResult simulate(const std::vector<Task>& tasks, RecordStore& log, i64 trials) {
  return tune_with(*simulated_runner(3), tasks, log, trials);
}

// Fails every candidate of the tasks with these keys; simulates the others.
class Broken : public Runner {
 public:
  explicit Broken(std::set<std::string> keys) : keys_(std::move(keys)) {}
  std::string name() const override { return "sim"; }
  std::vector<Result> run(const Task& task, std::span<const Trace> traces, double best_seconds) override {
    if (!keys_.contains(task.key)) return simulated_runner(3)->run(task, traces, best_seconds);
    std::vector<Result> results;
    for (size_t i = 0; i < traces.size(); i++)
      results.push_back(i % 3 == 0 ? Result{Outcome::timeout, {}, "no answer"}
                                   : Result{Outcome::crash, {}, "signal 4"});
    return results;
  }

 private:
  std::set<std::string> keys_;
};

// Somebody kills it at this task, and once in a while at any.
class Lossy : public Runner {
 public:
  explicit Lossy(std::string key) : key_(std::move(key)) {}
  std::string name() const override { return "sim"; }
  std::vector<Result> run(const Task& task, std::span<const Trace> traces, double best_seconds) override {
    std::vector<Result> results = simulated_runner(3)->run(task, traces, best_seconds);
    for (size_t i = 0; i < results.size(); i++)
      if (task.key == key_ || i % 5 == 1) results[i] = {Outcome::device_lost, {}, "signal 9"};
    return results;
  }

 private:
  std::string key_;
};

// On which one trace is ten times slower than it was.
class Sober : public Runner {
 public:
  explicit Sober(Trace slow) : slow_(std::move(slow)) {}
  std::string name() const override { return "sim"; }
  std::vector<Result> run(const Task& task, std::span<const Trace> traces, double best_seconds) override {
    std::vector<Result> results = simulated_runner(3)->run(task, traces, best_seconds);
    for (size_t i = 0; i < traces.size(); i++) {
      if (traces[i] == slow_)
        for (double& seconds : results[i].seconds) seconds *= 10;
    }
    measured = std::vector<Trace>(traces.begin(), traces.end());
    return results;
  }
  std::vector<Trace> measured;

 private:
  Trace slow_;
};

std::vector<std::string> lines(const RecordStore& log) {
  std::vector<std::string> all;
  for (const Record& record : log.all()) all.push_back(to_json_line(record));
  return all;
}

TEST(Tune, BeatsTheDefaultWithinItsBudget) {
  RecordStore log = RecordStore::in_memory();
  const TuneResult result = simulate({conv_task(1), matmul_task(1)}, log, 131);
  EXPECT_EQ(log.count(), 131);
  EXPECT_EQ(result.progress.trials, 131);
  EXPECT_TRUE(result.gave_up.empty());
  i64 trials = 0;
  double tuned = 0, untuned = 0;
  for (const TaskProgress& task : result.progress.tasks) {
    EXPECT_GT(task.default_seconds, 0);
    EXPECT_LE(task.best_seconds, task.default_seconds);
    tuned += task.best_seconds, untuned += task.default_seconds, trials += task.trials;
  }
  EXPECT_LT(tuned, untuned);
  EXPECT_EQ(trials, 131);
  EXPECT_EQ(result.progress.mistakes, 0);
}

TEST(Tune, EachPartCanBeLeftOut) {
  const Task task = conv_task(1);
  std::vector<std::vector<Trace>> first;
  for (const SearchParts& parts : {SearchParts{}, SearchParts{true, false, true, true},
                                   SearchParts{false, true, true, true}, SearchParts{true, true, true, false}}) {
    TaskSearch search(task, Rng(1), {}, parts);
    const std::unique_ptr<CostModel> model = tree_model({}, 1);
    std::vector<Trace> traces;
    for (const Proposal& p : search.propose(16, 0, *model)) traces.push_back(p.trace);
    EXPECT_EQ(traces.size(), 16);
    first.push_back(traces);
  }
  const auto has_default = [&](const std::vector<Trace>& traces) {
    return std::find(traces.begin(), traces.end(), default_trace(task)) != traces.end();
  };
  EXPECT_TRUE(has_default(first[0]));
  EXPECT_FALSE(has_default(first[1]));
  EXPECT_NE(first[0], first[2]);
  EXPECT_EQ(first[0], first[3]);  // there is nothing to transfer
}

TEST(Tune, TheLogKeepsItsTasks) {
  RecordStore log = RecordStore::in_memory();
  simulate({conv_task(1), matmul_task(1)}, log, 20);
  const std::vector<Task> noted = noted_tasks(log);
  ASSERT_EQ(noted.size(), 2);
  for (const Record& record : log.all()) {
    const auto task = std::find_if(noted.begin(), noted.end(), [&](const Task& t) { return t.key == record.task; });
    ASSERT_NE(task, noted.end());
    EXPECT_EQ(task->name, record.task_name);
    EXPECT_TRUE(mcc::apply(task->func, record.trace).func);
  }
}

TEST(Tune, MeasuresNothingTwice) {
  RecordStore log = RecordStore::in_memory();
  simulate({conv_task(1), matmul_task(1)}, log, 150);
  std::set<std::string> seen;
  for (const Record& record : log.all()) EXPECT_TRUE(seen.insert(record.task + to_string(record.trace)).second);
}

TEST(Tune, GoesOnFromItsLog) {
  RecordStore log = RecordStore::in_memory();
  const std::vector<Task> tasks = {conv_task(1), matmul_task(1)};
  const TuneResult first = simulate(tasks, log, 64);
  const std::vector<std::string> before = lines(log);
  const TuneResult second = simulate(tasks, log, 128);
  std::vector<std::string> after = lines(log);
  EXPECT_EQ(second.progress.trials, 128);
  ASSERT_EQ(after.size(), 128u);
  after.resize(before.size());
  EXPECT_EQ(after, before);
  for (size_t i = 0; i < tasks.size(); i++) {
    EXPECT_LE(second.progress.tasks[i].best_seconds, first.progress.tasks[i].best_seconds);
    EXPECT_EQ(second.progress.tasks[i].default_seconds, first.progress.tasks[i].default_seconds);
  }
  simulate(tasks, log, 128);
  EXPECT_EQ(log.count(), 128);
}

TEST(Tune, SameSeedSameLog) {
  RecordStore a = RecordStore::in_memory(), b = RecordStore::in_memory();
  simulate({conv_task(1), matmul_task(1)}, a, 96);
  simulate({conv_task(1), matmul_task(1)}, b, 96);
  EXPECT_EQ(lines(a), lines(b));
}

TEST(Tune, GivesUpEarlyAndSaysWhy) {
  RecordStore log = RecordStore::in_memory();
  const std::vector<Task> tasks = {conv_task(1), matmul_task(1)};
  Broken runner({tasks[0].key, tasks[1].key});
  const TuneResult result = tune_with(runner, tasks, log, 1000);
  EXPECT_NE(result.gave_up.find("signal 4"), std::string::npos) << result.gave_up;
  EXPECT_LE(log.count(), 100);
  EXPECT_EQ(result.progress.failures.at("crash") + result.progress.failures.at("timeout"), log.count());
  const i64 before = log.count();
  EXPECT_FALSE(tune_with(runner, tasks, log, 1000).gave_up.empty());  // a second start knows it from the log
  EXPECT_EQ(log.count(), before);
}

TEST(Tune, FewTrialsThatAllFailAreAFailureToo) {
  RecordStore log = RecordStore::in_memory();
  Broken runner({conv_task(1).key});
  EXPECT_FALSE(tune_with(runner, {conv_task(1)}, log, 8).gave_up.empty());
}

TEST(Tune, OneHopelessTaskDoesNotStopTheOthers) {
  RecordStore log = RecordStore::in_memory();
  const std::vector<Task> tasks = {conv_task(1), matmul_task(1)};
  Broken runner({tasks[0].key});
  const TuneResult result = tune_with(runner, tasks, log, 200);
  EXPECT_TRUE(result.gave_up.empty());
  EXPECT_LE(result.progress.tasks[0].trials, 96);
  EXPECT_EQ(result.progress.tasks[0].best_seconds, 0);
  EXPECT_GE(result.progress.tasks[1].trials, 100);
}

TEST(Tune, WhatIsLostIsNoRecord) {
  RecordStore log = RecordStore::in_memory();
  const std::vector<Task> tasks = {conv_task(1), matmul_task(1)};
  Lossy runner(tasks[0].key);
  const TuneResult result = tune_with(runner, tasks, log, 60);
  EXPECT_EQ(result.progress.trials, 60);
  EXPECT_EQ(log.count(), 60);
  for (const Record& r : log.all()) EXPECT_TRUE(r.task == tasks[1].key && r.result.outcome != Outcome::device_lost);
  RecordStore none = RecordStore::in_memory();
  EXPECT_NE(tune_with(runner, {tasks[0]}, none, 60).gave_up, "");
}

TEST(Tune, StopsAfterTheBatchInFlight) {
  RecordStore log = RecordStore::in_memory();
  std::atomic<bool> stop{false};
  const auto runner = simulated_runner(3);
  const TuneResult result =
      tune_with(*runner, {conv_task(1)}, log, 1000, &stop, [&](const Progress& p) { stop = p.trials > 0; });
  EXPECT_TRUE(result.interrupted);
  EXPECT_GT(log.count(), 0);
  EXPECT_LE(log.count(), 32);
  EXPECT_EQ(result.progress.trials, log.count());
}

TEST(Tune, SpendsTrialsWhereTheTimeGoes) {
  RecordStore log = RecordStore::in_memory();
  const TuneResult result = simulate({matmul_task(1), conv_task(1000)}, log, 320);
  EXPECT_GT(result.progress.tasks[1].trials, 2 * result.progress.tasks[0].trials);
}

TEST(Finals, WhoWasOnlyLuckyDoesNotLead) {
  RecordStore log = RecordStore::in_memory();
  const Task task = conv_task(1);
  simulate({task}, log, 64);
  const std::string device = device_key(task.target);
  const Record lucky = log.best(task.key, device, 1)[0];
  Sober runner(lucky.trace);
  EXPECT_EQ(run_finals({task}, runner, log, {.within = 2}), 1);
  EXPECT_NE(log.best(task.key, device, 1)[0].trace, lucky.trace);
  EXPECT_EQ(std::count(runner.measured.begin(), runner.measured.end(), default_trace(task)), FinalsOptions{}.rounds);
  EXPECT_EQ(log.count(), 64);  // finals are no further trials

  simulate({task}, log, 128);
  const std::vector<Record> all = log.of_task(task.key, device);
  const auto fastest = std::min_element(
      all.begin(), all.end(), [](const Record& a, const Record& b) { return a.result.best() < b.result.best(); });
  EXPECT_EQ(run_finals({task}, runner, log, {.within = 2}), 1);  // those found since take part
  EXPECT_EQ(std::count(runner.measured.begin(), runner.measured.end(), fastest->trace), FinalsOptions{}.rounds);
}

}  // namespace
}  // namespace mcc
