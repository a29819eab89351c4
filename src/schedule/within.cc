// Loops that leave out the terms of a reduction that lie outside a border (state.h, Within).
//
// Once all reduction loops that move an index are entered, it is V + factor * d, where V is known to the loops around
// and d = 0 .. extent - 1 are the iterations left of the spatial axis: those from `first` on, `count` of them, lie
// within. Both change with V only near the borders, so there are few cases. Each gets loops of its own, with constant
// extents; Ifs on V choose.
#include <algorithm>

#include "loop/build.h"
#include "schedule/emit.h"

namespace mcc::schedule {

namespace {

constexpr size_t kMostCases = 8;

struct Case {  // from the last one's end on, for V < end
  i64 end = 0, first = 0, count = 0;
};

Case case_of(const Within& w, i64 factor, i64 extent, i64 v) {
  Case c{v + 1, 0, extent};
  if (v < w.min) c.first = std::min(extent, ceil_div(w.min - v, factor));
  const i64 end = std::min(extent, floor_div(w.max - v, factor) + 1);
  c.count = std::max<i64>(0, end - c.first);
  return c;
}

// The cases over all values of V; only those near a border are looked at one by one.
std::vector<Case> cases_of(const Within& w, i64 factor, i64 extent, loop::Range v) {
  std::vector<Case> cases;
  const auto add = [&](Case c) {
    if (!cases.empty() && cases.back().first == c.first && cases.back().count == c.count) {
      cases.back().end = c.end;
    } else {
      cases.push_back(c);
    }
  };
  const i64 inside = std::min(v.max, w.max - factor * (extent - 1));  // all of them, from w.min to this
  for (i64 at = v.min; at <= v.max && cases.size() <= kMostCases; at++) {
    Case c = case_of(w, factor, extent, at);
    if (at >= w.min && at < inside) at = inside, c.end = at + 1;
    add(c);
  }
  return cases;
}

}  // namespace

size_t within_place(const Stage& stage, const Within& within, size_t init_at) {
  size_t place = init_at;
  for (size_t p = 0; p < stage.loops.size(); p++) {
    const Axis& axis = stage.axes[at(stage.loops[p].axis)];
    if (axis.reduction && within.index.coefficient(axis.var) != 0) place = std::max(place, p + 1);
  }
  return place;
}

void emit_within(Emitter& e, int id, const Within& within, const std::function<void(std::vector<loop::Stmt>&)>& inside,
                 std::vector<loop::Stmt>& out) {
  const Stage& stage = e.stage(id);
  Env& env = e.info(id).env;
  Affine v{within.index.constant, {}};
  for (const auto& [var, factor] : within.index.terms) add_scaled(v, env[at(find_axis(stage, var))].base, factor);
  const bool moves = within.axis >= 0;
  const i64 factor = moves ? within.index.coefficient(stage.axes[at(within.axis)].var) : 1;
  const std::vector<Case> cases = cases_of(within, factor, moves ? env[at(within.axis)].extent : 1, bounds_of(e, v));
  if (cases.size() > kMostCases) return e.illegal(fmt::format("skip: too many cases of {}", stage.block));
  const Env saved = env;
  std::vector<loop::Stmt>* to = &out;
  for (size_t i = 0; i < cases.size(); i++) {
    const bool last = i + 1 == cases.size();
    loop::If branch;
    if (!last) branch.condition = to_expr(v) < loop::const_int(cases[i].end);
    if (cases[i].count > 0) {
      if (moves) {
        env[at(within.axis)].base.constant += cases[i].first;
        env[at(within.axis)].extent = cases[i].count;
      }
      inside(last ? *to : branch.then_body);
      env = saved;
    }
    if (last) break;
    to->push_back(loop::Stmt{std::move(branch)});
    to = &std::get<loop::If>(to->back().node).else_body;
  }
}

}  // namespace mcc::schedule
