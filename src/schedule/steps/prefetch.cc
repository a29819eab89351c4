// prefetch BLOCK BUFFER [bytes,..]: lines of a constant are asked for before the block reads them (ahead.cc). Where in
// the loops that happens is found when these are there, so the step is legal in any order of the loops, and does
// nothing where the loops leave nothing to fetch ahead.
#include <algorithm>

#include "schedule/steps.h"

namespace mcc::schedule {

namespace {
constexpr i64 kMostBytes = 1 << 20;
}

Reason step_prefetch(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "prefetch"); !why.empty()) return why;
  const int id = find_buffer(state, step.loops.at(0));
  if (id < 0) return fmt::format("prefetch: there is no buffer {}", step.loops[0]);
  if (state.buffer(id).scope != loop::Scope::constant)
    return fmt::format("prefetch: {} is not a constant", step.loops[0]);
  Stage& stage = state.stage(find_stage(state, step.block));
  if (!reads(stage, id)) return fmt::format("prefetch: {} does not read {}", step.block, step.loops[0]);
  const bool again =
      std::any_of(stage.ahead.begin(), stage.ahead.end(), [&](const Ahead& a) { return a.buffer == id; });
  if (again) return fmt::format("prefetch: {} fetches {} ahead already", step.block, step.loops[0]);
  const bool in_range =
      std::all_of(step.ints.begin(), step.ints.end(), [](i64 bytes) { return bytes >= 0 && bytes <= kMostBytes; });
  if (!in_range) return fmt::format("prefetch: a distance is not in 0..{}", kMostBytes);
  stage.ahead.push_back({id, step.ints});
  return "";
}

}  // namespace mcc::schedule
