// Large packed constants come from memory in each run of a whole model: their lines are asked for ahead (ahead.cc).
//
// Measured with whole networks: where many row tiles go over a panel that the second cache holds, they fetch the next
// panel meanwhile. A few row tiles leave too little time for that alone, and read so much of the panel for their
// arithmetic that what they read next is fetched, too; so is a constant that is read once.
#include <algorithm>

#include "schedule/analytic.h"
#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {
constexpr i64 kNextPart = 0;
constexpr i64 kDistance = 8192;  // bytes; 4 and 16 KiB measured alike, within the noise
constexpr i64 kFewRowTiles = 4;

// How many outputs read each element of what the load reads.
i64 readers_of_element(const Stage& stage, const Load& load) {
  i64 count = 1;
  for (const int axis : spatial_axes(stage)) {
    const Axis& a = axis_of(stage, axis);
    const bool moves = std::any_of(load.access.index.begin(), load.access.index.end(), [&](const auto& affine) {
      return !affine ||
             std::any_of(affine->terms.begin(), affine->terms.end(), [&](const auto& t) { return t.first == a.var; });
    });
    if (!moves) count *= a.extent;
  }
  return count;
}

}  // namespace

void choose_prefetch(Builder& b, const std::string& block, i64 tile_rows, i64 panel_elements) {
  const Stage stage = b.stage(block);
  for (const Load& load : loads_of(b.state, stage)) {
    const loop::Buffer& buffer = b.state.buffer(load.access.buffer);
    const i64 element = size_of(buffer.dtype);
    if (!load.constant_value() || !has_layout(buffer) || elements(buffer.shape) * element < b.target.cold_bytes)
      continue;
    const auto step = [&](std::vector<i64> bytes) {
      return std::vector<Step>{step_of(StepKind::prefetch, block, {buffer.name}, std::move(bytes))};
    };
    const i64 row_tiles = ceil_div(readers_of_element(stage, load), tile_rows);
    const bool next = row_tiles > 1 && panel_elements * element <= b.target.l2_bytes;
    const int best = !next ? 2 : row_tiles > kFewRowTiles ? 1 : 3;
    return b.choice(block + " prefetch", {0, 1, 2, 3},
                    {{}, step({kNextPart}), step({kDistance}), step({kNextPart, kDistance})}, best, true);
  }
}

}  // namespace mcc::schedule
