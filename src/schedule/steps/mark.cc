// mark BLOCK LOOP KIND: how a loop runs. Whether the marked loops nest legally is known only when all steps are done
// (generate.cc); here: a parallel loop must not carry a reduction.
//
// The outermost loop of an opaque block, or of a region, may be marked parallel when its iterations are provably
// independent: every access to a buffer that is written in it uses the loop's plain variable in one and the same
// dimension.
#include <functional>
#include <map>
#include <set>

#include "loop/loop_ops.h"
#include "schedule/steps.h"

namespace mcc::schedule {

namespace {

using loop::Expr;
using loop::Stmt;

std::optional<loop::LoopKind> kind_from(const std::string& word) {
  if (word == "serial") return loop::LoopKind::serial;
  if (word == "parallel") return loop::LoopKind::parallel;
  if (word == "vectorize") return loop::LoopKind::vectorize;
  if (word == "unroll") return loop::LoopKind::unroll;
  return std::nullopt;
}

struct Access {
  int buffer;
  const std::vector<Expr>* index;
  bool write;
};

void collect(const Expr& e, std::vector<Access>& to) {
  loop::for_each_load(e, [&](const Expr& load) { to.push_back({static_cast<int>(load.i), &load.args, false}); });
}

void collect(const Stmt& stmt, std::vector<Access>& to) {
  if (const loop::Loop* loop = std::get_if<loop::Loop>(&stmt.node)) {
    for (const Stmt& s : loop->body) collect(s, to);
  } else if (const loop::Store* store = std::get_if<loop::Store>(&stmt.node)) {
    for (const Expr& e : store->index) collect(e, to);
    collect(store->value, to);
    to.push_back({store->buffer, &store->index, true});
  } else {
    const loop::If& branch = std::get<loop::If>(stmt.node);
    collect(branch.condition, to);
    for (const Stmt& s : branch.then_body) collect(s, to);
    for (const Stmt& s : branch.else_body) collect(s, to);
  }
}

bool independent(const std::vector<Access>& accesses, int var) {
  std::map<int, std::set<size_t>> dims;  // of a written buffer: where the variable stands alone in all accesses so far
  for (const Access& a : accesses) {
    if (a.write) dims[a.buffer] = {};
  }
  std::set<int> seen;
  for (const Access& a : accesses) {
    if (!dims.count(a.buffer)) continue;
    std::set<size_t> here;
    for (size_t d = 0; d < a.index->size(); d++) {
      const Expr& e = (*a.index)[d];
      if (e.op == loop::ExprOp::var && e.i == var && (!seen.count(a.buffer) || dims[a.buffer].count(d))) here.insert(d);
    }
    if (here.empty()) return false;
    dims[a.buffer] = here;
    seen.insert(a.buffer);
  }
  return true;
}

Reason mark_opaque(Stage& stage, const Step& step, const std::vector<std::string>& vars) {
  loop::Loop* loop = std::get_if<loop::Loop>(&stage.opaque->node);
  if (!loop || vars[at(loop->var)] != step.loops[0])
    return "mark: only the outermost loop of such a block can be marked";
  if (step.loops[1] != "parallel") return "mark: such a block can only be marked parallel";
  std::vector<Access> accesses;
  collect(*stage.opaque, accesses);
  if (!independent(accesses, loop->var))
    return fmt::format("mark: iterations of {} may depend on each other", step.loops[0]);
  loop->kind = loop::LoopKind::parallel;
  return "";
}

bool in_region(const State& state, int region, int outer) {
  while (region >= 0 && region != outer) region = state.regions[at(region)].parent;
  return region == outer;
}

Reason mark_region(State& state, int region, const Step& step) {
  Region& r = state.regions[at(region)];
  if (r.parent >= 0 || step.loops[1] != "parallel")
    return "mark: only the outermost loop around blocks, and only parallel";
  std::vector<Access> accesses;
  for (Stage& stage : state.stages) {
    if (!in_region(state, stage.region, region)) continue;
    if (stage.opaque) {
      collect(*stage.opaque, accesses);
      continue;
    }
    collect(stage.store.value, accesses);
    if (stage.init) collect(*stage.init, accesses);
    accesses.push_back({stage.store.buffer, &stage.store.index, true});
  }
  if (!independent(accesses, r.var))
    return fmt::format("mark: iterations of {} may depend on each other", step.loops[0]);
  r.kind = loop::LoopKind::parallel;
  return "";
}

}  // namespace

Reason step_mark(State& state, const Step& step) {
  const int id = find_stage(state, step.block);
  if (id < 0) return fmt::format("mark: there is no block {}", step.block);
  Stage& stage = state.stage(id);
  const std::optional<loop::LoopKind> kind = kind_from(step.loops.at(1));
  if (!kind) return fmt::format("mark: '{}' is no kind of loop", step.loops[1]);
  for (int r = stage.region; r >= 0; r = state.regions[at(r)].parent) {
    if (state.vars[at(state.regions[at(r)].var)] == step.loops[0]) return mark_region(state, r, step);
  }
  if (stage.opaque) return mark_opaque(stage, step, state.vars);
  if (Reason why = schedulable(state, step.block, "mark"); !why.empty()) return why;
  const int found = find_loop(stage, step.loops[0]);
  if (found < 0) return fmt::format("mark: block {} has no loop {}", step.block, step.loops[0]);
  LoopSpec& loop = stage.loops[at(found)];
  if (*kind == loop::LoopKind::parallel && stage.axes[at(loop.axis)].reduction) {
    return fmt::format("mark: iterations of {} accumulate into the same elements", loop.name);
  }
  loop.kind = *kind;
  return "";
}

}  // namespace mcc::schedule
