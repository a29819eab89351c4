// share BLOCK LOOP [n]: a loop over tiles becomes one over shares of n elements of its axis, and one over the tiles in
// a share. Unlike those of split, shares need not be whole tiles: each ends with a narrower one, so several threads get
// the same number of elements.
#include <algorithm>

#include "schedule/steps.h"

namespace mcc::schedule {

Reason step_share(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "share"); !why.empty()) return why;
  const int id = find_stage(state, step.block);
  Stage& stage = state.stage(id);
  const int found = find_loop(stage, step.loops.at(0));
  if (found < 0) return fmt::format("share: block {} has no loop {}", step.block, step.loops[0]);
  if (Reason why = hosts_others(state, id, "share"); !why.empty()) return why;
  const auto tiles = stage.loops.begin() + found;
  const auto holds_less = [&](const LoopSpec& outer) {
    return outer.axis == tiles->axis && outer.chunk <= step.ints[0];
  };
  if (step.ints.size() != 1 || step.ints[0] <= tiles->chunk || step.ints[0] > i64{1} << 40 ||
      std::any_of(stage.loops.begin(), tiles, holds_less))
    return fmt::format("share: {} cannot be shared out so", tiles->name);
  LoopSpec shares = *tiles;
  shares.chunk = step.ints[0];
  shares.name += ".0";
  tiles->name += ".1";
  stage.loops.insert(tiles, std::move(shares));
  return "";
}

}  // namespace mcc::schedule
