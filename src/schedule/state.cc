// Look-ups and hazards on State.
#include "schedule/state.h"

#include <algorithm>

#include "loop/build.h"
#include "loop/loop_ops.h"

namespace mcc::schedule {

int find_stage(const State& state, const std::string& block) {
  for (size_t i = 0; i < state.stages.size(); i++) {
    if (state.stages[i].block == block) return static_cast<int>(i);
  }
  return -1;
}

int find_loop(const Stage& stage, const std::string& name) {
  for (size_t i = 0; i < stage.loops.size(); i++) {
    if (stage.loops[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int find_axis(const Stage& stage, int var) {
  for (size_t i = 0; i < stage.axes.size(); i++) {
    if (stage.axes[i].var == var) return static_cast<int>(i);
  }
  return -1;
}

int find_buffer(const State& state, const std::string& name) {
  for (size_t i = 0; i < state.buffers.size(); i++) {
    if (state.buffers[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

bool is_reduction(const Stage& stage) {
  return std::any_of(stage.axes.begin(), stage.axes.end(), [](const Axis& a) { return a.reduction; });
}

bool is_reduction_loop(const Stage& stage, const LoopSpec& loop) {
  return stage.axes[at(loop.lane >= 0 ? loop.lane : loop.axis)].reduction;
}

static bool contains(const std::vector<int>& list, int item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

loop::Range span_over(const State& state, const Stage& stage, const Affine& index) {
  return loop::range_of(index, [&](int var) {
    if (const int axis = find_axis(stage, var); axis >= 0) return stage.axes[at(axis)].extent;
    const auto region =
        std::find_if(state.regions.begin(), state.regions.end(), [&](const Region& r) { return r.var == var; });
    MCC_CHECK(region != state.regions.end());
    return region->extent;
  });
}

bool reads(const Stage& stage, int buffer) {
  if (stage.opaque) return contains(stage.opaque_reads, buffer);
  return loop::loads_buffer(stage.store.value, buffer) || (stage.init && loop::loads_buffer(*stage.init, buffer));
}

static bool loads_in_branch(const loop::Expr& e, int buffer) {
  for (size_t a = 0; a < e.args.size(); a++) {
    const bool branch = e.op == loop::ExprOp::select && a > 0;
    if (branch ? loop::loads_buffer(e.args[a], buffer) : loads_in_branch(e.args[a], buffer)) return true;
  }
  return false;
}

bool reads_part_of_parameter(const State& state, const Stage& stage, int buffer) {
  const loop::Scope scope = state.buffer(buffer).scope;
  if (scope != loop::Scope::input && scope != loop::Scope::output) return false;
  return loads_in_branch(stage.store.value, buffer) || (stage.init && loads_in_branch(*stage.init, buffer));
}

bool writes(const Stage& stage, int buffer) {
  return stage.opaque ? contains(stage.opaque_writes, buffer) : stage.store.buffer == buffer;
}

bool has_layout(const loop::Buffer& buffer) {
  const std::vector<loop::PackDim>& dims = buffer.pack.dims;
  for (size_t d = 0; d < dims.size(); d++) {
    if (dims[d] != loop::PackDim{static_cast<int>(d), 1}) return true;
  }
  return false;
}

std::vector<int> readers(const State& state, int buffer) {
  std::vector<int> found;
  for (size_t i = 0; i < state.stages.size(); i++) {
    if (state.stages[i].place != Stage::Place::inlined && reads(state.stages[i], buffer))
      found.push_back(static_cast<int>(i));
  }
  return found;
}

bool sole_writer(const State& state, int stage) {
  const int buffer = state.stage(stage).store.buffer;
  for (size_t i = 0; i < state.stages.size(); i++) {
    if (static_cast<int>(i) != stage && writes(state.stages[i], buffer)) return false;
  }
  return true;
}

Reason hosts_others(const State& state, int stage, std::string_view what) {
  for (const Stage& other : state.stages) {
    if (other.place == Stage::Place::at && other.at_stage == stage)
      return fmt::format("{}: {} is computed inside {}", what, other.block, state.stage(stage).block);
  }
  return "";
}

std::vector<StoreDim> store_dims(const Stage& stage) {
  std::vector<StoreDim> dims;
  for (const loop::Expr& e : stage.store.index) {
    const Affine affine = loop::as_affine(e).value();
    StoreDim dim{-1, affine.constant, -1, 1};
    for (const auto& [var, coefficient] : affine.terms) {
      const bool is_inner = affine.terms.size() > 1 && coefficient == 1;
      (is_inner ? dim.inner : dim.axis) = find_axis(stage, var);
      if (!is_inner) dim.tile = coefficient;
    }
    dims.push_back(dim);
  }
  return dims;
}

std::map<int, loop::Expr> axes_at(const Stage& producer, const std::vector<StoreDim>& dims, const loop::Expr& load) {
  std::map<int, loop::Expr> by_axis;
  for (size_t d = 0; d < dims.size(); d++) {
    if (dims[d].axis >= 0) by_axis[producer.axes[at(dims[d].axis)].var] = load.args[d] - dims[d].offset;
  }
  for (const Axis& axis : producer.axes) by_axis.try_emplace(axis.var, loop::const_int(0));  // extent 1
  return by_axis;
}

bool writes_tiles(const Stage& stage) {
  return std::any_of(stage.store.index.begin(), stage.store.index.end(),
                     [](const loop::Expr& e) { return loop::as_affine(e).value().terms.size() > 1; });
}

int new_buffer(State& state, std::string name, DType dtype, Shape shape) {
  while (find_buffer(state, name) >= 0) name += "_";
  loop::Buffer buffer;
  buffer.name = std::move(name);
  buffer.dtype = dtype;
  buffer.shape = std::move(shape);
  buffer.scope = loop::Scope::temp;
  state.buffers.push_back(std::move(buffer));
  return static_cast<int>(state.buffers.size()) - 1;
}

int new_var(State& state, const std::string& name) {
  state.vars.push_back(name);
  return static_cast<int>(state.vars.size()) - 1;
}

int add_axis(State& state, Stage& stage, const std::string& name, i64 extent, bool reduction) {
  const int axis = static_cast<int>(stage.axes.size());
  stage.axes.push_back({name, new_var(state, name), extent, reduction});
  stage.loops.push_back({name, axis, -1, 1, loop::LoopKind::serial});
  return stage.axes.back().var;
}

int insert_stage(State& state, int before, Stage stage) {
  for (Stage& s : state.stages) {
    if (s.at_stage >= before) s.at_stage++;
  }
  if (stage.at_stage >= before) stage.at_stage++;
  state.stages.insert(state.stages.begin() + before, std::move(stage));
  return before;
}

Reason may_move(const State& state, int from, int to) {
  const Stage& stage = state.stage(from);
  const Stage& host = state.stage(to);
  if (stage.region != host.region) return fmt::format("{} and {} are not in the same loop", stage.block, host.block);
  for (int i = 0; i < from; i++) {
    if (reads(state.stage(i), stage.store.buffer)) {
      return fmt::format("{} carries state to {}", stage.block, state.stage(i).block);
    }
  }
  for (int i = from + 1; i <= to; i++) {
    const Stage& between = state.stage(i);
    const std::vector<int> written = between.opaque ? between.opaque_writes : std::vector<int>{between.store.buffer};
    for (int buffer : written) {
      if (reads(stage, buffer)) return fmt::format("{} overwrites what {} reads", between.block, stage.block);
    }
  }
  return "";
}

Reason schedulable(const State& state, const std::string& block, std::string_view what) {
  const int index = find_stage(state, block);
  if (index < 0) return fmt::format("{}: there is no block {}", what, block);
  const Stage& stage = state.stage(index);
  if (stage.opaque) return fmt::format("{}: block {} has a form that is left as it is", what, block);
  if (stage.place == Stage::Place::inlined) return fmt::format("{}: block {} is inlined", what, block);
  return "";
}

Reason whole_reduction(const State& state, const std::string& block, const std::string& loop, std::string_view what) {
  if (Reason why = schedulable(state, block, what); !why.empty()) return why;
  const int id = find_stage(state, block);
  const Stage& stage = state.stage(id);
  const int found = find_loop(stage, loop);
  if (found < 0) return fmt::format("{}: block {} has no loop {}", what, block, loop);
  const auto changed = [](const LoopSpec& l) { return l.chunk != 1 || l.lane >= 0; };
  if (std::any_of(stage.loops.begin(), stage.loops.end(), changed) || stage.loops.size() != stage.axes.size())
    return fmt::format("{}: {} has loops that are split", what, block);
  if (!stage.within.empty()) return fmt::format("{}: {} leaves out terms", what, block);
  if (!stage.init || !is_reduction_loop(stage, stage.loops[at(found)]))
    return fmt::format("{}: {} is no reduction loop", what, loop);
  if (find_stage(state, fmt::format("{}.{}", block, what)) >= 0)
    return fmt::format("{}: there is {}.{} already", what, block, what);
  return hosts_others(state, id, what);
}

}  // namespace mcc::schedule
