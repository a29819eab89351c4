// The run: choose a task, propose a batch, measure it, write it down, learn from it, again. The log is the only state:
// started again, the run reads what is there, counts it, and goes on.
#include "search/tune.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include "base/deadline.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "base/version.h"
#include "search/task_notes.h"
#include "search/task_scheduler.h"
#include "search/task_search.h"

namespace mcc {
namespace {

constexpr i64 kHopeless = 48;  // a task whose first so many candidates all failed is closed; a run with no others ends
constexpr int kMostLost = 2;   // batches of a task that came to nothing because the device was lost; then it is closed
constexpr int kTransferred = 6;  // traces of each similar task that are tried first
constexpr int kRecallAt = 30;
constexpr double kSlowPace = 6;  // trials a second, until the first batch tells: that of large kernels

std::string utc_now() {
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&t, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// Tasks are tried as alike when their names begin with the same operator: the structure of a trace then often fits,
// whatever the extents; where it does not, apply() refuses it.
std::string family(const std::string& task_name) { return task_name.substr(0, task_name.find(' ')); }

double seconds_of(const Result& result) {
  return result.outcome == Outcome::ok ? result.best() : std::numeric_limits<double>::infinity();
}

// Without a device nothing was learned about a candidate: it is no trial, and may be proposed again.
void drop_lost(std::vector<Proposal>& proposals, std::vector<Result>& results) {
  size_t kept = 0;
  for (size_t i = 0; i < results.size(); i++) {
    if (results[i].outcome == Outcome::device_lost) continue;
    if (kept != i) {
      proposals[kept] = std::move(proposals[i]);
      results[kept] = std::move(results[i]);
    }
    kept++;
  }
  proposals.resize(kept);
  results.resize(kept);
}

// All state of one run.
class Run {
 public:
  Run(const std::vector<Task>& tasks, Runner& runner, CostModel& model, RecordStore& log, const TuneOptions& options)
      : runner_(runner),
        model_(model),
        log_(log),
        options_(options),
        closed_(tasks.size()),
        rounds_(tasks.size()),
        lost_(tasks.size()),
        deadline_(options.time_budget_s) {
    read_log(tasks);
  }

  TuneResult go(const std::function<void(const Progress&)>& on_progress);

 private:
  void read_log(const std::vector<Task>& tasks);
  void teach(size_t task, const std::vector<Record>& records);
  void teach_batch(size_t task, std::span<const Record> batch);
  bool out_of_budget() const;
  i64 affordable(i64 size) const;
  void batch(size_t at, i64 size);
  void note_quality(const std::vector<Proposal>& proposals, const std::vector<double>& seconds, const Task& task);
  Record record_of(const Task& task, const Proposal& proposal, Result result, i64 round) const;
  void count(const Result& result);
  void close_if_hopeless(size_t at);
  bool nothing_works() const;
  Progress progress() const;

  Runner& runner_;
  CostModel& model_;
  RecordStore& log_;
  const TuneOptions& options_;
  std::vector<TaskSearch> searches_;
  std::vector<bool> closed_;
  std::vector<i64> rounds_;  // batches of each task so far
  std::vector<int> lost_;    // of these: batches without a device
  i64 trials_ = 0;
  i64 measured_now_ = 0;  // trials that were not in the log already
  std::map<std::string, i64> failures_;
  std::map<std::string, i64> reasons_;  // notes of failures -> count, for the advice when all fail
  RankQuality quality_;
  int current_ = -1;
  Deadline deadline_;
  double proposing_ = 0;  // seconds
};

void Run::read_log(const std::vector<Task>& tasks) {
  // Best traces of each family, for transfer; and each task's own records.
  std::map<std::string, std::vector<Trace>> by_family;
  std::map<std::string, std::vector<std::pair<double, Trace>>> bests;
  const std::vector<Record> all = log_.all();
  for (const Record& r : all) {
    if (r.result.outcome == Outcome::ok)
      bests[family(r.task_name) + "\n" + r.task].emplace_back(r.result.best(), r.trace);
  }
  for (auto& [key, list] : bests) {
    std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    auto& into = by_family[key.substr(0, key.find('\n'))];
    for (size_t i = 0; i < std::min<size_t>(2, list.size()); i++) into.push_back(list[i].second);
  }
  put_tasks(log_, tasks);
  for (size_t i = 0; i < tasks.size(); i++) {
    std::vector<Trace> seeds = by_family[family(tasks[i].name)];
    if (seeds.size() > kTransferred) seeds.resize(kTransferred);
    searches_.emplace_back(tasks[i], Rng(options_.seed).fork(hash64(tasks[i].key)), std::move(seeds), options_.parts);
    std::vector<Record> own;
    const std::string device = device_key(tasks[i].target);
    for (const Record& r : all) {
      if (r.task == tasks[i].key && r.device == device) own.push_back(r);
    }
    teach(i, own);
    close_if_hopeless(i);
  }
}

void Run::count(const Result& result) {
  trials_++;
  if (result.outcome != Outcome::ok) {
    failures_[std::string(name(result.outcome))]++;
    reasons_[result.note]++;
  }
}

void Run::teach(size_t at, const std::vector<Record>& records) {
  for (const Record& r : records) {
    searches_[at].add(r.trace, r.result);
    if (r.seed == options_.seed && r.model == options_.model) {
      count(r.result);
      rounds_[at] = std::max(rounds_[at], r.round + 1);
    }
  }
  const auto same_batch = [](const Record& a, const Record& b) {
    return a.model == b.model && a.seed == b.seed && a.round == b.round;
  };
  for (size_t from = 0, to = 0; from < records.size(); from = to) {
    while (to < records.size() && same_batch(records[from], records[to])) to++;
    teach_batch(at, std::span(records).subspan(from, to - from));
  }
}

void Run::teach_batch(size_t at, std::span<const Record> batch) {
  std::vector<loop::Func> funcs;
  std::vector<const Record*> applied;
  for (const Record& r : batch) {
    Applied result = mcc::apply(searches_[at].task().func, r.trace);
    if (result.func) {
      funcs.push_back(std::move(*result.func));
      applied.push_back(&r);
    }
  }
  std::vector<Scheduled> candidates;
  std::vector<double> seconds;
  for (size_t i = 0; i < funcs.size(); i++) {
    candidates.push_back({&applied[i]->trace, &funcs[i]});
    seconds.push_back(seconds_of(applied[i]->result));
  }
  if (!candidates.empty()) model_.update(searches_[at].task(), candidates, seconds);
}

bool Run::out_of_budget() const {
  if (trials_ >= options_.trials) return true;
  return deadline_.left() <= 0;
}

// A batch that ends with the trials and, at the pace so far, with the time.
i64 Run::affordable(i64 size) const {
  size = std::min(size, options_.trials - trials_);
  if (options_.time_budget_s <= 0) return size;
  const double pace = measured_now_ > 0 ? static_cast<double>(measured_now_) / deadline_.elapsed() : kSlowPace;
  return std::clamp<i64>(static_cast<i64>(pace * deadline_.left()), 1, size);
}

Record Run::record_of(const Task& task, const Proposal& proposal, Result result, i64 round) const {
  Record record;
  record.task = task.key;
  record.task_name = task.name;
  record.device = device_key(task.target);
  record.trace = proposal.trace;
  record.result = std::move(result);
  record.model = options_.model;
  record.seed = options_.seed;
  record.round = round;
  record.when = runner_.name() == "sim" ? "" : utc_now();
  record.mcc = kVersion;
  record.id = hash_hex(join(std::vector<std::string>{record.task, record.device, to_string(record.trace), record.model,
                                                     std::to_string(record.seed)},
                            "|"));
  return record;
}

void Run::note_quality(const std::vector<Proposal>& proposals, const std::vector<double>& seconds, const Task& task) {
  std::vector<double> scores, measured;
  for (size_t i = 0; i < proposals.size(); i++) {
    scores.push_back(proposals[i].score);
    measured.push_back(seconds[i]);
  }
  quality_ = rank_quality(scores, measured, std::min<int>(kRecallAt, static_cast<int>(scores.size()) / 2));
  const nlohmann::ordered_json json = {{"task", task.name},
                                       {"model", options_.model},
                                       {"seed", options_.seed},
                                       {"trials", trials_},
                                       {"batch", scores.size()},
                                       {"pairs", quality_.pairs},
                                       {"pairwise_accuracy", quality_.pairwise_accuracy},
                                       {"recall", quality_.recall_at_k}};
  log_.put_notes("quality", {{fmt::format("{}|{}|{:08}", options_.model, options_.seed, trials_), json_text(json)}});
}

void Run::batch(size_t at, i64 size) {
  TaskSearch& search = searches_[at];
  const i64 round = rounds_[at]++;
  const double start = deadline_.elapsed();
  std::vector<Proposal> proposals = search.propose(size, round, model_);
  proposing_ += deadline_.elapsed() - start;
  if (proposals.empty()) return;
  std::vector<Trace> traces;
  for (const Proposal& p : proposals) traces.push_back(p.trace);
  std::vector<Result> results = runner_.run(search.task(), traces, search.best_seconds());
  drop_lost(proposals, results);
  if (proposals.empty()) {
    closed_[at] = ++lost_[at] == kMostLost;
    return;
  }
  std::vector<Record> records;
  std::vector<Scheduled> candidates;
  std::vector<double> seconds;
  for (size_t i = 0; i < proposals.size(); i++) {
    records.push_back(record_of(search.task(), proposals[i], results[i], round));
    candidates.push_back({&proposals[i].trace, &proposals[i].func});
    seconds.push_back(seconds_of(results[i]));
  }
  log_.append(records);
  measured_now_ += static_cast<i64>(records.size());
  for (size_t i = 0; i < proposals.size(); i++) {
    search.add(proposals[i].trace, results[i]);
    count(results[i]);
  }
  if (round > 0) note_quality(proposals, seconds, search.task());
  model_.update(search.task(), candidates, seconds);
  close_if_hopeless(at);
}

void Run::close_if_hopeless(size_t at) {
  const TaskSearch& search = searches_[at];
  if (search.trials() >= kHopeless && search.failed() == search.trials()) closed_[at] = true;
}

// Every task was tried, and not one candidate worked.
bool Run::nothing_works() const {
  return std::all_of(searches_.begin(), searches_.end(),
                     [](const TaskSearch& s) { return s.trials() > 0 && std::isinf(s.best_seconds()); });
}

Progress Run::progress() const {
  Progress p;
  for (const TaskSearch& s : searches_) {
    const bool any = std::isfinite(s.best_seconds());
    p.tasks.push_back({s.task().key, s.task().name, s.task().weight, s.task().flops, s.trials(), s.failed(),
                       s.default_seconds(), any ? s.best_seconds() : 0, s.best()});
  }
  for (const TaskSearch& s : searches_) p.mistakes += s.mistakes();
  p.trials = trials_;
  p.trials_total = options_.trials;
  p.measured = measured_now_;
  p.failures = failures_;
  p.seconds = deadline_.elapsed();
  p.seconds_left = deadline_.left();
  p.proposing = proposing_;
  p.runner = runner_.time;
  p.last_round = quality_;
  p.current_task = current_;
  return p;
}

TuneResult Run::go(const std::function<void(const Progress&)>& on_progress) {
  TuneResult result;
  const i64 tasks = std::max<i64>(1, static_cast<i64>(searches_.size()));
  const i64 size = std::clamp<i64>(options_.trials / (2 * tasks), std::min<i64>(8, options_.batch), options_.batch);
  on_progress(progress());
  while (!out_of_budget()) {
    if (options_.stop != nullptr && options_.stop->load()) {
      result.interrupted = true;
      break;
    }
    if (trials_ >= kHopeless && nothing_works()) break;
    current_ = next_task(searches_, closed_, size);
    if (current_ < 0) break;
    batch(static_cast<size_t>(current_), affordable(size));
    on_progress(progress());
  }
  current_ = -1;
  result.progress = progress();
  if (!result.interrupted && !reasons_.empty() && nothing_works()) {
    const auto most = std::max_element(reasons_.begin(), reasons_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    result.gave_up = fmt::format("every candidate failed; most often ({} times): {}", most->second, most->first);
  }
  if (!result.interrupted && trials_ == 0 && std::find(lost_.begin(), lost_.end(), kMostLost) != lost_.end())
    result.gave_up = "the measuring process is killed each time; is there enough memory?";
  return result;
}

}  // namespace

TuneResult tune(const std::vector<Task>& tasks, Runner& runner, CostModel& model, RecordStore& log,
                const TuneOptions& options, const std::function<void(const Progress&)>& on_progress) {
  return Run(tasks, runner, model, log, options).go(on_progress);
}

}  // namespace mcc
