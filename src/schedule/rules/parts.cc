// Long reductions to few outputs (a weight's gradient, a 1x1 convolution of a small image to few channels, a vector
// times a tall matrix): there are not enough register tiles for the threads, or one tile has not enough accumulators to
// hide how long a multiplication takes, or what a tile reads all along the reduction leaves the caches before the next
// tile comes. So the reduction is made in parts (steps/parts.cc), which are then scheduled like any other reduction
// with one more axis, and added at the end.
#include <algorithm>

#include "schedule/analytic.h"
#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

constexpr i64 kMostOutputs = 16384;
constexpr i64 kLongReduction = 512;
constexpr i64 kShortestPart = 256;  // multiplications for each sum that is written and read once more
constexpr i64 kFewRows = 4;         // that share a constant
constexpr i64 kMostParts = 256;
constexpr i64 kTileChains = 8;  // accumulators that hide the latency of each other

// Numbers of parts of equal length, at least a third apart.
std::vector<i64> numbers_of_parts(i64 extent, i64 reduction) {
  std::vector<i64> numbers;
  for (i64 n = 2; n <= std::min(kMostParts, reduction / kShortestPart); n++) {
    if (extent % n == 0 && (numbers.empty() || 3 * n >= 4 * numbers.back())) numbers.push_back(n);
  }
  return numbers;
}

// Rows share a constant that comes from memory in each run: the model then has threads wait for each other's part of
// it, though parts were no faster than rows for each thread (7x7x2048 -> 64, 1x1).
bool waits_for_memory(const Builder& b, const Stage& stage) {
  for (const Load& load : loads_of(b.state, stage)) {
    const Shape& shape = b.state.buffer(load.access.buffer).shape;
    if (!load.constant_value() || elements(shape) * element_bytes(b.state, stage) < b.target.cold_bytes) continue;
    if (outputs(stage) * reduction_points(stage) >= kFewRows * elements(shape)) return true;
  }
  return false;
}

}  // namespace

std::string cut_reduction(Builder& b, const std::string& block) {
  const Stage stage = b.stage(block);
  const i64 reduction = reduction_points(stage), lanes = b.target.lanes(element_bytes(b.state, stage));
  if (!stage.init || outputs(stage) > kMostOutputs || reduction < kLongReduction) return block;
  int longest = -1;
  for (const int axis : reduction_axes(stage)) {
    if (longest < 0 || axis_of(stage, axis).extent > axis_of(stage, longest).extent) longest = axis;
  }
  const std::vector<i64> numbers = numbers_of_parts(axis_of(stage, longest).extent, reduction);
  if (numbers.empty()) return block;
  const i64 vectors = std::max<i64>(1, outputs(stage) / lanes);
  const i64 wanted = std::max<i64>(2, kTileChains / vectors) * b.target.cores;
  std::vector<std::vector<Step>> alternatives;
  int best = 0;
  for (size_t i = 0; i < numbers.size(); i++) {
    alternatives.push_back({step_of(StepKind::parts, block, {axis_of(stage, longest).name}, {numbers[i]})});
    if (numbers[at(best)] < wanted) best = static_cast<int>(i);
  }
  if (!legal(b.state, alternatives[0][0])) return block;
  b.only_searched = b.only_searched || waits_for_memory(b, stage);
  b.choice(block + " parts", numbers, std::move(alternatives), best);
  return block + ".parts";
}

}  // namespace mcc::schedule
