// split BLOCK LOOP [f1,f2,..]: one loop becomes 1 + n loops of the same axis, the last n with the given factors.
#include "schedule/steps.h"

namespace mcc::schedule {

Reason step_split(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "split"); !why.empty()) return why;
  const int stage_id = find_stage(state, step.block);
  Stage& stage = state.stage(stage_id);
  const int found = find_loop(stage, step.loops.at(0));
  if (found < 0) return fmt::format("split: block {} has no loop {}", step.block, step.loops[0]);
  if (step.ints.empty()) return "split: no factors";
  const LoopSpec old = stage.loops[at(found)];
  std::vector<LoopSpec> parts(step.ints.size() + 1, old);
  i64 chunk = old.chunk;
  for (size_t i = parts.size(); i-- > 0;) {
    parts[i].name = fmt::format("{}.{}", old.name, i);
    parts[i].chunk = chunk;
    if (i == 0) break;
    const i64 factor = step.ints[i - 1];
    if (factor < 1 || factor > (i64{1} << 40) / chunk) return fmt::format("split: factor {} is out of range", factor);
    chunk *= factor;
  }
  for (Stage& other : state.stages) {  // "one iteration of m" stays one value of m: the innermost part
    if (other.place == Stage::Place::at && other.at_stage == stage_id && other.at_loop == old.name)
      other.at_loop = parts.back().name;
  }
  stage.loops.erase(stage.loops.begin() + found);
  stage.loops.insert(stage.loops.begin() + found, parts.begin(), parts.end());
  return "";
}

}  // namespace mcc::schedule
