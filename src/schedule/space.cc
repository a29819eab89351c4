// Moving around in the space of schedules: candidates are choices of knobs, so everything here is counting and
// indexing.
#include "schedule/space.h"

#include <algorithm>
#include <cmath>

#include "schedule/sketches.h"

namespace mcc {

std::vector<Sketch> sketches(const Task& task) {
  std::vector<Sketch> space;
  for (schedule::PreferredSketch& p : schedule::preferred_sketches(task)) space.push_back(std::move(p.sketch));
  return space;
}

static double size_of_sketch(const Sketch& sketch) {
  double size = 1;
  for (const Knob& knob : sketch.knobs) size *= static_cast<double>(knob.options.size());
  return size;
}

double space_size(const std::vector<Sketch>& space) {
  double size = 0;
  for (const Sketch& sketch : space) size += size_of_sketch(sketch);
  return size;
}

Trace resolve(const Sketch& sketch, const Candidate& candidate) {
  Trace trace;
  for (const OpenStep& open : sketch.steps) {
    const size_t choice = open.knob < 0 ? 0 : static_cast<size_t>(candidate.choices.at(static_cast<size_t>(open.knob)));
    const std::vector<Step>& steps = open.alternatives.at(choice);
    trace.insert(trace.end(), steps.begin(), steps.end());
  }
  return trace;
}

// Sketches are drawn by the logarithm of their size: small ones are exhausted quickly, large ones need more samples.
Candidate random_candidate(const std::vector<Sketch>& space, Rng& rng) {
  std::vector<double> weights;
  double total = 0;
  for (const Sketch& sketch : space) {
    weights.push_back(0.1 + std::log2(size_of_sketch(sketch)));
    total += weights.back();
  }
  double left = rng.uniform() * total;
  int chosen = 0;
  while (chosen + 1 < static_cast<int>(space.size()) && left >= weights[at(chosen)]) left -= weights[at(chosen++)];
  Candidate candidate{chosen, {}};
  for (const Knob& knob : space[at(chosen)].knobs) {
    candidate.choices.push_back(static_cast<int>(rng.below(static_cast<i64>(knob.options.size()))));
  }
  return candidate;
}

// Half the mutations go to a neighbouring option, half anywhere. A sketch without knobs has only itself.
Candidate mutate(const std::vector<Sketch>& space, const Candidate& from, Rng& rng) {
  const Sketch& sketch = space[at(from.sketch)];
  Candidate to = from;
  if (sketch.knobs.empty()) return random_candidate(space, rng);
  const size_t k = static_cast<size_t>(rng.below(static_cast<i64>(sketch.knobs.size())));
  const int count = static_cast<int>(sketch.knobs[k].options.size());
  if (rng.below(2) == 0) {
    const int step = rng.below(2) == 0 ? 1 : -1;
    const int next = to.choices[k] + step;
    to.choices[k] = next < 0 || next >= count ? to.choices[k] - step : next;
  } else {
    const int other = static_cast<int>(rng.below(count - 1));
    to.choices[k] = other + (other >= to.choices[k] ? 1 : 0);
  }
  return to;
}

std::optional<Candidate> crossover(const std::vector<Sketch>&, const Candidate& a, const Candidate& b, Rng& rng) {
  if (a.sketch != b.sketch) return std::nullopt;
  Candidate child = a;
  for (size_t k = 0; k < child.choices.size(); k++) {
    if (rng.below(2) == 0) child.choices[k] = b.choices[k];
  }
  return child;
}

std::vector<Candidate> neighbours(const std::vector<Sketch>& space, const Candidate& from) {
  std::vector<Candidate> all;
  const Sketch& sketch = space[at(from.sketch)];
  for (size_t k = 0; k < sketch.knobs.size(); k++) {
    for (int step : {-1, 1}) {
      Candidate next = from;
      next.choices[k] += step;
      if (next.choices[k] >= 0 && next.choices[k] < static_cast<int>(sketch.knobs[k].options.size()))
        all.push_back(std::move(next));
    }
  }
  return all;
}

namespace {

// Depth first over the open steps: alternatives that continue the trace at `at`.
bool match(const Sketch& sketch, const Trace& trace, size_t open, size_t place, std::vector<int>& choices) {
  if (open == sketch.steps.size()) return place == trace.size();
  const OpenStep& step = sketch.steps[open];
  for (size_t a = 0; a < step.alternatives.size(); a++) {
    const std::vector<Step>& steps = step.alternatives[a];
    if (place + steps.size() > trace.size() ||
        !std::equal(steps.begin(), steps.end(), trace.begin() + static_cast<std::ptrdiff_t>(place)))
      continue;
    int* chosen = step.knob < 0 ? nullptr : &choices[at(step.knob)];
    if (chosen && *chosen >= 0 && *chosen != static_cast<int>(a)) continue;
    const int before = chosen ? *chosen : 0;
    if (chosen) *chosen = static_cast<int>(a);
    if (match(sketch, trace, open + 1, place + steps.size(), choices)) return true;
    if (chosen) *chosen = before;
  }
  return false;
}

// How far apart two steps of one kind on one block and loop are: in their numbers. Infinite if they are not of one
// form.
double distance(const Step& a, const Step& b) {
  if (a.kind != b.kind || a.block != b.block || a.loops != b.loops || a.ints.size() != b.ints.size()) return 1e9;
  double sum = 0;
  for (size_t i = 0; i < a.ints.size(); i++)
    sum += std::abs(std::log2(static_cast<double>(a.ints[i]) + 1) - std::log2(static_cast<double>(b.ints[i]) + 1));
  return sum;
}

double distance(const std::vector<Step>& steps, const Trace& trace) {
  double sum = 0;
  for (const Step& step : steps) {
    double nearest = 8;  // a step that the trace lacks
    for (const Step& other : trace) nearest = std::min(nearest, distance(step, other));
    sum += nearest;
  }
  return sum;
}

std::vector<std::pair<StepKind, std::string>> structure(const Trace& trace) {
  std::vector<std::pair<StepKind, std::string>> parts;
  for (const Step& step : trace) {
    if (step.kind == StepKind::split || step.kind == StepKind::cache_write || step.kind == StepKind::rfactor ||
        step.kind == StepKind::parts || step.kind == StepKind::cache_access || step.kind == StepKind::strips ||
        step.kind == StepKind::skip)
      parts.emplace_back(step.kind, step.block);
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

}  // namespace

std::optional<Candidate> find_candidate(const std::vector<Sketch>& space, const Trace& trace) {
  for (size_t s = 0; s < space.size(); s++) {
    std::vector<int> choices(space[s].knobs.size(), -1);
    if (match(space[s], trace, 0, 0, choices)) {
      for (int& c : choices) c = std::max(c, 0);
      return Candidate{static_cast<int>(s), std::move(choices)};
    }
  }
  std::optional<Candidate> nearest;
  double nearest_distance = 0;
  for (size_t s = 0; s < space.size(); s++) {
    const Sketch& sketch = space[s];
    Candidate candidate{static_cast<int>(s), std::vector<int>(sketch.knobs.size(), 0)};
    std::vector<double> best(sketch.knobs.size(), 1e300);
    for (const OpenStep& open : sketch.steps) {
      if (open.knob < 0) continue;
      const size_t k = static_cast<size_t>(open.knob);
      for (size_t a = 0; a < open.alternatives.size(); a++) {
        const double d = distance(open.alternatives[a], trace);
        if (d < best[k]) {
          best[k] = d;
          candidate.choices[k] = static_cast<int>(a);
        }
      }
    }
    const Trace resolved = resolve(sketch, candidate);
    if (structure(resolved) != structure(trace)) continue;
    const double d = distance(resolved, trace);
    if (!nearest || d < nearest_distance) {
      nearest = candidate;
      nearest_distance = d;
    }
  }
  return nearest;
}

}  // namespace mcc
