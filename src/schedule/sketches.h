// Sketches together with the choice of each knob that the rules expect to be good.
#pragma once
#include "schedule/space.h"

namespace mcc::schedule {

struct PreferredSketch {
  Sketch sketch;
  std::vector<int> choices;
};
std::vector<PreferredSketch> preferred_sketches(const Task& task);  // best expected first; the last one has no steps

}  // namespace mcc::schedule
