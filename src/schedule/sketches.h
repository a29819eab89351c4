// Sketches together with the choice of each knob that the rules expect to be good.
#pragma once
#include "schedule/space.h"

namespace mcc::schedule {

enum class Role : u8 {
  usual,     // may become the default
  searched,  // only a search tries it: the analytic model is no judge of it
  fallback   // never better than those before it, unless none of them applies
};

// To become the default, a sketch must be expected to take at most this share of the time of those before it.
constexpr double kWorthAnotherAlgorithm = 0.9;

struct PreferredSketch {
  Sketch sketch;
  std::vector<int> choices;
  std::vector<bool> settled;  // knobs whose choice is not for the analytic model to change
  Role role = Role::usual;
  std::vector<std::pair<size_t, size_t>> together;  // knobs of which a change of both can help where neither does alone
  double worth = kWorthAnotherAlgorithm;
};
// Best expected first; the last one has no steps. Rules that write an illegal step are a mistake of ours, but no reason
// to end a run: their sketch is left out, with one warning for each kind of sketch, and `failures` tells why.
std::vector<PreferredSketch> preferred_sketches(const Task& task, std::vector<std::string>* failures = nullptr);

}  // namespace mcc::schedule
