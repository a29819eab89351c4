#include "search/task_search.h"

#include <spdlog/spdlog.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "loop/loop_ops.h"

namespace mcc {
namespace {

constexpr i64 kDraftSamples = 384;  // random points of a first round
constexpr i64 kLaterSamples = 96;   // fresh blood of later rounds
constexpr int kGenerations = 3;
constexpr i64 kPopulation = 192;
constexpr size_t kMeasuredParents = 24;  // the fastest
constexpr size_t kScoredParents = 32;    // the best of the pool
constexpr double kCrossed = 0.25;        // share of the children with a second parent
constexpr double kMutatedTwice = 0.3;
constexpr double kBlindShare = 0.06;  // of a batch, chosen at random
constexpr i64 kDescentAfter = 96;     // measurements of a task before half of a batch is coordinate descent
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Rounds otherwise than the plain algorithm, or leaves out what it multiplies with 0.
bool changes_numerics(const Trace& trace) {
  return std::any_of(trace.begin(), trace.end(),
                     [](const Step& step) { return step.kind == StepKind::winograd || step.kind == StepKind::skip; });
}

}  // namespace

// Candidates on their way to measurement: legal, distinct as programs, unmeasured, scored.
struct TaskSearch::Pool {
  struct Entry {
    std::optional<Candidate> candidate = {};
    Trace trace = {};
    loop::Func func = {};
    double score = 0;
    bool first = false;  // goes before all others whatever its score (default, transferred)
    bool descent = false;
  };
  const TaskSearch& search;
  std::vector<Entry> entries;
  std::set<std::string> traces;
  std::set<u64> programs;
  std::vector<std::string> mistakes;  // what() of each: one of ours costs a candidate, not the run

  // Applies in parallel, keeps in order what is new and legal.
  void add(std::vector<Entry> fresh) {
    std::vector<Entry> wanted;
    for (Entry& entry : fresh) {
      const std::string text = to_string(entry.trace);
      if (search.seen_.contains(text) || !traces.insert(text).second) continue;
      wanted.push_back(std::move(entry));
    }
    std::vector<std::optional<loop::Func>> funcs(wanted.size());
    std::vector<u64> hashes(wanted.size());
    std::vector<std::string> wrong(wanted.size());
    tbb::parallel_for(size_t{0}, wanted.size(), [&](size_t i) {
      try {
        Applied applied = mcc::apply(search.task_.func, wanted[i].trace);
        if (!applied.func || !check_scheduled(*applied.func, search.task_.target).empty()) return;
        hashes[i] = hash64(loop::print(*applied.func));
        funcs[i] = std::move(*applied.func);
      } catch (const InternalError& error) {
        wrong[i] = error.what();
      }
    });
    for (size_t i = 0; i < wanted.size(); i++) {
      if (!wrong[i].empty()) mistakes.push_back(std::move(wrong[i]));
      if (!funcs[i] || !programs.insert(hashes[i]).second) continue;
      wanted[i].func = std::move(*funcs[i]);
      entries.push_back(std::move(wanted[i]));
    }
  }

  void score(CostModel& model, size_t from) {
    std::vector<Scheduled> candidates;
    for (size_t i = from; i < entries.size(); i++) candidates.push_back({&entries[i].trace, &entries[i].func});
    const std::vector<double> scores = model.score(search.task_, candidates);
    for (size_t i = from; i < entries.size(); i++) entries[i].score = scores[i - from];
  }

  Entry entry(const Candidate& candidate) const {
    return {.candidate = candidate, .trace = resolve(search.space_[at(candidate.sketch)], candidate)};
  }
};

TaskSearch::TaskSearch(Task task, Rng rng, std::vector<Trace> seeds, const SearchParts& parts)
    : task_(std::move(task)),
      rng_(rng),
      seeds_(std::move(seeds)),
      parts_(parts),
      space_(sketches(task_)),
      best_seconds_(kInfinity) {
  if (!parts_.transfer) seeds_.clear();
  if (task_.strict) std::erase_if(seeds_, changes_numerics);
  const std::vector<Expected> expected = expected_traces(task_);
  default_ = default_trace(expected);
  for (size_t i = parts_.draft ? expected.size() : 0; i-- > 0;) seeds_.insert(seeds_.begin(), expected[i].trace);
}

void TaskSearch::add(const Trace& trace, const Result& result) {
  seen_.insert(to_string(trace));
  const double seconds = result.outcome == Outcome::ok ? result.best() : kInfinity;
  if (result.outcome != Outcome::ok) failed_++;
  measured_.push_back({trace, seconds, find_candidate(space_, trace)});
  if (trace == default_ && std::isfinite(seconds)) default_seconds_ = seconds;
  if (seconds < best_seconds_) {
    best_seconds_ = seconds;
    best_ = trace;
  }
  history_.push_back(best_seconds_);
}

std::vector<const TaskSearch::Measured*> TaskSearch::fastest(size_t n) const {
  std::vector<const Measured*> order;
  for (const Measured& m : measured_) {
    if (std::isfinite(m.seconds)) order.push_back(&m);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Measured* a, const Measured* b) { return a->seconds < b->seconds; });
  order.resize(std::min(n, order.size()));
  return order;
}

