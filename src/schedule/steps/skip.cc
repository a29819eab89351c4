// skip BLOCK PAD: the terms of BLOCK's sum for which PAD gives no value of its own are left out. PAD is a padding,
// select(inside, value, 0), that only BLOCK reads; BLOCK then reads what stands inside, and its Within say for which
// terms that is there. The generator makes loops that never meet the others (within.cc): no product with a border is
// computed, and no padded copy is made. 0 * w is taken for 0, whatever w is.
#include <algorithm>

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/steps.h"

namespace mcc::schedule {

namespace {

using loop::Expr;
using loop::ExprOp;

// The sole load of the padding's buffer; null when there are others, or the term is not 0 (of a sum) or the start
// value (of others) where that is `outside`.
const Expr* padded_load(const loop::Store& store, int buffer, const Expr& outside) {
  const auto is_load = [&](const Expr& e) { return e.op == ExprOp::load && e.i == buffer; };
  if (outside.op != ExprOp::constant) return nullptr;
  if (is_load(store.value)) return outside == loop::identity(store.op, outside.dtype) ? &store.value : nullptr;
  const bool zero = is_float(outside.dtype) ? outside.f == 0 : outside.i == 0;
  if (store.op != loop::StoreOp::add || store.value.op != ExprOp::mul || !zero) return nullptr;
  const std::vector<Expr>& args = store.value.args;
  for (size_t a = 0; a < 2; a++) {
    if (is_load(args[a]) && !loop::loads_buffer(args[1 - a], buffer)) return &args[a];
  }
  return nullptr;
}

// Adds what the condition says of the stage's axes; false when it is not a list of bounds.
bool add_bounds(const Expr& condition, std::vector<Within>& bounds) {
  if (condition.op == ExprOp::logical_and)
    return add_bounds(condition.args[0], bounds) && add_bounds(condition.args[1], bounds);
  if (condition.op != ExprOp::lt && condition.op != ExprOp::le) return false;
  const std::optional<Affine> left = loop::to_affine(condition.args[0]), right = loop::to_affine(condition.args[1]);
  if (!left || !right) return false;
  Affine room = minus(*right, *left);  // at least this
  const i64 least = (condition.op == ExprOp::lt ? 1 : 0) - room.constant;
  room.constant = 0;
  Affine negative;
  add_scaled(negative, room, -1);
  for (Within& known : bounds) {
    if (known.index == room) return known.min = std::max(known.min, least), true;
    if (known.index == negative) return known.max = std::min(known.max, -least), true;
  }
  const bool down = !room.terms.empty() && room.terms[0].second < 0;
  bounds.push_back(down ? Within{negative, Within::kNone.min, -least} : Within{room, least, Within::kNone.max});
  return true;
}

// Finds the spatial axis of each; a reason where there is more than one, or it goes backwards.
Reason find_axes(const State& state, const Stage& stage, std::vector<Within>& bounds) {
  std::erase_if(bounds, [&](const Within& w) {
    const loop::Range span = span_over(state, stage, w.index);
    return span.min >= w.min && span.max <= w.max;
  });
  for (Within& within : bounds) {
    for (const auto& [var, factor] : within.index.terms) {
      const int axis = find_axis(stage, var);
      if (axis < 0 || factor < 0) return fmt::format("skip: {} does not walk over a border", stage.block);
      if (stage.axes[at(axis)].reduction) continue;
      if (within.axis >= 0) return fmt::format("skip: several axes of {} share a border", stage.block);
      within.axis = axis;
    }
  }
  return bounds.empty() ? "skip: there is no border" : "";
}

}  // namespace

Reason step_skip(State& state, const Step& step) {
  for (const std::string& block : {step.block, step.loops.at(0)})
    if (Reason why = schedulable(state, block, "skip"); !why.empty()) return why;
  const int id = find_stage(state, step.block), pad_id = find_stage(state, step.loops[0]);
  Stage &stage = state.stage(id), &pad = state.stage(pad_id);
  const int buffer = pad.store.buffer;
  const Expr padded = pad.store.value;
  if (pad.store.op != loop::StoreOp::assign || padded.op != ExprOp::select || writes_tiles(pad))
    return fmt::format("skip: {} is no padding", pad.block);
  if (readers(state, buffer) != std::vector<int>{id} || !stage.init || !stage.within.empty())
    return fmt::format("skip: {} is not only read by a reduction {}", pad.block, step.block);
  const Expr* load = padded_load(stage.store, buffer, padded.args[2]);
  if (!load || loop::loads_buffer(*stage.init, buffer))
    return fmt::format("skip: {} does not leave out what {} adds", stage.block, pad.block);
  std::vector<Within> bounds;
  if (!add_bounds(loop::substitute(padded.args[0], axes_at(pad, store_dims(pad), *load)), bounds))
    return fmt::format("skip: the condition of {} is not a list of bounds", pad.block);
  if (Reason why = find_axes(state, stage, bounds); !why.empty()) return why;
  stage.within = std::move(bounds);
  pad.store.value = padded.args[1];
  return step_inline(state, {StepKind::inline_block, pad.block, {}, {}});
}

}  // namespace mcc::schedule
