// Stages without reduction: element by element work and movement. The axis that is contiguous in the result is
// vectorised, several vectors at a time; the outermost loops run in parallel when the work is worth it. Where vectors
// are gathered, because a source is contiguous along another axis, that axis goes innermost: one block of rows of the
// source is used up before the next is touched.
#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

int vector_axis(const State& state, const Stage& stage) {
  int best = -1;
  for (int axis : spatial_axes(stage)) {
    if (store_along(state, stage, axis) == Along::contiguous) return axis;
    best = axis;
  }
  return best;
}

// The axis along which a load that is strided along `axis` is contiguous; -1 if there is none.
int source_axis(const State& state, const Stage& stage, int axis) {
  for (const Load& load : loads_of(state, stage)) {
    if (along(state, stage, load.access, axis) != Along::strided) continue;
    for (int other : spatial_axes(stage))
      if (along(state, stage, load.access, other) == Along::contiguous) return other;
  }
  return -1;
}

}  // namespace

void rule_map(Builder& b, const std::string& block, bool parallel) {
  const Stage stage = b.stage(block);
  const int axis = vector_axis(b.state, stage);
  if (axis < 0) return;
  const i64 lanes = std::max<i64>(1, b.target.lanes(element_bytes(b.state, stage)));
  const i64 extent = axis_of(stage, axis).extent;
  const std::string v = axis_of(stage, axis).name;
  std::vector<i64> options;
  std::vector<std::vector<Step>> alternatives;
  int best = 0;
  for (i64 vectors = 1; vectors <= 8 && (vectors == 1 || vectors * lanes <= extent); vectors *= 2) {
    if (vectors <= 4 && value_cost(stage.store.value) * static_cast<double>(vectors) <= 160)
      best = static_cast<int>(options.size());
    options.push_back(vectors);
    alternatives.push_back({split_step(block, v, {vectors, lanes})});
  }
  b.choice(block + " vectors", options, alternatives, best);
  std::vector<Step> order{step_of(StepKind::reorder, block)};
  std::vector<i64> counts;
  const int source = source_axis(b.state, stage, axis);
  const auto add_loop = [&](const std::string& name, i64 count) {
    order[0].loops.push_back(name);
    counts.push_back(count);
  };
  for (const LoopSpec& loop : stage.loops)
    if (loop.axis != axis && loop.axis != source) add_loop(loop.name, axis_of(stage, loop.axis).extent);
  add_loop(v + ".0", ceil_div(extent, options[static_cast<size_t>(best)] * lanes));
  for (const LoopSpec& loop : stage.loops)
    if (loop.axis == source) add_loop(loop.name, axis_of(stage, source).extent);
  order[0].loops.insert(order[0].loops.end(), {v + ".1", v + ".2"});
  order.push_back(mark_step(block, v + ".1", "unroll"));
  order.push_back(mark_step(block, v + ".2", "vectorize"));
  const std::vector<std::string> loops = order[0].loops;
  b.fixed(std::move(order));
  if (!parallel || b.target.cores <= 1) return;
  std::vector<i64> depths;
  std::vector<std::vector<Step>> marks;
  for (size_t d = 0; d <= counts.size() && d <= 3; d++) {
    depths.push_back(static_cast<i64>(d));
    marks.push_back({});
    for (size_t i = 0; i < d; i++) marks.back().push_back(mark_step(block, loops[i], "parallel"));
  }
  const int depth =
      std::min(parallel_depth(counts, stage_seconds(stage, b.target), b.target), static_cast<int>(depths.size()) - 1);
  b.choice(block + " parallel", depths, marks, depth);
}

}  // namespace mcc::schedule
