// parts BLOCK LOOP [n]: the reduction over LOOP in n parts of equal length, all the same way, added at the end. The new
// block BLOCK.parts, right before BLOCK, has one more axis outside of all others, `part`, also the first dimension of
// its buffer; its LOOP runs over one part. BLOCK then reduces over `part`. Unlike what rfactor makes, a part is an axis
// like any other: it can be run in parallel, be unrolled to independent chains of sums, or be computed at a loop.
// Floating-point sums are reassociated, as loop.h allows.
#include <algorithm>

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/steps.h"

namespace mcc::schedule {

namespace {

constexpr const char* kPart = "part";

// The sums of the parts: `old` with its axis `split` cut.
Stage partial_stage(State& state, const Stage& old, size_t split, i64 parts, int buffer) {
  Stage partial = old;
  partial.block = old.block + ".parts";
  const int part = new_var(state, kPart);
  const i64 length = old.axes[split].extent / parts;
  partial.axes[split].extent = length;
  partial.axes.push_back({kPart, part, parts, false});
  partial.loops.insert(partial.loops.begin(),
                       {kPart, static_cast<int>(partial.axes.size()) - 1, -1, 1, loop::LoopKind::serial});
  const std::map<int, loop::Expr> cut{{old.axes[split].var, loop::var(part) * length + loop::var(old.axes[split].var)}};
  partial.store = {buffer, old.store.index, loop::substitute(old.store.value, cut), old.store.op, partial.block};
  partial.store.index.insert(partial.store.index.begin(), loop::var(part));
  partial.init = loop::identity(old.store.op, state.buffer(buffer).dtype);
  return partial;
}

// What adds them, with variables of its own.
Stage adding_stage(State& state, const Stage& old, i64 parts, int buffer) {
  Stage adding = old;
  adding.axes.clear();
  adding.loops.clear();
  adding.ahead.clear();
  std::map<int, loop::Expr> rename;
  for (const Axis& axis : old.axes) {
    if (!axis.reduction) rename[axis.var] = loop::var(add_axis(state, adding, axis.name, axis.extent));
  }
  std::vector<loop::Expr> from{loop::var(add_axis(state, adding, kPart, parts, true))};
  for (loop::Expr& e : adding.store.index) {
    e = loop::substitute(e, rename);
    from.push_back(e);
  }
  if (adding.init) adding.init = loop::substitute(*adding.init, rename);
  adding.store.value = loop::load(state.buffer(buffer), buffer, std::move(from));
  return adding;
}

}  // namespace

Reason step_parts(State& state, const Step& step) {
  if (Reason why = whole_reduction(state, step.block, step.loops.at(0), "parts"); !why.empty()) return why;
  const int id = find_stage(state, step.block);
  const Stage old = state.stage(id);
  const size_t axis = at(old.loops[at(find_loop(old, step.loops[0]))].axis);
  if (find_loop(old, kPart) >= 0) return fmt::format("parts: {} is in parts already", step.block);
  const i64 parts = step.ints.size() == 1 ? step.ints[0] : 0;
  if (parts < 2 || old.axes[axis].extent % parts != 0)
    return fmt::format("parts: {} of {} elements cannot be in {} equal parts", step.loops[0], old.axes[axis].extent,
                       parts);
  const loop::Buffer whole = state.buffer(old.store.buffer);
  if (elements(whole.shape) > (i64{1} << 40) / parts) return fmt::format("parts: {} parts are too many", parts);
  Shape shape = whole.shape;
  shape.insert(shape.begin(), parts);
  const int sums = new_buffer(state, whole.name + ".parts", whole.dtype, std::move(shape));
  Stage partial = partial_stage(state, old, axis, parts, sums);
  state.stage(id) = adding_stage(state, old, parts, sums);
  partial.place = Stage::Place::root;
  insert_stage(state, id, std::move(partial));
  return "";
}

}  // namespace mcc::schedule
