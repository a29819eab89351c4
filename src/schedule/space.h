// The space of schedules of a task. Rules (schedule/rules/) look at the Func's blocks and write sketches: lists of
// steps whose numbers are open knobs. Decisions live beside the steps, so a mutation is "change one knob" and the space
// can be counted.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "schedule/task.h"
#include "schedule/trace.h"

namespace mcc {

// A decision. Its value is an index into `options` (numeric meaning: tile sizes in ascending order, depths, ...; for
// the choice of alternatives 0..n-1). Neighbouring options are similar, which is what coordinate descent moves along.
struct Knob {
  std::string name;  // "conv register tile", "conv m cache"
  std::vector<i64> options;
  bool operator==(const Knob&) const = default;
};

// Steps that a knob decides: alternatives[value], each a list of steps, perhaps empty. Without a knob (-1) always
// alternatives[0].
struct OpenStep {
  int knob = -1;
  std::vector<std::vector<Step>> alternatives;
};

struct Sketch {
  std::string rules;  // which rules made it: "tile+pack", "tile+compute_at pad", "rowwise"
  std::vector<OpenStep> steps;
  std::vector<Knob> knobs;
};

struct Candidate {
  int sketch = 0;
  std::vector<int> choices;  // one index for each knob of the sketch
  bool operator==(const Candidate&) const = default;
};

std::vector<Sketch> sketches(const Task& task);       // at least one; deterministic
double space_size(const std::vector<Sketch>& space);  // number of candidates
Trace resolve(const Sketch& sketch, const Candidate& candidate);

Candidate random_candidate(const std::vector<Sketch>& space, Rng& rng);
Candidate mutate(const std::vector<Sketch>& space, const Candidate& from, Rng& rng);  // one knob changed
// Of one sketch only.
std::optional<Candidate> crossover(const std::vector<Sketch>& space, const Candidate& a, const Candidate& b, Rng& rng);
// One knob, one option away.
std::vector<Candidate> neighbours(const std::vector<Sketch>& space, const Candidate& from);
// The candidate of this space whose trace equals (else is nearest to) a logged trace; nothing if the sketch structure
// differs.
std::optional<Candidate> find_candidate(const std::vector<Sketch>& space, const Trace& trace);

// The point of each sketch that is expected to be its best, and the analytic model's estimate; at least one. Sketches
// that others are never worse than are left out.
struct Expected {
  std::string rules;
  Trace trace;
  double seconds = 0;
  bool only_searched = false;  // never the default
  double worth = 1;            // the default only if it takes at most this share of the time of the best before it
};
std::vector<Expected> expected_traces(const Task& task);

// Good without any search: what an untuned compile ships. Always applies. The choice among the expected traces.
Trace default_trace(const Task& task);
Trace default_trace(const std::vector<Expected>& expected);

// Checks of a scheduled Func against the target, before any compile: registers, code size after unrolling, local
// memory. "" or why not.
std::string check_scheduled(const loop::Func& func, const Target& target);

}  // namespace mcc
