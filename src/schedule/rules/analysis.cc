// Facts about stages, read off their accesses.
#include "schedule/rules/analysis.h"

#include <algorithm>

#include "loop/loop_ops.h"

namespace mcc::schedule {

using loop::Expr;
using loop::ExprOp;

const Axis& axis_of(const Stage& stage, int axis) { return stage.axes[at(axis)]; }

std::vector<Load> loads_of(const State& state, const Stage& stage) {
  bool plain = true;
  std::vector<Load> loads;
  for (Access& access : collect_loads(stage, stage.store.value, plain)) {
    const loop::Scope scope = state.buffer(access.buffer).scope;
    loads.push_back({std::move(access), scope});
  }
  return loads;
}

// Elements that the affine part of an index moves by when the variable advances by one.
static i64 stride_of(const Shape& shape, const std::vector<std::optional<Affine>>& index, int var) {
  const Shape strides = row_major_strides(shape);
  i64 stride = 0;
  for (size_t d = 0; d < index.size(); d++) {
    if (!index[d]) continue;
    for (const auto& [v, coefficient] : index[d]->terms) {
      if (v == var) stride += coefficient * strides[d];
    }
  }
  return stride;
}

static Along stride_class(const Shape& shape, const std::vector<std::optional<Affine>>& index, int var) {
  const i64 stride = stride_of(shape, index, var);
  const bool affine = std::all_of(index.begin(), index.end(), [](const auto& dim) { return dim.has_value(); });
  if (stride == 0) return affine ? Along::absent : Along::random;
  return stride == 1 ? Along::contiguous : Along::strided;
}

i64 short_stride(const State& state, const Stage& stage, const Access& access, int axis) {
  const loop::Buffer& buffer = state.buffer(access.buffer);
  if (!buffer.pack.dims.empty()) return 0;
  const bool affine =
      std::all_of(access.index.begin(), access.index.end(), [](const auto& dim) { return dim.has_value(); });
  const i64 stride = stride_of(buffer.shape, access.index, axis_of(stage, axis).var);
  return affine && stride >= 2 && stride <= kShortStride ? stride : 0;
}

i64 element_stride(const State& state, const Stage& stage, const Access& access, int axis) {
  return stride_of(state.buffer(access.buffer).shape, access.index, axis_of(stage, axis).var);
}

static bool index_uses(const Stage&, const Expr& value, int buffer, int var) {
  bool uses = false;
  loop::for_each_load(value, [&](const Expr& load) {
    if (load.i != buffer) return;
    for (const Expr& e : load.args) uses = uses || loop::uses_var(e, var);
  });
  return uses;
}

Along along(const State& state, const Stage& stage, const Access& access, int axis) {
  const loop::Buffer& buffer = state.buffer(access.buffer);
  const Shape shape = buffer.pack.dims.empty() ? buffer.shape : loop::laid_out(buffer.pack);
  const Along how = stride_class(shape, access.index, axis_of(stage, axis).var);
  if (how == Along::random && !index_uses(stage, stage.store.value, access.buffer, axis_of(stage, axis).var))
    return Along::absent;
  return how;
}

Along store_along(const State& state, const Stage& stage, int axis) {
  std::vector<std::optional<Affine>> index;
  for (const Expr& e : stage.store.index) index.push_back(loop::as_affine(e));
  return stride_class(state.buffer(stage.store.buffer).shape, index, axis_of(stage, axis).var);
}

i64 points(const Stage& stage) { return outputs(stage) * reduction_points(stage); }

i64 outputs(const Stage& stage) {
  i64 count = 1;
  for (const Axis& axis : stage.axes) count *= axis.reduction ? 1 : axis.extent;
  return count;
}

i64 reduction_points(const Stage& stage) {
  i64 count = 1;
  for (const Axis& axis : stage.axes) count *= axis.reduction ? axis.extent : 1;
  return count;
}

double value_cost(const Expr& value) {
  double cost = 0;
  if (value.op == ExprOp::constant || value.op == ExprOp::var) return 0;
  if (value.op == ExprOp::load) return 0.5;
  const bool transcendental = value.op == ExprOp::pow || (value.op >= ExprOp::exp && value.op <= ExprOp::sigmoid);
  const bool slow = value.op == ExprOp::div || value.op == ExprOp::mod || value.op == ExprOp::sqrt ||
                    value.op == ExprOp::floordiv || value.op == ExprOp::floormod;
  cost = transcendental ? 20 : slow ? 4 : 1;
  for (const Expr& arg : value.args) cost += value_cost(arg);
  return cost;
}

bool has_select(const Expr& value) {
  return value.op == ExprOp::select || std::any_of(value.args.begin(), value.args.end(), has_select);
}

bool is_single_load(const Expr& value) {
  if (value.op == ExprOp::cast) return is_single_load(value.args[0]);
  return value.op == ExprOp::load;
}

i64 element_bytes(const State& state, const Stage& stage) {
  return std::max<i64>(1, size_of(state.buffer(stage.store.buffer).dtype));
}

double stage_seconds(const Stage& stage, const Target& target) {
  const double per_second = target.ghz * 1e9 * static_cast<double>(target.lanes(4)) * target.fma_per_cycle;
  return static_cast<double>(points(stage)) * std::max(1.0, value_cost(stage.store.value)) / per_second;
}

static std::vector<int> axes_where(const Stage& stage, bool reduction) {
  std::vector<int> axes;
  for (size_t i = 0; i < stage.axes.size(); i++) {
    if (stage.axes[i].reduction == reduction && stage.axes[i].extent > 1) axes.push_back(static_cast<int>(i));
  }
  return axes;
}

std::vector<int> spatial_axes(const Stage& stage) { return axes_where(stage, false); }
std::vector<int> reduction_axes(const Stage& stage) { return axes_where(stage, true); }

std::vector<int> reader_axes(const State& state, int reader, int buffer) {
  const Stage& stage = state.stage(reader);
  const size_t rank = state.buffer(buffer).shape.size();
  std::vector<int> axes(rank, -1);
  bool first = true;
  for (const Load& load : loads_of(state, stage)) {
    if (load.access.buffer != buffer) continue;
    for (size_t d = 0; d < rank; d++) {
      const std::optional<Affine>& affine = load.access.index[d];
      const bool plain = affine && affine->terms.size() == 1 && affine->terms[0].second == 1 && affine->constant == 0;
      const int axis = plain ? find_axis(stage, affine->terms[0].first) : -1;
      axes[d] = first || axes[d] == axis ? axis : -1;
    }
    first = false;
  }
  return axes;
}

}  // namespace mcc::schedule
