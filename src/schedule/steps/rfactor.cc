// rfactor BLOCK LOOP: the reduction over LOOP (and the loops of its axis inside it) happens last, so that everything
// before has independent partial results: the lanes of a vector, several accumulators, blocks of a long sum. The new
// block BLOCK.rf, right before BLOCK, has BLOCK's loops and one more dimension in its buffer, the loop's value; BLOCK
// then reduces that dimension, by a loop of the same name. Floating-point sums are reassociated, as loop.h allows.
#include <algorithm>

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/steps.h"

namespace mcc::schedule {

namespace {

// BLOCK after the step: its spatial axes, and a reduction axis over the partial results.
Stage last_stage(State& state, const Stage& partial, const Stage& old, const std::string& lane, i64 lanes) {
  Stage last;
  last.block = old.block;
  last.region = old.region;
  last.init = old.init;
  last.place = old.place;
  last.at_stage = old.at_stage;
  last.at_loop = old.at_loop;
  last.scope = old.scope;
  last.store = {old.store.buffer, {}, {}, old.store.op, old.block};
  std::map<int, loop::Expr> rename;
  const auto add = [&](const std::string& name, i64 extent, bool reduction) {
    return loop::var(add_axis(state, last, name, extent, reduction));
  };
  for (const Axis& axis : old.axes) {
    if (!axis.reduction) rename[axis.var] = add(axis.name, axis.extent, false);
  }
  std::vector<loop::Expr> from;
  for (const loop::Expr& e : old.store.index) {
    last.store.index.push_back(loop::substitute(e, rename));
    from.push_back(last.store.index.back());
  }
  if (last.init) last.init = loop::substitute(*last.init, rename);
  from.push_back(add(lane, lanes, true));
  last.store.value = loop::load(state.buffer(partial.store.buffer), partial.store.buffer, std::move(from));
  return last;
}

}  // namespace

Reason step_rfactor(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "rfactor"); !why.empty()) return why;
  const int id = find_stage(state, step.block);
  const Stage old = state.stage(id);
  const int found = find_loop(old, step.loops.at(0));
  if (found < 0) return fmt::format("rfactor: block {} has no loop {}", step.block, step.loops[0]);
  const LoopSpec& kept = old.loops[at(found)];
  const auto split_before = [&](const LoopSpec& loop) { return loop.axis == kept.axis && loop.lane >= 0; };
  if (!old.init || std::any_of(old.loops.begin(), old.loops.end(), split_before) ||
      !old.axes[at(kept.axis)].reduction) {
    return fmt::format("rfactor: {} is no reduction loop", kept.name);
  }
  if (!old.within.empty()) return fmt::format("rfactor: {} leaves out terms", step.block);
  if (Reason why = hosts_others(state, id, "rfactor"); !why.empty()) return why;
  const Axis& axis = old.axes[at(kept.axis)];
  i64 lanes = axis.extent;  // of the loop and those of its axis inside it: what the next outer loop leaves over
  for (int i = 0; i < found; i++) {
    if (old.loops[at(i)].axis == kept.axis) lanes = std::min(lanes, old.loops[at(i)].chunk);
  }

  Stage partial = old;
  partial.block = step.block + ".rf";
  partial.store.block = partial.block;
  const int lane_axis = static_cast<int>(partial.axes.size());
  partial.axes.push_back({kept.name, new_var(state, kept.name), lanes, false});
  for (size_t i = at(found); i < partial.loops.size(); i++) {
    if (partial.loops[i].axis == kept.axis) partial.loops[i].lane = lane_axis;
  }
  const loop::Buffer whole = state.buffer(old.store.buffer);
  Shape shape = whole.shape;
  shape.push_back(lanes);
  partial.store.index.push_back(loop::var(partial.axes.back().var));
  partial.store.buffer = new_buffer(state, whole.name + ".rf", whole.dtype, std::move(shape));
  partial.init = loop::identity(old.store.op, whole.dtype);
  Stage last = last_stage(state, partial, old, kept.name, lanes);
  state.stage(id) = std::move(partial);
  insert_stage(state, id + 1, std::move(last));
  return "";
}

}  // namespace mcc::schedule
