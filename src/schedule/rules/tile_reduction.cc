// The loops of a reduction inside its register tile (tile.cc): the tile's own are unrolled and vectorised, innermost;
// of the reduced ones the last is unrolled in part, or the last two whole; a long reduction may be made in blocks.
#include "schedule/rules/tile.h"

namespace mcc::schedule {

namespace {

constexpr i64 kUnrolled = 128;       // multiplications in a body: as many as are sure to be good,
constexpr i64 kUnrolledWhole = 256;  // of two small axes,
constexpr i64 kMostUnrolled = 512;   // and as many as are tried
constexpr i64 kSmallAxis = 7;        // a filter's edge

// The reduction's own loops. Those over register tiles are there only where it is made in blocks.
struct ReductionLoops {
  std::vector<std::string> first, tiles, reduction, tile;  // other axes, over register tiles, reduced axes, in the tile
};

ReductionLoops reduction_loops(const Stage& stage, const Tile& t) {
  ReductionLoops loops;
  for (const LoopSpec& loop : stage.loops) {
    if (loop.axis == t.axes.column || loop.axis == t.axes.row || (t.two_rows && loop.axis == t.axes.outer_row))
      continue;
    const Axis& axis = axis_of(stage, loop.axis);
    (axis.reduction && axis.extent > 1 ? loops.reduction : loops.first).push_back(loop.name);
  }
  for (const int axis : {t.two_rows ? t.axes.outer_row : -1, t.axes.row, t.axes.column}) {
    if (axis < 0) continue;
    const std::string name = axis_of(stage, axis).name;
    if (t.in_blocks) loops.tiles.push_back(name + ".0");
    loops.tile.push_back(t.in_blocks ? name + ".1" : name);
  }
  const std::string column = loops.tile.back();
  loops.tile.back() = column + ".0";
  loops.tile.push_back(column + ".1");
  return loops;
}

void unroll_tile(Builder& b, const Tile& t, const Stage& stage, const std::vector<std::string>& tile) {
  std::vector<Step> steps;
  if (!t.in_blocks) steps.push_back(split_step(t.block, axis_of(stage, t.axes.column).name, {t.lanes}));
  const size_t vector = tile.size() - 1;
  steps.push_back(mark_step(t.block, tile[vector - 1], "unroll"));
  steps.push_back(mark_step(t.block, tile[vector], "vectorize"));
  for (size_t i = 0; i + 1 < vector; i++) steps.push_back(mark_step(t.block, tile[i], "unroll"));
  b.fixed(std::move(steps));
}

Step reorder_step(const Tile& t, const ReductionLoops& loops, const std::vector<std::string>& reduced) {
  return step_of(StepKind::reorder, t.block, in_order({loops.first, loops.tiles, reduced, loops.tile}));
}

// How many iterations of the last axis, or of the last two, are unrolled.
Choice unrollings(const Tile& t, const Stage& stage, const ReductionLoops& loops) {
  const std::vector<std::string>& reduction = loops.reduction;
  const auto extent_of = [&](const std::string& loop) {
    return axis_of(stage, stage.loops[at(find_loop(stage, loop))].axis).extent;
  };
  const std::string last = reduction.back();
  const i64 extent = extent_of(last), accumulators = t.preferred.rows * t.preferred.rows2 * t.preferred.vectors;
  Choice choice;
  std::vector<std::string> parts(reduction.begin(), reduction.end() - 1);
  parts.insert(parts.end(), {last + ".0", last + ".1"});
  for (const i64 u : {1, 2, 3, 4, 5, 7, 8, 16}) {
    if (u > extent || (u % 2 == 1 && u > 1 && extent != u)) continue;
    const bool good = u * accumulators <= kUnrolled && (u == 1 || extent % u == 0 || extent > 4 * u) && u <= 8;
    choice.add(
        u, {split_step(t.block, last, {u}), mark_step(t.block, last + ".1", "unroll"), reorder_step(t, loops, parts)},
        good);
  }
  if (reduction.size() < 2 || extent > kSmallAxis) return choice;
  const std::string before = reduction[reduction.size() - 2];
  const i64 both = extent * extent_of(before);
  if (both > kSmallAxis * kSmallAxis || both * accumulators > kMostUnrolled) return choice;
  choice.add(
      both,
      {mark_step(t.block, last, "unroll"), mark_step(t.block, before, "unroll"), reorder_step(t, loops, reduction)},
      both * accumulators <= kUnrolledWhole);
  return choice;
}

// All rows of a column tile take part in one block of the reduction before the next, so that what the columns read
// stays in a near cache; the sums wait in memory meanwhile. A step of the last axis is `step` elements.
void choose_blocks(Builder& b, const Tile& t, const ReductionLoops& loops, i64 step) {
  const std::string last = loops.reduction.back();
  std::vector<std::string> outside(loops.reduction.begin(), loops.reduction.end() - 1);
  outside.push_back(last + ".0.0");
  Choice choice;
  for (const i64 block : {32, 64, 128}) {
    const auto order = in_order({outside, loops.first, loops.tiles, {last + ".0.1", last + ".1"}, loops.tile});
    choice.add(block * step, {split_step(t.block, last + ".0", {block}), step_of(StepKind::reorder, t.block, order)},
               block == 64);
  }
  b.choice(t.block + " reduction blocks", std::move(choice));
  b.fixed({step_of(StepKind::compute_at, t.block, {t.host.block, t.column + ".0.1"}),
           step_of(StepKind::scope, t.block, {"local"})});
}

}  // namespace

void choose_reduction(Builder& b, const Tile& t) {
  const Stage stage = b.stage(t.block);
  const ReductionLoops loops = reduction_loops(stage, t);
  unroll_tile(b, t, stage, loops.tile);
  if (loops.reduction.empty()) return b.fixed({reorder_step(t, loops, {})});
  Choice choice = unrollings(t, stage, loops);
  const i64 unrolled = choice.options[at(choice.best)];
  b.choice(t.block + " unrolled reduction", std::move(choice), true);
  if (t.in_blocks) choose_blocks(b, t, loops, unrolled);
}

}  // namespace mcc::schedule
