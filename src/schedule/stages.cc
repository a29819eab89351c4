// Algorithm form -> State: finds the nests, tells regions from nests and conforming nests from opaque ones.
//
// A nest conforms when its store's index is a list of distinct loop variables (plus constants) and plain constants (in
// one dimension of a temp two variables may stand: i * extent of j + j), and when it either assigns once to each
// element (no reduction axis), and may read that element, or accumulates and reads its own buffer nowhere.
#include <algorithm>
#include <functional>
#include <set>

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/state.h"

namespace mcc::schedule {

using loop::Expr;
using loop::Loop;
using loop::Stmt;
using loop::Store;

namespace {

struct Nest {
  std::vector<const Loop*> loops;
  const Store* store = nullptr;             // of a perfect nest
  const std::vector<Stmt>* body = nullptr;  // of a loop that holds several statements
};

// Follows a chain of loops down to a store or to a body of several statements; neither when it meets an If.
Nest follow(const Stmt& stmt) {
  Nest nest;
  const Stmt* at = &stmt;
  while (const Loop* loop = std::get_if<Loop>(&at->node)) {
    nest.loops.push_back(loop);
    if (loop->body.size() != 1) {
      nest.body = &loop->body;
      return nest;
    }
    at = &loop->body[0];
  }
  nest.store = std::get_if<Store>(&at->node);
  return nest;
}

bool reads_only_own_element(const Store& store) {
  bool fine = true;
  loop::for_each_load(store.value, [&](const Expr& load) {
    if (load.i == store.buffer && (store.op != loop::StoreOp::assign || load.args != store.index)) fine = false;
  });
  return fine;
}

// i * extent of j + j, as merging dimensions for the reader's sake leaves it (loop/collapse.h).
bool is_merged(const Affine& affine, const Nest& nest, std::set<int>& used) {
  if (affine.terms.size() != 2 || affine.constant != 0) return false;
  const auto& [i, j] = affine.terms[0].second == 1 ? std::pair(affine.terms[1], affine.terms[0])
                                                   : std::pair(affine.terms[0], affine.terms[1]);
  const auto own = [&](int v) {
    return std::find_if(nest.loops.begin(), nest.loops.end(), [v](const Loop* l) { return l->var == v; });
  };
  const auto outer = own(i.first), inner = own(j.first);
  return outer != nest.loops.end() && inner != nest.loops.end() && j.second == 1 && i.second == (*inner)->extent &&
         used.insert(i.first).second && used.insert(j.first).second;
}

bool conforms(const State& state, const Nest& nest) {
  const Store& store = *nest.store;
  const bool may_merge = store.op == loop::StoreOp::assign && state.buffer(store.buffer).scope == loop::Scope::temp;
  std::set<int> used;
  for (const Expr& e : store.index) {
    const std::optional<Affine> affine = loop::as_affine(e);
    if (affine && may_merge && is_merged(*affine, nest, used)) continue;
    if (!affine || affine->terms.size() > 1) return false;
    if (affine->terms.empty()) continue;
    const auto& [var, coefficient] = affine->terms[0];
    const bool own =
        std::any_of(nest.loops.begin(), nest.loops.end(), [v = var](const Loop* l) { return l->var == v; });
    if (!own || coefficient != 1 || !used.insert(var).second) return false;
  }
  if (!reads_only_own_element(store)) return false;
  std::set<int> vars;
  for (const Loop* loop : nest.loops) {
    if (!vars.insert(loop->var).second || loop->kind != loop::LoopKind::serial) return false;
    if (store.op == loop::StoreOp::assign && loop->extent != 1 && !used.count(loop->var)) return false;
  }
  return true;
}

void collect_accesses(const Stmt& stmt, std::set<int>& reads, std::set<int>& writes, std::string& block) {
  const auto expr = [&](const Expr& e) {
    loop::for_each_load(e, [&](const Expr& load) { reads.insert(static_cast<int>(load.i)); });
  };
  if (const Loop* loop = std::get_if<Loop>(&stmt.node)) {
    for (const Stmt& s : loop->body) collect_accesses(s, reads, writes, block);
  } else if (const Store* store = std::get_if<Store>(&stmt.node)) {
    for (const Expr& e : store->index) expr(e);
    expr(store->value);
    if (store->op != loop::StoreOp::assign) reads.insert(store->buffer);
    writes.insert(store->buffer);
    block = store->block;
  } else {
    const loop::If& branch = std::get<loop::If>(stmt.node);
    expr(branch.condition);
    for (const Stmt& s : branch.then_body) collect_accesses(s, reads, writes, block);
    for (const Stmt& s : branch.else_body) collect_accesses(s, reads, writes, block);
  }
}

Stage opaque_stage(const Stmt& stmt, int region) {
  Stage stage;
  stage.region = region;
  stage.opaque = stmt;
  std::set<int> reads, writes;
  collect_accesses(stmt, reads, writes, stage.block);
  stage.opaque_reads.assign(reads.begin(), reads.end());
  stage.opaque_writes.assign(writes.begin(), writes.end());
  return stage;
}

Stage nest_stage(const State& state, const Nest& nest, int region) {
  Stage stage;
  stage.block = nest.store->block;
  stage.region = region;
  stage.store = *nest.store;
  for (const Loop* loop : nest.loops) {
    const int axis = static_cast<int>(stage.axes.size());
    const std::string& name = state.vars[at(loop->var)];
    stage.axes.push_back({name, loop->var, loop->extent, true});
    stage.loops.push_back({name, axis, -1, 1, loop::LoopKind::serial});
  }
  for (const StoreDim& dim : store_dims(stage)) {
    for (const int axis : {dim.axis, dim.inner})
      if (axis >= 0) stage.axes[at(axis)].reduction = false;
  }
  if (stage.store.op == loop::StoreOp::assign) {
    for (Axis& axis : stage.axes) axis.reduction = false;  // those left have extent 1
  }
  return stage;
}

// The start value of `init` in terms of `main`'s axes; nothing when init does not cover exactly what main accumulates
// into.
std::optional<Expr> init_value(const Stage& init, const Stage& main) {
  if (init.opaque || main.opaque || init.region != main.region || init.block != main.block + ".init")
    return std::nullopt;
  if (init.store.buffer != main.store.buffer || init.store.op != loop::StoreOp::assign) return std::nullopt;
  if (main.store.op == loop::StoreOp::assign) return std::nullopt;
  const std::vector<StoreDim> from = store_dims(init), to = store_dims(main);
  std::map<int, Expr> rename;
  for (size_t d = 0; d < from.size(); d++) {
    if (from[d].offset != to[d].offset || (from[d].axis < 0) != (to[d].axis < 0)) return std::nullopt;
    if (from[d].axis < 0) continue;
    const Axis &a = init.axes[at(from[d].axis)], &b = main.axes[at(to[d].axis)];
    if (a.extent != b.extent) return std::nullopt;
    rename[a.var] = loop::var(b.var);
  }
  return rename.empty() ? init.store.value : loop::substitute(init.store.value, rename);
}

void cut(State& state, const std::vector<Stmt>& body, int region) {
  for (const Stmt& stmt : body) {
    const Nest nest = follow(stmt);
    if (nest.body && nest.body->size() > 1) {
      int inner = region;
      for (const Loop* loop : nest.loops) {
        state.regions.push_back({inner, loop->var, loop->extent, loop->kind});
        inner = static_cast<int>(state.regions.size()) - 1;
      }
      cut(state, *nest.body, inner);
      continue;
    }
    if (!nest.store || !conforms(state, nest)) {
      state.stages.push_back(opaque_stage(stmt, region));
      continue;
    }
    Stage stage = nest_stage(state, nest, region);
    if (!state.stages.empty()) {
      if (std::optional<Expr> init = init_value(state.stages.back(), stage)) {
        stage.init = std::move(init);
        state.stages.pop_back();
      }
    }
    state.stages.push_back(std::move(stage));
  }
}

}  // namespace

State make_state(const loop::Func& func) {
  State state{func.name, func.vars, func.buffers, {}, {}};
  cut(state, func.body, -1);
  return state;
}

}  // namespace mcc::schedule
