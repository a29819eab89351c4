// share BLOCK LOOP [n]: a loop over tiles becomes one over shares of n elements of its axis, and one over the tiles in
// a share. Unlike those of split, shares need not be whole tiles: each ends with a narrower one, so several threads get
// the same number of elements.
#include <algorithm>

#include "schedule/steps.h"

namespace mcc::schedule {

Reason step_share(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "share"); !why.empty()) return why;
  Stage& stage = state.stage(find_stage(state, step.block));
  const int found = find_loop(stage, step.loops.at(0));
  if (found < 0) return fmt::format("share: block {} has no loop {}", step.block, step.loops[0]);
  if (Reason why = hosts_others(state, find_stage(state, step.block), "share"); !why.empty()) return why;
  LoopSpec& tiles = stage.loops[at(found)];
  LoopSpec shares = tiles;
  const auto holds_less = [&](const LoopSpec& outer) {
    return &outer < &tiles && outer.axis == tiles.axis && outer.chunk <= step.ints[0];
  };
  if (step.ints.size() != 1 || step.ints[0] <= tiles.chunk || step.ints[0] > i64{1} << 40 ||
      std::any_of(stage.loops.begin(), stage.loops.end(), holds_less))
    return fmt::format("share: {} cannot be shared out so", tiles.name);
  shares.chunk = step.ints[0];
  shares.name = tiles.name + ".0";
  tiles.name += ".1";
  stage.loops.insert(stage.loops.begin() + found, std::move(shares));
  return "";
}

}  // namespace mcc::schedule
