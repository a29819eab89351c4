// Panels of rows: what one tile of rows reads, all the way along the reduction, copied side by side before all column
// tiles go over it (for a convolution, im2col of one tile at a time). For inputs that are read through windows, with
// strides or in rows that lie far apart. Each element is copied once for each window that it is in, so this is for the
// search to try: with many output channels the copy costs little, and what it saves depends on the machine's caches.
#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

constexpr i64 kFarApartBytes = 4096;
constexpr i64 kFewestColumns = 16;  // that share the copy of an element

bool through_windows(const Access& access) {
  for (const std::optional<Affine>& affine : access.index) {
    if (affine && affine->terms.size() > 1) return true;
  }
  return false;
}

// The axes that the access moves with.
std::vector<int> moved_by(const Builder& b, const Stage& stage, const Load& load, const std::vector<int>& axes) {
  std::vector<int> moved;
  for (const int axis : axes) {
    if (along(b.state, stage, load.access, axis) != Along::absent) moved.push_back(axis);
  }
  return moved;
}

}  // namespace

RowPanel find_row_panel(const Builder& b, const Stage& stage, const TileAxes& axes) {
  if (axes.row < 0 || axis_of(stage, axes.column).extent < kFewestColumns) return {};
  for (const Load& load : loads_of(b.state, stage)) {
    if (load.constant_value() || along(b.state, stage, load.access, axes.column) != Along::absent) continue;
    const i64 stride = element_stride(b.state, stage, load.access, axes.row) * element_bytes(b.state, stage);
    if (!through_windows(load.access) && stride < kFarApartBytes) continue;
    RowPanel panel;
    panel.buffer = b.state.buffer(load.access.buffer).name;
    panel.row = axis_of(stage, axes.row).name;
    for (const int axis : moved_by(b, stage, load, spatial_axes(stage))) {
      if (axis != axes.row) panel.outer.push_back(axis_of(stage, axis).name);
    }
    for (const int axis : moved_by(b, stage, load, reduction_axes(stage)))
      panel.reduction.push_back(axis_of(stage, axis).name);
    if (!panel.reduction.empty() && legal(b.state, row_panel_steps(panel, stage.block, "", "", 1, true)[0]))
      return panel;
  }
  return {};
}

std::vector<Step> row_panel_steps(const RowPanel& panel, const std::string& block, const std::string& host,
                                  const std::string& loop, i64 lanes, bool rows_first) {
  const std::string copy = block + "." + panel.buffer, last = panel.reduction.back();
  std::vector<std::string> rows = panel.outer, words{panel.buffer};
  rows.push_back(panel.row);
  const std::vector<std::string>&first = rows_first ? rows : panel.reduction,
        &second = rows_first ? panel.reduction : rows;
  words.insert(words.end(), first.begin(), first.end());
  words.insert(words.end(), second.begin(), second.end());
  std::vector<Step> steps{step_of(StepKind::cache_access, block, words),
                          step_of(StepKind::compute_at, copy, {host, loop})};
  if (rows_first) {
    steps.push_back(split_step(copy, last, {4, lanes}));
    steps.push_back(mark_step(copy, last + ".1", "unroll"));
    steps.push_back(mark_step(copy, last + ".2", "vectorize"));
    return steps;
  }
  std::vector<std::string> order(panel.reduction.begin(), panel.reduction.end() - 1);
  order.insert(order.end(), panel.outer.begin(), panel.outer.end());
  order.insert(order.end(), {last + ".0", last + ".1", panel.row});
  steps.push_back(split_step(copy, last, {lanes}));
  steps.push_back(step_of(StepKind::reorder, copy, std::move(order)));
  steps.push_back(mark_step(copy, last + ".1", "unroll"));
  steps.push_back(mark_step(copy, panel.row, "vectorize"));
  return steps;
}

}  // namespace mcc::schedule
