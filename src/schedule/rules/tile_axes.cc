// Which axis of a reduction is vectorised, which is unrolled beside it, how its constants are packed, and which stage
// is its epilogue.
#include <algorithm>
#include <set>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

// The index of a dimension that is reduced in parts: part * length + k. The axis of k; else -1.
int reduced_in_parts(const Stage& stage, const Affine& affine) {
  if (affine.terms.size() != 2 || affine.constant != 0) return -1;
  for (size_t i = 0; i < 2; i++) {
    const int axis = find_axis(stage, affine.terms[i].first), part = find_axis(stage, affine.terms[1 - i].first);
    if (axis < 0 || part < 0 || !axis_of(stage, axis).reduction || axis_of(stage, part).reduction) continue;
    if (affine.terms[i].second == 1 && affine.terms[1 - i].second == axis_of(stage, axis).extent) return axis;
  }
  return -1;
}

// A constant can be packed for an axis when the axis moves one dimension of it, by itself and by ones. Rows of a tile
// may also be parts of a reduction: those are not packed side by side.
bool packable_along(const State& state, const Stage& stage, const Load& load, int axis, bool row = false) {
  if (load.scope != loop::Scope::constant || has_layout(state.buffer(load.access.buffer))) return false;
  if (readers(state, load.access.buffer).size() != 1) return false;
  for (const std::optional<Affine>& affine : load.access.index) {
    if (!affine) return false;
    if (reduced_in_parts(stage, *affine) >= 0) {
      const bool moves = std::any_of(affine->terms.begin(), affine->terms.end(),
                                     [&](const auto& term) { return find_axis(stage, term.first) == axis; });
      if (!row && moves) return false;
      continue;
    }
    if (affine->terms.size() > 1) return false;
    if (affine->terms.empty()) continue;
    const int moves = find_axis(stage, affine->terms[0].first);
    if (moves < 0 || (moves == axis && (affine->terms[0].second != 1 || affine->constant != 0))) return false;
  }
  return true;
}

double column_cost(const Builder& b, const Stage& stage, int axis, i64 lanes, bool& gathers) {
  const double per_vector = 1.0 / static_cast<double>(lanes);
  double cost = per_vector;
  gathers = false;
  for (const Load& load : loads_of(b.state, stage)) {
    const Along how = along(b.state, stage, load.access, axis);
    if (how == Along::absent) {
      cost += 0.1 * per_vector;
    } else if (how == Along::contiguous ||
               (b.variant.pack && how == Along::strided && packable_along(b.state, stage, load, axis))) {
      cost += per_vector;
    } else if (const i64 stride = short_stride(b.state, stage, load.access, axis); stride > 0) {
      cost += static_cast<double>(stride) * per_vector;
    } else {
      cost += 1;
      gathers = gathers || !load.constant_value();
    }
  }
  if (store_along(b.state, stage, axis) != Along::contiguous)
    cost += 1.0 / static_cast<double>(reduction_points(stage));
  const i64 extent = axis_of(stage, axis).extent;
  return cost * static_cast<double>(round_up(extent, lanes)) / static_cast<double>(extent);
}

// Rows along `axis` reuse what the columns load: some operand moves with the column axis but not with this one.
bool shares_columns(const Builder& b, const Stage& stage, int axis, int column) {
  for (const Load& load : loads_of(b.state, stage)) {
    if (along(b.state, stage, load.access, axis) == Along::absent &&
        along(b.state, stage, load.access, column) != Along::absent)
      return true;
  }
  return false;
}

}  // namespace

TileAxes tile_axes(const Builder& b, const Stage& stage) {
  TileAxes best;
  const i64 lanes = b.target.lanes(element_bytes(b.state, stage));
  const std::vector<int> spatial = spatial_axes(stage);
  for (int axis : spatial) {
    bool gathers = false;
    const double cost = column_cost(b, stage, axis, lanes, gathers);
    if (best.column < 0 || cost <= best.cost) {
      best.column = axis;
      best.cost = cost;
      best.gathers = gathers;
    }
  }
  std::vector<int> sharing, others;
  for (int axis : spatial) {
    if (axis == best.column) continue;
    (shares_columns(b, stage, axis, best.column) ? sharing : others).push_back(axis);
  }
  const std::vector<int>& rows = sharing.empty() ? others : sharing;
  if (!rows.empty()) best.row = rows.back();
  if (rows.size() >= 2) best.outer_row = rows[rows.size() - 2];
  return best;
}

