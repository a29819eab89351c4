// Schedules without any search. In each sketch the rules prefer a choice for each knob; for those that depend on caches
// and threads (not what is inside the inner loop: the register tile has its own estimate, and unrolling further than
// the rules prefer only made code slower; nor what a rule has settled) a few rounds of descent with the analytic model
// improve it. The result is a point of the space, so the search can start from it. Falls back to simpler sketches, at
// last to plain loops, which always apply.
#include <algorithm>

#include "loop/loop_ops.h"
#include "schedule/analytic.h"
#include "schedule/sketches.h"

namespace mcc {

namespace {

constexpr int kMostEvaluations = 300;
constexpr double kWorthChanging = 0.98;

struct Scored {
  bool legal = false;
  double seconds = 0;
};

Scored score(const Task& task, const Sketch& sketch, const std::vector<int>& choices) {
  const Applied applied = mcc::apply(task.func, resolve(sketch, {0, choices}));
  if (!applied.func || !check_scheduled(*applied.func, task.target).empty()) return {};
  return {true, analytic_seconds(*applied.func, task.target)};
}

// Tries all choices of two knobs.
void descend_pair(const Task& task, const Sketch& sketch, std::pair<size_t, size_t> knobs, std::vector<int>& choices,
                  double& seconds) {
  std::vector<int> best = choices, tried = choices;
  const auto options = [&](size_t knob) { return static_cast<int>(sketch.knobs[knob].options.size()); };
  for (tried[knobs.first] = 0; tried[knobs.first] < options(knobs.first); tried[knobs.first]++) {
    for (tried[knobs.second] = 0; tried[knobs.second] < options(knobs.second); tried[knobs.second]++) {
      const Scored scored = score(task, sketch, tried);
      if (!scored.legal || scored.seconds >= seconds * kWorthChanging) continue;
      seconds = scored.seconds;
      best = tried;
    }
  }
  choices = std::move(best);
}

// Returns the seconds of what it ends with.
double descend(const Task& task, const schedule::PreferredSketch& preferred, std::vector<int>& choices,
               double seconds) {
  const Sketch& sketch = preferred.sketch;
  int evaluations = 0;
  for (const auto& pair : preferred.together) {
    if (!preferred.settled[pair.first] && !preferred.settled[pair.second])
      descend_pair(task, sketch, pair, choices, seconds);
  }
  for (int round = 0; round < 2; round++) {
    bool changed = false;
    for (size_t k = 0; k < sketch.knobs.size(); k++) {
      if (preferred.settled[k]) continue;
      const int before = choices[k];
      int best = before;
      for (int option = 0; option < static_cast<int>(sketch.knobs[k].options.size()); option++) {
        if (option == before) continue;
        if (evaluations++ >= kMostEvaluations) break;
        choices[k] = option;
        const Scored scored = score(task, sketch, choices);
        if (scored.legal && scored.seconds < seconds * kWorthChanging) {
          seconds = scored.seconds;
          best = option;
        }
      }
      choices[k] = best;
      changed = changed || best != before;
    }
    if (!changed) break;
  }
  return seconds;
}

// The first point, from the preferred one on, that is legal: one knob after the other is tried alone, the register tile
// among them.
Scored first_legal(const Task& task, const Sketch& sketch, std::vector<int>& choices) {
  const std::vector<int> preferred = choices;
  const Scored start = score(task, sketch, choices);
  if (start.legal) return start;
  for (size_t k = 0; k < sketch.knobs.size(); k++) {
    Scored best;
    for (int option = 0; option < static_cast<int>(sketch.knobs[k].options.size()); option++) {
      std::vector<int> tried = preferred;
      tried[k] = option;
      const Scored scored = score(task, sketch, tried);
      if (scored.legal && (!best.legal || scored.seconds < best.seconds)) {
        best = scored;
        choices = std::move(tried);
      }
    }
    if (best.legal) return best;
  }
  return {};
}

std::vector<Expected> expected(const Task& task, bool searched_too) {
  std::vector<Expected> all;
  for (schedule::PreferredSketch& preferred : schedule::preferred_sketches(task)) {
    const bool searched = preferred.role == schedule::Role::searched;
    if (searched && !searched_too) continue;
    if (preferred.role == schedule::Role::fallback &&
        std::any_of(all.begin(), all.end(), [](const Expected& e) { return !e.only_searched; }))
      break;
    const Scored start = first_legal(task, preferred.sketch, preferred.choices);
    if (!start.legal) continue;
    const double seconds = descend(task, preferred, preferred.choices, start.seconds);
    Trace trace = resolve(preferred.sketch, {0, preferred.choices});
    const Applied applied = mcc::apply(task.func, trace);
    if (!applied.func || !loop::verify(*applied.func).empty()) continue;
    all.push_back({preferred.sketch.rules, std::move(trace), seconds, searched, preferred.worth});
  }
  return all;
}

}  // namespace

std::vector<Expected> expected_traces(const Task& task) { return expected(task, true); }

Trace default_trace(const std::vector<Expected>& expected) {
  const Expected* best = nullptr;
  for (const Expected& e : expected) {
    if (!e.only_searched && (best == nullptr || e.seconds < best->seconds * e.worth)) best = &e;
  }
  return best == nullptr ? Trace{} : best->trace;
}

Trace default_trace(const Task& task) { return default_trace(expected(task, false)); }

}  // namespace mcc
