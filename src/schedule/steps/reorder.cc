// reorder BLOCK LOOPS..: the named loops take, in the order named, the places that they hold together. Of one axis the
// loop of larger chunks stays outside, and one with a lane (rfactor) inside of those without.
#include <algorithm>

#include "schedule/steps.h"

namespace mcc::schedule {

Reason step_reorder(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "reorder"); !why.empty()) return why;
  Stage& stage = state.stage(find_stage(state, step.block));
  std::vector<size_t> places;
  for (const std::string& name : step.loops) {
    const int at = find_loop(stage, name);
    if (at < 0) return fmt::format("reorder: block {} has no loop {}", step.block, name);
    places.push_back(static_cast<size_t>(at));
  }
  std::vector<LoopSpec> moved;
  for (size_t place : places) moved.push_back(stage.loops[place]);
  std::sort(places.begin(), places.end());
  if (std::adjacent_find(places.begin(), places.end()) != places.end()) return "reorder: a loop is named twice";
  for (size_t i = 0; i < places.size(); i++) stage.loops[places[i]] = moved[i];
  for (size_t i = 0; i < stage.loops.size(); i++) {
    for (size_t j = i + 1; j < stage.loops.size(); j++) {
      const LoopSpec &outer = stage.loops[i], &inner = stage.loops[j];
      const bool lane_leaves = outer.lane >= 0 && inner.lane < 0;
      if (outer.axis == inner.axis && (outer.chunk < inner.chunk || lane_leaves)) {
        return fmt::format("reorder: {} must stay inside {}", outer.name, inner.name);
      }
    }
  }
  return "";
}

}  // namespace mcc::schedule
