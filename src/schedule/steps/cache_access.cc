// cache_access BLOCK BUFFER AXES..: what BLOCK reads of BUFFER, by the axes that the read's index uses instead of by
// the buffer's own dimensions. The new block BLOCK.BUFFER, right before BLOCK, has one loop for each of the named axes,
// which are the dimensions of its buffer in this order; BLOCK then reads that, each dimension at just its axis. Of an
// input that a convolution reads through windows this makes the matrix whose rows are windows (im2col). Computed at a
// loop over tiles of rows it is a panel that lies in the near caches in the order in which it is read, however the
// input itself lies. Only useful with compute_at: as a whole it is as large as the loops are long.
#include <algorithm>
#include <map>

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/steps.h"

namespace mcc::schedule {

namespace {

constexpr i64 kMostElements = i64{1} << 40;

// The one way in which the block reads the buffer; null and a reason if there is none or more than one.
const loop::Expr* sole_read(const loop::Expr& value, int buffer, Reason& why) {
  const loop::Expr* found = nullptr;
  loop::for_each_load(value, [&](const loop::Expr& load) {
    if (load.i != buffer) return;
    if (found != nullptr && *found != load) why = "it is read in several ways";
    found = &load;
  });
  if (found == nullptr) why = "it is not read";
  return found;
}

// The axes of the stage that the index uses; a reason where it is not affine over them, or is outside of the
// buffer for some of their values (those for which a condition does not hold).
std::vector<int> axes_used(const State& state, const Stage& stage, const loop::Expr& load, Reason& why) {
  const Shape& shape = state.buffer(load.i).shape;
  std::vector<int> used;
  for (size_t d = 0; d < load.args.size() && why.empty(); d++) {
    const std::optional<Affine> affine = loop::as_affine(load.args[d]);
    if (!affine) {
      why = "its index is not affine";
      break;
    }
    const loop::Range span = span_over(state, stage, *affine);
    if (span.min < 0 || span.max >= shape[d]) why = "some values of the axes lie outside it";
    for (const auto& term : affine->terms) {
      const int axis = find_axis(stage, term.first);
      if (axis >= 0) used.push_back(axis);
    }
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

}  // namespace

Reason step_cache_access(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "cache_access"); !why.empty()) return why;
  const int id = find_stage(state, step.block), source = find_buffer(state, step.loops.at(0));
  if (source < 0) return fmt::format("cache_access: there is no buffer {}", step.loops[0]);
  const loop::Buffer from = state.buffer(source);
  Stage& stage = state.stage(id);
  if (writes(stage, source)) return fmt::format("cache_access: {} writes {}", step.block, from.name);
  if (!from.pack.dims.empty()) return fmt::format("cache_access: {} is packed", from.name);
  if (reads_part_of_parameter(state, stage, source))
    return fmt::format("cache_access: {} is read under a condition", from.name);
  if (find_stage(state, step.block + "." + from.name) >= 0)
    return fmt::format("cache_access: {} has a copy of {} already", step.block, from.name);
  Reason why;
  const loop::Expr* read = sole_read(stage.store.value, source, why);
  std::vector<int> used = read ? axes_used(state, stage, *read, why) : std::vector<int>{};
  if (!why.empty()) return fmt::format("cache_access: {}: {}", from.name, why);

  Stage copy;
  copy.block = step.block + "." + from.name;
  copy.region = stage.region;
  Shape shape;
  std::map<int, loop::Expr> rename;
  std::vector<loop::Expr> own, to;
  i64 size = 1;
  for (size_t w = 1; w < step.loops.size(); w++) {
    const auto axis =
        std::find_if(used.begin(), used.end(), [&](int a) { return stage.axes[at(a)].name == step.loops[w]; });
    if (axis == used.end()) return fmt::format("cache_access: {} is not read along {}", from.name, step.loops[w]);
    const Axis& moved = stage.axes[at(*axis)];
    to.push_back(loop::var(add_axis(state, copy, moved.name, moved.extent)));
    own.push_back(loop::var(moved.var));
    rename[moved.var] = to.back();
    shape.push_back(moved.extent);
    size *= std::max<i64>(1, moved.extent);
    if (size > kMostElements) return "cache_access: too many elements";
    used.erase(axis);
  }
  if (!used.empty())
    return fmt::format("cache_access: {} is also read along {}", from.name, stage.axes[at(used[0])].name);
  const int target = new_buffer(state, from.name + ".panel", from.dtype, std::move(shape));
  copy.store = {target, std::move(to), loop::substitute(*read, rename), loop::StoreOp::assign, copy.block};
  const loop::Expr instead = loop::load(state.buffers.back(), target, std::move(own));
  stage.store.value =
      loop::map_loads(stage.store.value, [&](const loop::Expr& load) { return load.i == source ? instead : load; });
  insert_stage(state, id, std::move(copy));
  return "";
}

}  // namespace mcc::schedule