void TaskSearch::add_seeds(Pool& pool) const {
  std::vector<Pool::Entry> fresh;
  const auto add_first = [&](const Trace& trace) {
    fresh.push_back({.candidate = find_candidate(space_, trace), .trace = trace, .first = true});
  };
  if (parts_.draft) add_first(default_);
  for (const Trace& seed : seeds_) add_first(seed);
  pool.add(std::move(fresh));
}

void TaskSearch::add_draft(Pool& pool, i64 samples, Rng& rng) const {
  std::vector<Pool::Entry> fresh;
  for (i64 i = 0; i < samples; i++) {
    Rng own = rng.fork(static_cast<u64>(i));
    fresh.push_back(pool.entry(random_candidate(space_, own)));
  }
  pool.add(std::move(fresh));
}

void TaskSearch::add_descent(Pool& pool) const {
  std::vector<Pool::Entry> fresh;
  for (const Measured* m : fastest(3)) {
    if (!m->candidate) continue;
    for (const Candidate& neighbour : neighbours(space_, *m->candidate)) {
      fresh.push_back(pool.entry(neighbour));
      fresh.back().descent = true;
    }
  }
  pool.add(std::move(fresh));
}

// Mutation and crossover of the fastest measured and the best scored, for a few generations.
void TaskSearch::evolve(Pool& pool, CostModel& model, Rng& rng) const {
  std::vector<Candidate> parents;
  for (const Measured* m : fastest(kMeasuredParents)) {
    if (m->candidate) parents.push_back(*m->candidate);
  }
  for (int generation = 0; generation < kGenerations; generation++) {
    std::vector<size_t> order(pool.entries.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return pool.entries[a].score > pool.entries[b].score; });
    std::vector<Candidate> breeding = parents;
    for (size_t i = 0; i < order.size() && breeding.size() < parents.size() + kScoredParents; i++) {
      if (pool.entries[order[i]].candidate) breeding.push_back(*pool.entries[order[i]].candidate);
    }
    if (breeding.empty()) return;
    std::vector<Pool::Entry> fresh;
    for (i64 i = 0; i < kPopulation; i++) {
      Rng own = rng.fork(static_cast<u64>(generation * kPopulation + i));
      Candidate child = own.pick(breeding);
      if (own.uniform() < kCrossed) {
        if (auto crossed = crossover(space_, child, own.pick(breeding), own)) child = *crossed;
      }
      child = mutate(space_, child, own);
      if (own.uniform() < kMutatedTwice) child = mutate(space_, child, own);
      fresh.push_back(pool.entry(child));
    }
    const size_t before = pool.entries.size();
    pool.add(std::move(fresh));
    pool.score(model, before);
  }
}

std::vector<Proposal> TaskSearch::propose(i64 n, i64 round, CostModel& model) {
  Rng rng = rng_.fork(static_cast<u64>(round));
  Pool pool{*this, {}, {}, {}, {}};
  Rng draft_rng = rng.fork(1), evolve_rng = rng.fork(2), blind_rng = rng.fork(3);
  if (measured_.empty()) add_seeds(pool);
  const bool descend = parts_.descent && trials() >= kDescentAfter;
  if (descend) add_descent(pool);
  const i64 samples = measured_.empty() ? kDraftSamples : kLaterSamples;
  add_draft(pool, parts_.draft ? samples : 2 * n, draft_rng);
  pool.score(model, 0);
  if (parts_.evolution && (parts_.draft || !measured_.empty())) evolve(pool, model, evolve_rng);
  if (!pool.mistakes.empty() && mistakes_ == 0)
    spdlog::warn("{}: a candidate is left out: {}", task_.name, pool.mistakes[0]);
  mistakes_ += static_cast<i64>(pool.mistakes.size());

  std::vector<size_t> order(pool.entries.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto &x = pool.entries[a], &y = pool.entries[b];
    return x.first != y.first ? x.first : x.score > y.score;
  });
  std::vector<Proposal> chosen;
  std::vector<bool> taken(order.size());
  auto take = [&](size_t at, bool blind) {
    if (taken[at] || static_cast<i64>(chosen.size()) >= n) return;
    taken[at] = true;
    Pool::Entry& entry = pool.entries[at];
    chosen.push_back({entry.trace, std::move(entry.func), entry.score, blind});
  };
  for (const size_t at : order) {
    if (pool.entries[at].first) take(at, true);
  }
  const i64 blind = std::max<i64>(1, std::llround(kBlindShare * static_cast<double>(n)));
  const i64 descent = descend ? n / 2 : 0;
  i64 descents = 0;
  for (const size_t at : order) {
    if (pool.entries[at].descent && descents < descent) {
      take(at, false);
      descents++;
    }
  }
  for (const size_t at : order) {
    if (static_cast<i64>(chosen.size()) < n - blind) take(at, false);
  }
  for (i64 tries = 0; tries < 4 * n && static_cast<i64>(chosen.size()) < n && !order.empty(); tries++) {
    take(static_cast<size_t>(blind_rng.below(static_cast<i64>(order.size()))), true);
  }
  for (const size_t at : order) take(at, false);
  exhausted_ = static_cast<i64>(chosen.size()) < n;
  return chosen;
}

}  // namespace mcc
