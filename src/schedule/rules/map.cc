// Stages without reduction: element by element work and movement. The axis that is contiguous in the result is
// vectorised, several vectors at a time; the outermost loops run in parallel when the work is worth it.
//
// When an operand is contiguous along another axis (a transposition), as many steps of that axis as there are lanes are
// unrolled around the vector: code generation turns such a square in registers, instead of reading lane by lane.
// Squares follow one another along the result; for several threads in the order of the program's loops, so that they
// share out what the kernels before have shared out.
#include <algorithm>
#include <cmath>

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

// The axis along which an operand is contiguous that is read with a stride along the vector axis; -1 if none.
int crossing_axis(const State& state, const Stage& stage, int vector) {
  for (const Load& load : loads_of(state, stage)) {
    if (load.constant_value() || along(state, stage, load.access, vector) != Along::strided) continue;
    for (int axis : spatial_axes(stage)) {
      if (axis != vector && along(state, stage, load.access, axis) == Along::contiguous) return axis;
    }
  }
  return -1;
}

// Behind a transposition in the order of its result, to channels last, there is mostly a product, which threads share:
// what one thread made for others is handed over, and taken back in the next run, at 24 ns for each of half the lines
// when processors are far from each other (bench/dispatch.c), and 1.5 ns to make one.
constexpr double kHandedOver = 6;

// Of a transposition: a square of lanes by lanes takes log2(lanes) shuffles and a store a vector, one a cycle.
double transposition_seconds(const Stage& stage, i64 lanes, const Target& target) {
  const double vectors = static_cast<double>(outputs(stage)) / static_cast<double>(lanes);
  return vectors * (std::log2(static_cast<double>(lanes)) + 1) / (target.ghz * 1e9);
}

bool walked_before(const Stage& stage, int axis, int other) {
  const auto is_one = [&](const LoopSpec& loop) { return loop.axis == axis || loop.axis == other; };
  return std::ranges::find_if(stage.loops, is_one)->axis == axis;
}

// How many of the outermost loops run in parallel: as many as pay for work of `seconds`.
void choose_parallel(Builder& b, const std::string& block, const std::vector<std::string>& loops,
                     const std::vector<i64>& counts, double seconds, bool settled) {
  constexpr size_t kDeepest = 3;
  const int wanted = parallel_depth(counts, seconds, b.target);
  Choice choice;
  for (size_t depth = 0; depth <= std::min(counts.size(), kDeepest); depth++) {
    std::vector<Step> marks;
    for (size_t i = 0; i < depth; i++) marks.push_back(mark_step(block, loops[i], "parallel"));
    choice.add(static_cast<i64>(depth), std::move(marks), static_cast<int>(depth) <= wanted);
  }
  b.choice(block + " parallel", std::move(choice), settled);
}

}  // namespace

void rule_map(Builder& b, const std::string& block, bool parallel) {
  const Stage stage = b.stage(block);
  const int axis = vector_axis(b.state, stage);
  if (axis < 0) return;
  const i64 lanes = std::max<i64>(1, b.target.lanes(element_bytes(b.state, stage)));
  const i64 extent = axis_of(stage, axis).extent;
  const std::string v = axis_of(stage, axis).name;
  const int crossing = crossing_axis(b.state, stage, axis);
  const bool reversed = crossing >= 0 && b.target.cores > 1 && walked_before(stage, axis, crossing);
  Choice choice;
  for (i64 vectors = 1; vectors <= 8 && (vectors == 1 || vectors * lanes <= extent); vectors *= 2) {
    const bool good =
        vectors <= (crossing < 0 ? 4 : 1) && value_cost(stage.store.value) * static_cast<double>(vectors) <= 160;
    choice.add(vectors, {split_step(block, v, {vectors, lanes})}, good);
  }
  const i64 vectors = choice.options[at(choice.best)];
  b.choice(block + " vectors", std::move(choice));
  std::vector<Step> order{step_of(StepKind::reorder, block)};
  std::vector<i64> counts;
  for (const LoopSpec& loop : stage.loops) {
    if (loop.axis == axis || loop.axis == crossing) continue;
    order[0].loops.push_back(loop.name);
    counts.push_back(axis_of(stage, loop.axis).extent);
  }
  if (crossing >= 0) {
    const Axis& square = axis_of(stage, crossing);
    b.fixed({split_step(block, square.name, {lanes})});
    std::vector<std::string> squares{square.name + ".0", v + ".0"};
    std::vector<i64> how_many{ceil_div(square.extent, lanes), ceil_div(extent, vectors * lanes)};
    if (reversed) {
      std::ranges::reverse(squares);
      std::ranges::reverse(how_many);
    }
    order[0].loops = in_order({order[0].loops, squares, {v + ".1", square.name + ".1", v + ".2"}});
    counts.insert(counts.end(), how_many.begin(), how_many.end());
    order.push_back(mark_step(block, square.name + ".1", "unroll"));
  } else {
    order[0].loops = in_order({order[0].loops, {v + ".0", v + ".1", v + ".2"}});
    counts.push_back(ceil_div(extent, vectors * lanes));
  }
  order.push_back(mark_step(block, v + ".1", "unroll"));
  order.push_back(mark_step(block, v + ".2", "vectorize"));
  const std::vector<std::string> loops = order[0].loops;
  b.fixed(std::move(order));
  if (!parallel || b.target.cores <= 1) return;
  double seconds = stage_seconds(stage, b.target);
  if (crossing >= 0)
    seconds = std::max(seconds, transposition_seconds(stage, lanes, b.target) * (reversed ? 1 : kHandedOver));
  choose_parallel(b, block, loops, counts, seconds, crossing >= 0 && !reversed);
}

}  // namespace mcc::schedule
