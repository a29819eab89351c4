// Panels: what constants get by packing at compile time, for operands that are only known at run time. The columns of a
// register tile, all the way along the reduction, are copied side by side before the rows go over them, so that the
// inner loop reads memory in order. That pays when the operand's own rows lie far apart and many row tiles share the
// copy; it is needed when the rows lie so that they compete for the same few places in the cache.
#include <numeric>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

constexpr i64 kFarApartBytes = 1024;
constexpr i64 kRowTiles = 4;  // that share a panel, for the copy to pay
constexpr i64 kRegisterRows = 6;
constexpr i64 kWays = 16;  // of a second-level cache: places for lines with the same lower address

// The only reduction axis that moves the access; -1 when it is not that simple.
int sole_reduction_axis(const Builder& b, const Stage& stage, const Load& load) {
  int found = -1;
  for (int axis : reduction_axes(stage)) {
    if (along(b.state, stage, load.access, axis) == Along::absent) continue;
    if (found >= 0) return -1;
    found = axis;
  }
  return found;
}

// Whether `rows` lines at this distance find room in the second-level cache all at once.
bool fits_apart(i64 rows, i64 stride_bytes, const Target& target) {
  const i64 way = std::max<i64>(target.l2_bytes / kWays, 1);
  return rows <= kWays * (way / std::gcd(stride_bytes, way));
}

bool moves_with(const Builder& b, const Stage& stage, const Load& load, int axis) {
  return axis >= 0 && along(b.state, stage, load.access, axis) != Along::absent;
}

}  // namespace

Panel find_panel(const Builder& b, const Stage& stage, const TileAxes& axes) {
  if (axes.row < 0 || axis_of(stage, axes.row).extent < kRowTiles * kRegisterRows) return {};
  for (const Load& load : loads_of(b.state, stage)) {
    if (load.constant_value() || along(b.state, stage, load.access, axes.column) != Along::contiguous) continue;
    if (moves_with(b, stage, load, axes.row) || moves_with(b, stage, load, axes.outer_row)) continue;
    const int axis = sole_reduction_axis(b, stage, load);
    if (axis < 0) continue;
    const i64 stride = element_stride(b.state, stage, load.access, axis) * element_bytes(b.state, stage);
    const loop::Buffer& source = b.state.buffer(load.access.buffer);
    std::vector<i64> order(source.shape.size());
    std::iota(order.begin(), order.end(), 0);
    const Step copy = step_of(StepKind::cache_read, stage.block, {source.name}, order);
    if (stride < kFarApartBytes || !legal(b.state, copy)) continue;
    return {copy, !fits_apart(axis_of(stage, axis).extent, stride, b.target)};
  }
  return {};
}

std::vector<Step> panel_steps(const Step& copy, const std::string& host, const std::string& loop, i64 vectors,
                              i64 lanes) {
  const std::string block = copy.block + "." + copy.loops[0];
  const std::string last = fmt::format("d{}", copy.ints.size() - 1);
  return {copy, step_of(StepKind::compute_at, block, {host, loop}), split_step(block, last, {vectors, lanes}),
          mark_step(block, last + ".1", "unroll"), mark_step(block, last + ".2", "vectorize")};
}

}  // namespace mcc::schedule
