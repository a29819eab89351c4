// Bounds inference: which part of a producer one iteration of its host needs.
//
// Every affine access index = c + sum of coefficient * axis, with axis in base .. base + extent - 1, covers exactly the
// range from its least to its largest value. The union over all readers is taken through the attach tree: a reader that
// is itself computed at the same or a deeper loop needs, now, what its own readers need. Bases stay affine in the loop
// variables, extents are numbers. When two accesses differ by more than a number, or an index is not affine, the part
// cannot be told and the schedule is illegal.
#include <algorithm>

#include "schedule/emit.h"

namespace mcc::schedule {

namespace {

using loop::Expr;
using loop::ExprOp;

void collect(const Expr& e, std::vector<Access>& loads, bool& plain) {
  if (e.op == ExprOp::var) plain = false;
  if (e.op != ExprOp::load) {
    for (const Expr& arg : e.args) collect(arg, loads, plain);
    return;
  }
  const size_t at = loads.size();
  loads.push_back({static_cast<int>(e.i), {}});
  for (const Expr& arg : e.args) {
    std::optional<Affine> affine = loop::as_affine(arg);
    if (!affine) {
      plain = false;
      collect(arg, loads, plain);
    }
    loads[at].index.push_back(std::move(affine));
  }
}

// The values of an access index under an environment: from `base` on, `extent` of them.
void range_of(Emitter& e, const Stage& stage, const Env& env, const Affine& index, Affine& base, i64& extent) {
  base = {index.constant, {}};
  extent = 1;
  for (const auto& [var, coefficient] : index.terms) {
    const int axis = find_axis(stage, var);
    if (axis < 0) {
      add_scaled(base, loop::affine_var(e.outer_vars.at(var)), coefficient);
      continue;
    }
    const AxisEnv& part = env[at(axis)];
    const i64 reach = std::max<i64>(part.extent - 1, 0) * coefficient;
    add_scaled(base, part.base, coefficient);
    if (reach < 0) base.constant += reach;
    extent += std::abs(reach);
  }
}

void join(Emitter& e, const Stage& producer, Box& box, size_t dim, const Affine& base, i64 extent) {
  const Affine apart = minus(base, box.base[dim]);
  if (!apart.is_constant())
    return e.illegal(fmt::format("compute_at: accesses to {} do not move together", producer.block));
  const i64 end = std::max(box.extent[dim], apart.constant + extent);
  if (apart.constant < 0) box.base[dim] = base;
  box.extent[dim] = end - std::min<i64>(apart.constant, 0);
}

void join_reader(Emitter& e, int producer, int reader, const Env& env, Box& box) {
  const Stage &from = e.stage(producer), &to = e.stage(reader);
  if (!to.within.empty())
    return e.illegal(fmt::format("compute_at: {} leaves out what {} would have to make", to.block, from.block));
  const auto add = [&](const Access& access) {
    if (access.buffer != from.store.buffer || !e.why.empty()) return;
    const bool first = box.base.empty();
    for (size_t d = 0; d < access.index.size(); d++) {
      if (!access.index[d])
        return e.illegal(fmt::format("compute_at: {} reads {} at an index that is not affine", to.block, from.block));
      Affine base;
      i64 extent = 0;
      range_of(e, to, env, *access.index[d], base, extent);
      if (!first) {
        join(e, from, box, d, base, extent);
      } else {
        box.base.push_back(std::move(base));
        box.extent.push_back(extent);
      }
    }
  };
  for (const Access& access : e.info(reader).value_loads) add(access);
  for (const Access& access : e.info(reader).init_loads) add(access);
}

// Of a producer that writes tiles whole ones are needed: those that the part touches.
void take_whole_tiles(Emitter& e, int producer, Box& box) {
  const std::vector<StoreDim>& dims = e.info(producer).store;
  for (size_t d = 0; d < dims.size(); d++) {
    if (dims[d].inner < 0) continue;
    const i64 tile = dims[d].tile, offset = dims[d].offset;
    Affine& base = box.base[d];
    for (const auto& [var, coefficient] : base.terms) {
      if (coefficient % tile == 0) continue;
      return e.illegal(fmt::format("compute_at: the loops do not follow the tiles of {}", e.stage(producer).block));
    }
    const i64 into = ((base.constant - offset) % tile + tile) % tile;  // elements of the first tile that are not needed
    base.constant -= into;
    box.extent[d] = round_up(box.extent[d] + into, tile);
  }
}

}  // namespace

std::vector<Access> collect_loads(const Stage&, const Expr& value, bool& plain) {
  std::vector<Access> loads;
  collect(value, loads, plain);
  return loads;
}

loop::Range bounds_of(const Emitter& e, const Affine& affine) {
  return loop::range_of(affine, [&](int var) { return e.var_extent[at(var)]; });
}

Box needed(Emitter& e, int producer, int host) {
  Box box;
  const Stage& stage = e.stage(producer);
  for (int reader : e.readers[at(stage.store.buffer)]) {
    if (reader == host) {
      join_reader(e, producer, reader, e.info(host).env, box);
    } else if (e.stage(reader).place != Stage::Place::at) {
      e.illegal(fmt::format("compute_at: {} reads {} outside the loop", e.stage(reader).block, stage.block));
    } else {
      const Box part = needed(e, reader, host);
      if (e.why.empty()) join_reader(e, producer, reader, env_of(e, reader, part), box);
    }
  }
  if (e.why.empty() && box.base.size() != stage.store.index.size())
    e.illegal(fmt::format("compute_at: nothing reads {}", stage.block));
  if (e.why.empty()) take_whole_tiles(e, producer, box);
  return box;
}

Env env_of(Emitter& e, int id, const Box& box) {
  const Stage& stage = e.stage(id);
  Env env;
  for (const Axis& axis : stage.axes) env.push_back({{}, axis.extent});
  for (size_t d = 0; d < box.base.size(); d++) {
    const StoreDim& dim = e.info(id).store[d];
    if (dim.axis < 0) continue;
    AxisEnv& part = env[at(dim.axis)];
    const i64 whole = part.extent;
    part.base = box.base[d];
    part.base.constant -= dim.offset;
    part.extent = box.extent[d] / dim.tile;
    part.base.constant /= dim.tile;
    for (auto& [var, coefficient] : part.base.terms) coefficient /= dim.tile;
    const loop::Range start = bounds_of(e, part.base);
    if (start.min < 0 || start.max + part.extent > whole) {
      e.illegal(fmt::format("compute_at: what is needed of {} lies partly outside it", stage.block));
    }
    const auto walks_lane = [&](const LoopSpec& loop) { return loop.lane == dim.axis; };
    if (part.extent != whole && std::any_of(stage.loops.begin(), stage.loops.end(), walks_lane)) {
      e.illegal(fmt::format("compute_at: only part of the partial results of {} is needed", stage.block));
    }
  }
  return env;
}

}  // namespace mcc::schedule
