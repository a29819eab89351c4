// The search of one task: what has been measured, and what to measure next. Proposals come from a draft (many random
// points scored by the model), from evolution of the measured ones, from coordinate descent around the best, and a few
// blindly at random.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "costmodel/cost_model.h"
#include "records/record.h"
#include "schedule/space.h"
#include "schedule/task.h"

namespace mcc {

struct Proposal {
  Trace trace;
  loop::Func func;     // scheduled
  double score = 0;    // of the cost model when it was chosen
  bool blind = false;  // chosen at random: its score says nothing about the model's taste
};

// What a search is made of; each part can be left out, to see what it is worth (bench/ablation.py).
struct SearchParts {
  bool evolution = true;  // mutation and crossover
  bool draft = true;     // the expected best of each sketch, and many random points ranked before the first measurement
  bool descent = true;   // one knob, one option away from the fastest
  bool transfer = true;  // traces of similar tasks
};

class TaskSearch {
 public:
  // `seeds`: traces of similar tasks from the log, to try first. The expected best of each sketch come by themselves.
  TaskSearch(Task task, Rng rng, std::vector<Trace> seeds, const SearchParts& parts = {});

  const Task& task() const { return task_; }
  // Up to n distinct, legal, unmeasured candidates; fewer when the space is nearly exhausted. Deterministic in (rng,
  // round, what was added).
  std::vector<Proposal> propose(i64 n, i64 round, CostModel& model);
  // A measurement, from this run or from the log.
  void add(const Trace& trace, const Result& result);

  i64 trials() const { return static_cast<i64>(measured_.size()); }
  i64 failed() const { return failed_; }
  i64 mistakes() const { return mistakes_; }  // candidates that apply() failed on, instead of refusing them
  double best_seconds() const { return best_seconds_; }
  const Trace& best() const { return best_; }
  double default_seconds() const { return default_seconds_; }
  bool exhausted() const { return exhausted_; }
  const std::vector<double>& history() const { return history_; }  // best after each measurement

 private:
  struct Measured {
    Trace trace;
    double seconds;
    std::optional<Candidate> candidate;  // its place in the space, if it has one
  };
  struct Pool;
  void add_seeds(Pool& pool) const;
  void add_draft(Pool& pool, i64 samples, Rng& rng) const;
  void add_descent(Pool& pool) const;
  void evolve(Pool& pool, CostModel& model, Rng& rng) const;
  std::vector<const Measured*> fastest(size_t n) const;

  Task task_;
  Rng rng_;
  std::vector<Trace> seeds_;
  SearchParts parts_;
  std::vector<Sketch> space_;
  Trace default_;
  std::vector<Measured> measured_;
  std::set<std::string> seen_;  // traces measured or known to be equal to a measured one
  std::vector<double> history_;
  double best_seconds_, default_seconds_ = 0;
  Trace best_;
  i64 failed_ = 0, mistakes_ = 0;
  bool exhausted_ = false;
};

}  // namespace mcc
