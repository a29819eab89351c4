// Sketches together with the choice of each knob that the rules expect to be good.
#pragma once
#include "schedule/space.h"

namespace mcc::schedule {

struct PreferredSketch {
  Sketch sketch;
  std::vector<int> choices;
  std::vector<bool> settled;  // knobs whose choice is not for the analytic model to change
  bool fallback = false;      // never better than those before it, unless none of them applies
};
std::vector<PreferredSketch> preferred_sketches(const Task& task);  // best expected first; the last one has no steps

}  // namespace mcc::schedule
