// Emits the loops of all stages.
//
// A loop of chunk f over an axis with E elements left becomes a loop of E / f iterations (none when that is 0, no loop
// when 1), then the rest E % f once more as straight-line tail. Every extent is a number, nothing inside is guarded,
// and tails are as unrolled and vectorised as the main part. A ragged parallel loop stays one loop: one If on its
// variable picks main or tail. Before the body of a loop come the stages computed at it, each over just the part that
// is needed there (bounds.cc). A reduction's start values are stored right before its outermost reduction loop.
#include "schedule/generate.h"

#include <algorithm>

#include "loop/build.h"
#include "schedule/emit.h"

namespace mcc::schedule {

using loop::LoopKind;
using loop::Stmt;

int new_var(Emitter& e, const std::string& name, i64 extent, LoopKind kind) {
  std::string unique = name;
  const auto taken = [&](const std::string& s) {
    return std::find(e.out.vars.begin(), e.out.vars.end(), s) != e.out.vars.end();
  };
  for (int n = 1; taken(unique); n++) unique = fmt::format("{}_{}", name, n);
  e.out.vars.push_back(std::move(unique));
  e.var_extent.push_back(extent);
  e.var_unrolled.push_back(kind == LoopKind::unroll || kind == LoopKind::vectorize);
  return static_cast<int>(e.out.vars.size()) - 1;
}

namespace {

void emit_loops(Emitter& e, int id, size_t p, bool init, std::vector<Stmt>& out);

// A part of a loop: `count` iterations of `chunk` elements each from the axis' present base on. One loop, or none when
// count is 1.
struct Part {
  i64 count = 0, chunk = 0;
};

// Which axis a loop walks: when start values are stored, the part of a reduction axis that became spatial counts alone.
int walked(const LoopSpec& loop, bool init) { return init && loop.lane >= 0 ? loop.lane : loop.axis; }

int loop_var(Emitter& e, int id, size_t p) {
  int& var = e.info(id).loop_vars[p];
  const LoopSpec& loop = e.stage(id).loops[p];
  if (var < 0) var = new_var(e, loop.name, 0, loop.kind);
  return var;
}

// Moves the axes of loop p to `base + at`, `extent` elements.
void enter(Emitter& e, int id, size_t p, bool init, const Affine& base, i64 extent) {
  const LoopSpec& loop = e.stage(id).loops[p];
  Env& env = e.info(id).env;
  const auto set = [&](int axis) {
    add_scaled(env[at(axis)].base, base, 1);
    env[at(axis)].extent = extent;
  };
  set(walked(loop, init));
  if (!init && loop.lane >= 0) set(loop.lane);
}

bool is_private(loop::Scope scope) { return scope == loop::Scope::local || scope == loop::Scope::reg; }

// The buffer of a stage computed at a loop, for a part of this shape. Registers need their exact shape, so main and
// tails have buffers of their own; memory is shared and as large as the largest part.
int place_buffer(Emitter& e, const Stage& stage, const std::vector<i64>& shape) {
  std::vector<int>& variants = e.variants[at(stage.store.buffer)];
  for (int buffer : variants) {
    loop::Buffer& b = e.out.buffer(buffer);
    if (stage.scope == loop::Scope::reg && b.shape != shape) continue;
    for (size_t d = 0; d < shape.size(); d++) b.shape[d] = std::max(b.shape[d], shape[d]);
    return buffer;
  }
  loop::Buffer buffer = e.state.buffer(stage.store.buffer);
  const std::string name = buffer.name;
  const auto taken = [&](const loop::Buffer& other) { return other.name == buffer.name; };
  for (size_t n = variants.size();
       n > 0 && (std::ranges::any_of(e.state.buffers, taken) || std::ranges::any_of(e.out.buffers, taken)); n++)
    buffer.name = fmt::format("{}.{}", name, n);
  buffer.scope = stage.scope;
  buffer.shape = shape;
  e.out.buffers.push_back(std::move(buffer));
  variants.push_back(static_cast<int>(e.out.buffers.size()) - 1);
  return variants.back();
}

void emit_attached(Emitter& e, int id, int host, std::vector<Stmt>& out) {
  const Stage& stage = e.stage(id);
  Box box = needed(e, id, host);
  if (!e.why.empty()) return;
  if (e.parallel_depth > 0 && stage.scope == loop::Scope::temp) {
    return e.illegal(fmt::format("scope: {} is computed in a parallel loop, so it cannot share memory", stage.block));
  }
  if (is_private(stage.scope)) e.private_buffers++;
  e.info(id).env = env_of(e, id, box);
  Placed& placed = e.placed[at(stage.store.buffer)];
  placed.buffer = place_buffer(e, stage, box.extent);
  placed.base = std::move(box.base);
  emit_loops(e, id, 0, false, out);
}

// The body of loop p: what is computed at it, then the loops inside.
void emit_inside(Emitter& e, int id, size_t p, bool init, std::vector<Stmt>& out) {
  const std::vector<int>& attached = e.info(id).attached[p];
  if (!init) {
    for (int child : attached) emit_attached(e, child, id, out);
  }
  emit_loops(e, id, p + 1, init, out);
  if (init) return;
  for (int child : attached) {
    if (is_private(e.stage(child).scope)) e.private_buffers--;
    e.placed[at(e.stage(child).store.buffer)].buffer = -1;
  }
}

void emit_part(Emitter& e, int id, size_t p, bool init, Part part, std::vector<Stmt>& out) {
  const Env saved = e.info(id).env;
  if (part.count == 1) {
    enter(e, id, p, init, {}, part.chunk);
    emit_inside(e, id, p, init, out);
  } else {
    const int var = loop_var(e, id, p);
    e.var_extent[at(var)] = part.count;
    enter(e, id, p, init, loop::affine_var(var, part.chunk), part.chunk);
    loop::Loop loop{var, part.count, e.stage(id).loops[p].kind, {}};
    emit_inside(e, id, p, init, loop.body);
    if (!loop.body.empty()) out.push_back(Stmt{std::move(loop)});
  }
  e.info(id).env = saved;
}

struct Cut {
  i64 full = 0, rest = 0;
};
Cut cut_of(Emitter& e, int id, size_t p, bool init) {
  const LoopSpec& loop = e.stage(id).loops[p];
  const i64 extent = e.info(id).env[at(walked(loop, init))].extent;
  return {extent / loop.chunk, extent % loop.chunk};
}

void emit_serial(Emitter& e, int id, size_t p, bool init, std::vector<Stmt>& out) {
  const LoopSpec& loop = e.stage(id).loops[p];
  const Cut cut = cut_of(e, id, p, init);
  if (cut.full > 0) emit_part(e, id, p, init, {cut.full, loop.chunk}, out);
  if (cut.rest == 0) return;
  const Env saved = e.info(id).env;
  enter(e, id, p, init, {cut.full * loop.chunk, {}}, cut.rest);
  emit_inside(e, id, p, init, out);
  e.info(id).env = saved;
}

// Inside the parallel loops [p, end): chooses main or tail of each ragged one, then goes on with the loops inside.
void emit_cases(Emitter& e, int id, size_t p, size_t end, bool init, std::vector<Stmt>& out) {
  if (p == end) return emit_inside(e, id, end - 1, init, out);
  const LoopSpec& loop = e.stage(id).loops[p];
  const Cut cut = cut_of(e, id, p, init);
  const Env saved = e.info(id).env;
  const auto emit_case = [&](const Affine& base, i64 extent, std::vector<Stmt>& to) {
    enter(e, id, p, init, base, extent);
    emit_cases(e, id, p + 1, end, init, to);
    e.info(id).env = saved;
  };
  if (cut.full + (cut.rest > 0 ? 1 : 0) <= 1) return emit_case({}, cut.full > 0 ? loop.chunk : cut.rest, out);
  const int var = loop_var(e, id, p);
  const i64 ceiling = cut.full + (cut.rest > 0 ? 1 : 0);
  if (cut.rest == 0) return emit_case(loop::affine_var(var, loop.chunk), loop.chunk, out);
  loop::If branch;
  branch.condition = loop::var(var) < loop::const_int(cut.full);
  e.var_extent[at(var)] = cut.full;
  emit_case(loop::affine_var(var, loop.chunk), loop.chunk, branch.then_body);
  e.var_extent[at(var)] = ceiling;
  emit_case({cut.full * loop.chunk, {}}, cut.rest, branch.else_body);
  out.push_back(Stmt{std::move(branch)});
}

// The longest run of parallel loops from p on, with nothing computed between them: one parallel range.
size_t parallel_run(Emitter& e, int id, size_t p) {
  const Stage& stage = e.stage(id);
  size_t end = p + 1;
  while (end < stage.loops.size() && stage.loops[end].kind == LoopKind::parallel &&
         e.info(id).attached[end - 1].empty() && e.info(id).init_at != end) {
    end++;
  }
  for (size_t i = p; i < end; i++) {
    for (size_t j = i + 1; j < end; j++) {
      if (stage.loops[i].axis == stage.loops[j].axis)
        e.illegal(fmt::format("mark: {} and {} are both parallel", stage.loops[i].name, stage.loops[j].name));
    }
  }
  return end;
}

void emit_parallel(Emitter& e, int id, size_t p, bool init, std::vector<Stmt>& out) {
  const Stage& stage = e.stage(id);
  const size_t end = parallel_run(e, id, p);
  if (e.parallel_depth > 0)
    return e.illegal(fmt::format("mark: {} is inside another parallel loop", stage.loops[p].name));
  if (e.private_buffers > 0)
    return e.illegal(fmt::format("scope: a buffer of one thread is used in parallel loop {}", stage.loops[p].name));
  std::vector<Stmt>* body = &out;
  for (size_t i = p; i < end; i++) {
    const Cut cut = cut_of(e, id, i, init);
    const i64 count = cut.full + (cut.rest > 0 ? 1 : 0);
    if (count == 0) return;
    if (count == 1) continue;
    const int var = loop_var(e, id, i);
    e.var_extent[at(var)] = count;
    body->push_back(Stmt{loop::Loop{var, count, LoopKind::parallel, {}}});
    body = &std::get<loop::Loop>(body->back().node).body;
  }
  e.parallel_depth++;
  emit_cases(e, id, p, end, init, *body);
  e.parallel_depth--;
}

void emit_loop(Emitter& e, int id, size_t p, bool init, std::vector<Stmt>& out) {
  const Stage& stage = e.stage(id);
  if (p == stage.loops.size()) {
    out.push_back(init ? leaf_init(e, id) : leaf_store(e, id));
    return;
  }
  const LoopSpec& loop = stage.loops[p];
  if (init && is_reduction_loop(stage, loop)) return emit_loops(e, id, p + 1, true, out);
  if (loop.kind == LoopKind::parallel) return emit_parallel(e, id, p, init, out);
  emit_serial(e, id, p, init, out);
}

// Decides the Withins from number w on that belong before loop p, then goes on with the loop.
void emit_borders(Emitter& e, int id, size_t p, size_t w, std::vector<Stmt>& out) {
  const std::vector<size_t>& places = e.info(id).within_at;
  while (w < places.size() && places[w] != p) w++;
  if (w == places.size()) return emit_loop(e, id, p, false, out);
  emit_within(e, id, e.stage(id).within[w], [&](std::vector<Stmt>& body) { emit_borders(e, id, p, w + 1, body); }, out);
}

void emit_loops(Emitter& e, int id, size_t p, bool init, std::vector<Stmt>& out) {
  if (!e.why.empty()) return;
  if (init) return emit_loop(e, id, p, true, out);
  if (e.stage(id).init && p == e.info(id).init_at) emit_loops(e, id, p, true, out);
  emit_borders(e, id, p, 0, out);
}

void emit_root(Emitter& e, int id, std::vector<Stmt>& out) {
  const Stage& stage = e.stage(id);
  if (stage.opaque) {
    out.push_back(copy_opaque(e, *stage.opaque));
    return;
  }
  Env& env = e.info(id).env;
  env.clear();
  for (const Axis& axis : stage.axes) env.push_back({{}, axis.extent});
  emit_loops(e, id, 0, false, out);
}

bool inside(const State& state, int region, int outer) {
  while (region != outer && region >= 0) region = state.regions[at(region)].parent;
  return region == outer;
}

// Emits the stages of `region` from stage i on, regions inside it included; returns the first stage beyond it.
size_t emit_region(Emitter& e, int region, size_t i, std::vector<Stmt>& out) {
  const std::vector<Stage>& stages = e.state.stages;
  while (i < stages.size() && inside(e.state, stages[i].region, region)) {
    if (stages[i].place != Stage::Place::root) {
      i++;
    } else if (stages[i].region == region) {
      emit_root(e, static_cast<int>(i++), out);
    } else {
      int child = stages[i].region;
      while (e.state.regions[at(child)].parent != region) child = e.state.regions[at(child)].parent;
      const Region& r = e.state.regions[at(child)];
      const int var = new_var(e, e.state.vars[at(r.var)], r.extent, r.kind);
      e.outer_vars[r.var] = var;
      loop::Loop loop{var, r.extent, r.kind, {}};
      e.parallel_depth += r.kind == LoopKind::parallel ? 1 : 0;
      i = emit_region(e, child, i, loop.body);
      e.parallel_depth -= r.kind == LoopKind::parallel ? 1 : 0;
      out.push_back(Stmt{std::move(loop)});
    }
  }
  return i;
}

// --- preparation ----------------------------------------------------------------------------------------------------

void check_vector_loops(Emitter& e, int id) {
  const Stage& stage = e.stage(id);
  for (size_t p = 0; p < stage.loops.size(); p++) {
    if (stage.loops[p].kind != LoopKind::vectorize) continue;
    if (p + 1 != stage.loops.size())
      e.illegal(fmt::format("mark: {} of {} is not innermost", stage.loops[p].name, stage.block));
    if (!e.info(id).attached[p].empty())
      e.illegal(fmt::format("compute_at: a block is computed in vector loop {}", stage.loops[p].name));
  }
}

StageInfo describe(const Stage& stage) {
  StageInfo info;
  if (stage.opaque) return info;
  info.value_loads = collect_loads(stage, stage.store.value, info.plain_value);
  if (stage.init) info.init_loads = collect_loads(stage, *stage.init, info.plain_init);
  info.store = store_dims(stage);
  info.attached.resize(stage.loops.size());
  info.loop_vars.assign(stage.loops.size(), -1);
  while (info.init_at < stage.loops.size() && !is_reduction_loop(stage, stage.loops[info.init_at])) info.init_at++;
  for (const Within& within : stage.within) info.within_at.push_back(within_place(stage, within, info.init_at));
  return info;
}

void attach(Emitter& e) {
  for (size_t i = 0; i < e.state.stages.size(); i++) {
    const Stage& stage = e.state.stages[i];
    if (stage.place != Stage::Place::at) continue;
    const Stage& host = e.stage(stage.at_stage);
    const int found = find_loop(host, stage.at_loop);
    if (found < 0 || host.place == Stage::Place::inlined) {
      e.illegal(fmt::format("compute_at: {} has no place in {}", stage.block, host.block));
      continue;
    }
    e.info(stage.at_stage).attached[at(found)].push_back(static_cast<int>(i));
    int root = stage.at_stage;
    while (e.stage(root).place == Stage::Place::at) root = e.stage(root).at_stage;
    if (Reason why = may_move(e.state, static_cast<int>(i), root); !why.empty()) e.illegal("compute_at: " + why);
  }
}

// Parameters, and the temporaries of stages that are computed at the root, in the order of the Func.
void place_whole_buffers(Emitter& e) {
  const size_t count = e.state.buffers.size();
  e.placed.resize(count);
  e.variants.resize(count);
  e.readers.resize(count);
  std::vector<bool> used(count, false);
  for (size_t b = 0; b < count; b++) used[b] = loop::is_param(e.state.buffers[b].scope);
  for (size_t i = 0; i < e.state.stages.size(); i++) {
    const Stage& stage = e.state.stages[i];
    if (stage.place == Stage::Place::inlined) continue;
    if (stage.opaque) {
      for (int b : stage.opaque_reads) used[at(b)] = true;
      for (int b : stage.opaque_writes) used[at(b)] = true;
      for (int b : stage.opaque_reads) e.readers[at(b)].push_back(static_cast<int>(i));
      continue;
    }
    if (stage.place == Stage::Place::root) used[at(stage.store.buffer)] = true;
    for (const auto* loads : {&e.stages[i].value_loads, &e.stages[i].init_loads}) {
      for (const Access& access : *loads) {
        std::vector<int>& readers = e.readers[at(access.buffer)];
        if (readers.empty() || readers.back() != static_cast<int>(i)) readers.push_back(static_cast<int>(i));
      }
    }
  }
  for (size_t b = 0; b < count; b++) {
    if (!used[b]) continue;
    e.placed[b].buffer = static_cast<int>(e.out.buffers.size());
    e.out.buffers.push_back(e.state.buffers[b]);
  }
}

}  // namespace

Applied generate(const State& state) {
  Emitter e{state, {}, {}, {}, {}, {}, {}, {}, {}, 0, 0, {}};
  e.out.name = state.name;
  for (const Stage& stage : state.stages) e.stages.push_back(describe(stage));
  place_whole_buffers(e);
  attach(e);
  for (size_t i = 0; i < state.stages.size(); i++) check_vector_loops(e, static_cast<int>(i));
  if (e.why.empty()) emit_region(e, -1, 0, e.out.body);
  if (!e.why.empty()) return {std::nullopt, std::move(e.why)};
  lanes_innermost(e.out);
  fetch_ahead(state, e.out);
  return {std::move(e.out), ""};
}

}  // namespace mcc::schedule