std::vector<Step> pack_steps(const Builder& b, const Stage& stage, const TileAxes& axes, i64 columns, i64 rows,
                             i64 outer_rows) {
  std::vector<Step> steps;
  if (!b.variant.pack) return steps;
  std::set<int> seen;
  for (const Load& load : loads_of(b.state, stage)) {
    if (!packable_along(b.state, stage, load, axes.column) || !seen.insert(load.access.buffer).second) continue;
    if (axes.row >= 0 && !packable_along(b.state, stage, load, axes.row, true)) continue;
    std::vector<i64> blocks, outside, inside;  // axis:scale pairs, in the order of the packed dimensions
    std::vector<std::pair<int, i64>> reduced;  // (axis of the stage, dimension)
    for (size_t d = 0; d < load.access.index.size(); d++) {
      const Affine& affine = *load.access.index[d];
      const int in_parts = reduced_in_parts(stage, affine);
      const int axis = in_parts >= 0 ? in_parts : affine.terms.empty() ? -1 : find_axis(stage, affine.terms[0].first);
      const i64 dim = static_cast<i64>(d);
      const i64 scale = axis < 0                 ? 0
                        : axis == axes.column    ? columns
                        : axis == axes.row       ? rows
                        : axis == axes.outer_row ? outer_rows
                                                 : 0;
      if (axis >= 0 && axis_of(stage, axis).reduction) {
        reduced.emplace_back(axis, dim);
      } else if (scale > 1) {
        blocks.insert(blocks.end(), {dim, scale});
        const auto at = axis == axes.column ? inside.end() : inside.begin();
        inside.insert(at, {dim, 1});
      } else {
        outside.insert(outside.end(), {dim, 1});
      }
    }
    std::sort(reduced.begin(), reduced.end());
    std::vector<i64> dims = outside;
    dims.insert(dims.end(), blocks.begin(), blocks.end());
    for (const auto& [axis, dim] : reduced) dims.insert(dims.end(), {dim, 1});
    dims.insert(dims.end(), inside.begin(), inside.end());
    const std::string& name = b.state.buffer(load.access.buffer).name;
    steps.push_back(step_of(StepKind::pack, stage.block, {name}, std::move(dims)));
  }
  return steps;
}

Host find_host(const State& state, const std::string& block) {
  const int id = find_stage(state, block);
  const Stage& stage = state.stage(id);
  const std::vector<int> users = readers(state, stage.store.buffer);
  if (users.size() != 1 || writes_tiles(stage)) return {};
  const Stage& user = state.stage(users[0]);
  if (user.opaque || is_reduction(user) || user.place != Stage::Place::root || user.store.op != loop::StoreOp::assign)
    return {};
  if (user.loops.size() != user.axes.size()) return {};
  const std::vector<int> axes = reader_axes(state, users[0], stage.store.buffer);
  const std::vector<StoreDim> dims = store_dims(stage);
  Host host{user.block, std::vector<std::string>(stage.axes.size())};
  std::set<int> used;
  for (size_t d = 0; d < dims.size(); d++) {
    if (dims[d].axis < 0 || axis_of(stage, dims[d].axis).extent == 1) continue;
    if (axes[d] < 0 || dims[d].offset != 0 || axis_of(user, axes[d]).extent != axis_of(stage, dims[d].axis).extent)
      return {};
    if (!used.insert(axes[d]).second) return {};
    host.loop_of[at(dims[d].axis)] = axis_of(user, axes[d]).name;
  }
  if (used.size() != spatial_axes(user).size() || used.empty()) return {};
  if (!legal(state, step_of(StepKind::compute_at, block, {user.block, user.loops[0].name}))) return {};
  return host;
}

}  // namespace mcc::schedule
