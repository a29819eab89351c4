// strips BLOCK LOOP: of a window's reductions that over LOOP comes first, and neighbouring windows share it. BLOCK
// reads x[.., oy*2 + ky, ox*2 + kx]; the new block BLOCK.strips, right before it, reduces x[.., oy*2 + ky, at] over ky
// for every `at` that ox*2 + kx reaches, and BLOCK then reduces strips[.., oy, ox*2 + kx] over kx. A window of n by n
// takes n + n steps instead of n * n, and the strips lie side by side in memory where the windows do not.
// Floating-point sums are reassociated, as loop.h allows.
#include <algorithm>

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/steps.h"

namespace mcc::schedule {

namespace {

using loop::Affine;
using loop::Expr;

// One dimension of what BLOCK reads.
struct Dim {
  Affine index;
  bool reduced = false;   // LOOP moves in it
  std::vector<int> axes;  // that move in it, LOOP's left out
};

// The dimensions of the load, or why it is not of the kind above: each axis moves in one dimension at most, and where
// LOOP's does, others do, but no other reduction.
Reason find_dims(const Stage& stage, size_t loop_axis, std::vector<Dim>& dims) {
  Reason other = fmt::format("strips: {} does not read a window", stage.block);
  if (stage.store.value.op != loop::ExprOp::load) return other;
  std::vector<int> seen(stage.axes.size(), 0);
  for (const Expr& e : stage.store.value.args) {
    const std::optional<Affine> affine = loop::to_affine(e);
    if (!affine) return other;
    Dim dim{*affine, affine->coefficient(stage.axes[loop_axis].var) != 0, {}};
    for (const auto& [var, factor] : affine->terms) {
      const int axis = find_axis(stage, var);
      if (axis < 0 || factor < 0 || seen[at(axis)]++ > 0) return other;
      const bool this_one = at(axis) == loop_axis;
      if (dim.reduced && !this_one && stage.axes[at(axis)].reduction) return other;
      if (!this_one) dim.axes.push_back(axis);
    }
    if (dim.reduced && dim.axes.empty()) return other;
    dims.push_back(std::move(dim));
  }
  return seen[loop_axis] == 1 ? "" : other;
}

i64 last_of(const Stage& stage, const Affine& index) {
  return loop::range_of(index, [&](int var) { return stage.axes[at(find_axis(stage, var))].extent; }).max;
}

struct Made {
  Stage strips;
  std::vector<Expr> index;  // of what BLOCK reads of them
};

Made make_strips(State& state, const Stage& old, size_t loop_axis, const std::vector<Dim>& dims) {
  Made made;
  Stage& strips = made.strips;
  strips.block = old.block + ".strips";
  strips.region = old.region;
  const loop::Buffer whole = state.buffer(old.store.buffer);
  Shape shape;
  std::vector<Expr> from;
  const auto add = [&](const std::string& name, i64 extent) {
    shape.push_back(extent);
    strips.store.index.push_back(loop::var(add_axis(state, strips, name, extent)));
    return strips.store.index.back();
  };
  std::vector<size_t> reduced;  // dimensions of `from` that still lack LOOP's part
  for (const Dim& dim : dims) {
    Expr e = loop::const_int(dim.index.constant);
    if (dim.reduced) {
      for (const int a : dim.axes) {
        const Axis& axis = old.axes[at(a)];
        made.index.push_back(loop::var(axis.var));
        e = e + add(axis.name, axis.extent) * dim.index.coefficient(axis.var);
      }
      reduced.push_back(from.size());
    } else if (!dim.axes.empty()) {
      Affine walked = dim.index;
      walked.constant = 0;
      e = e + add(old.axes[at(dim.axes[0])].name, last_of(old, walked) + 1);
      made.index.push_back(loop::to_expr(walked));
    }
    from.push_back(std::move(e));
  }
  const Axis& axis = old.axes[loop_axis];
  const Expr k = loop::var(add_axis(state, strips, axis.name, axis.extent, true));
  for (const size_t d : reduced) from[d] = from[d] + k * dims[d].index.coefficient(axis.var);
  strips.store.op = old.store.op;
  strips.store.block = strips.block;
  const int source = static_cast<int>(old.store.value.i);
  strips.store.value = loop::load(state.buffer(source), source, std::move(from));
  strips.store.buffer = new_buffer(state, whole.name + ".strips", whole.dtype, std::move(shape));
  strips.init = loop::identity(old.store.op, whole.dtype);
  return made;
}

void remove_axis(Stage& stage, int axis) {
  std::erase_if(stage.loops, [&](const LoopSpec& loop) { return loop.axis == axis; });
  for (LoopSpec& loop : stage.loops) loop.axis -= loop.axis > axis ? 1 : 0;
  stage.axes.erase(stage.axes.begin() + axis);
}

}  // namespace

Reason step_strips(State& state, const Step& step) {
  if (Reason why = whole_reduction(state, step.block, step.loops.at(0), "strips"); !why.empty()) return why;
  const int id = find_stage(state, step.block);
  const Stage old = state.stage(id);
  const size_t axis = at(old.loops[at(find_loop(old, step.loops[0]))].axis);
  std::vector<Dim> dims;
  if (Reason why = find_dims(old, axis, dims); !why.empty()) return why;
  Made made = make_strips(state, old, axis, dims);
  Stage& block = state.stage(id);
  block.store.value = loop::load(state.buffer(made.strips.store.buffer), made.strips.store.buffer, made.index);
  block.ahead.clear();
  remove_axis(block, static_cast<int>(axis));
  insert_stage(state, id, std::move(made.strips));
  return "";
}

}  // namespace mcc::schedule
