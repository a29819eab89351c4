// Reductions along the contiguous axis, alone or in chains over the same rows: means and norms, softmax,
// normalisations.
//
// All stages of a chain are computed at the innermost row loop of its last stage (the host), so a row stays in the
// first cache and rows run in parallel. Each reduction splits its axis in lanes, and some vectors against latency, and
// keeps them apart until the end (rfactor).
#include <algorithm>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

// The reduction axis along which some large operand is contiguous; -1 if none.
int contiguous_reduction(const Builder& b, const Stage& stage) {
  for (int axis : reduction_axes(stage)) {
    for (const Load& load : loads_of(b.state, stage)) {
      if (along(b.state, stage, load.access, axis) == Along::contiguous) return axis;
    }
  }
  return -1;
}

struct Member {
  int stage = 0;
  std::vector<int> rows;  // its axes that enumerate the rows of the chain, outermost first
};
using Chain = std::vector<Member>;  // in program order; the last one is the host

// The axes of `reader` that follow the rows of `source`; false when it reads across rows, or differs from `rows` found
// before.
bool rows_agree(const State& state, int reader, const Member& source, std::vector<int>& rows) {
  const Stage &from = state.stage(source.stage), &to = state.stage(reader);
  const std::vector<int> axes = reader_axes(state, reader, from.store.buffer);
  const std::vector<StoreDim> dims = store_dims(from);
  std::vector<int> found;
  for (size_t d = 0; d < dims.size(); d++) {
    if (std::count(source.rows.begin(), source.rows.end(), dims[d].axis) == 0) continue;
    if (axes[d] < 0 || axis_of(to, axes[d]).reduction ||
        axis_of(to, axes[d]).extent != axis_of(from, dims[d].axis).extent)
      return false;
    found.push_back(axes[d]);
  }
  if (!rows.empty() && rows != found) return false;
  rows = found;
  return true;
}

// Whether `id` joins the chain: it reads its members row by row, and if it reduces, then to one value for each of the
// same rows.
bool joins(const Builder& b, const Chain& chain, int id, std::vector<int>& rows) {
  const Stage& stage = b.state.stage(id);
  if (stage.opaque || stage.place != Stage::Place::root || b.done.count(stage.block)) return false;
  bool reads_chain = false;
  for (const Member& member : chain) {
    if (!reads(stage, b.state.stage(member.stage).store.buffer)) continue;
    reads_chain = true;
    if (!rows_agree(b.state, id, member, rows)) return false;
  }
  if (!reads_chain) return false;
  return !is_reduction(stage) || (spatial_axes(stage) == rows && contiguous_reduction(b, stage) >= 0);
}

// Everything before the last member is read by members only, so it can be computed inside the last one.
bool closed(const Builder& b, const Chain& chain) {
  for (size_t m = 0; m + 1 < chain.size(); m++) {
    const Stage& member = b.state.stage(chain[m].stage);
    if (b.state.buffer(member.store.buffer).scope != loop::Scope::temp) return false;
    for (int user : readers(b.state, member.store.buffer)) {
      if (std::none_of(chain.begin(), chain.end(), [&](const Member& other) { return other.stage == user; }))
        return false;
    }
    if (!may_move(b.state, chain[m].stage, chain.back().stage).empty()) return false;
  }
  return true;
}

Chain find_chain(const Builder& b, int first) {
  Chain members{{first, spatial_axes(b.state.stage(first))}};
  Chain best = members;
  for (size_t i = static_cast<size_t>(first) + 1; i < b.state.stages.size(); i++) {
    std::vector<int> rows;
    if (!joins(b, members, static_cast<int>(i), rows)) continue;
    members.push_back({static_cast<int>(i), rows});
    if (closed(b, members)) best = members;
  }
  return best;
}

void mark_rows(Builder& b, const std::string& host, const std::vector<std::string>& rows,
               const std::vector<i64>& counts, double seconds) {
  if (b.target.cores <= 1 || rows.empty()) return;
  std::vector<i64> depths;
  std::vector<std::vector<Step>> marks;
  for (size_t depth = 0; depth <= std::min<size_t>(rows.size(), 3); depth++) {
    depths.push_back(static_cast<i64>(depth));
    marks.emplace_back();
    for (size_t i = 0; i < depth; i++) marks.back().push_back(mark_step(host, rows[i], "parallel"));
  }
  const int depth = std::min(parallel_depth(counts, seconds, b.target), static_cast<int>(depths.size()) - 1);
  b.choice(host + " parallel", depths, marks, depth);
}

// Rows outermost; then the rest, the contiguous axis last and in vectors.
void order_host(Builder& b, const Stage& host, const std::vector<int>& row_axes) {
  std::vector<std::string> rows, rest;
  for (const LoopSpec& loop : host.loops) {
    const bool unit = axis_of(host, loop.axis).extent == 1;
    (unit || std::count(row_axes.begin(), row_axes.end(), loop.axis) ? rows : rest).push_back(loop.name);
  }
  if (rest.empty()) return;
  const std::string v = rest.back();
  const i64 lanes = b.target.lanes(element_bytes(b.state, host));
  rest.pop_back();
  std::vector<std::string> order = rows;
  order.insert(order.end(), rest.begin(), rest.end());
  order.insert(order.end(), {v + ".0", v + ".1", v + ".2"});
  b.fixed({split_step(host.block, v, {2, lanes}), step_of(StepKind::reorder, host.block, order),
           mark_step(host.block, v + ".1", "unroll"), mark_step(host.block, v + ".2", "vectorize")});
}

}  // namespace

void lanes_of_reduction(Builder& b, const std::string& block) {
  const Stage stage = b.stage(block);
  const int axis = contiguous_reduction(b, stage);
  if (axis < 0 || !stage.init) return;
  const std::string j = axis_of(stage, axis).name, rf = block + ".rf", lane = j + ".1";
  const i64 lanes = b.target.lanes(element_bytes(b.state, stage)), extent = axis_of(stage, axis).extent;
  std::vector<std::string> order;
  for (const LoopSpec& loop : stage.loops) {
    if (loop.axis != axis) order.push_back(loop.name);
  }
  std::vector<i64> options;
  std::vector<std::vector<Step>> alternatives;
  int best = 0;
  for (i64 vectors : {1, 2, 4, 8}) {
    if (vectors > 1 && vectors * lanes > extent) break;
    if (vectors <= 4) best = static_cast<int>(options.size());
    options.push_back(vectors);
    alternatives.push_back({split_step(block, j, {vectors, lanes}), step_of(StepKind::rfactor, block, {lane}),
                            split_step(block, lane, {vectors, lanes})});
  }
  b.choice(block + " vectors", options, alternatives, best);
  order.insert(order.end(), {j + ".0", j + ".1", j + ".2"});
  b.fixed({step_of(StepKind::reorder, rf, order), mark_step(rf, j + ".1", "unroll"),
           mark_step(rf, j + ".2", "vectorize"), step_of(StepKind::compute_at, rf, {block, lane + ".0"}),
           step_of(StepKind::scope, rf, {"reg"}), mark_step(block, lane + ".1", "unroll"),
           mark_step(block, lane + ".2", "vectorize")});
}

bool rule_row(Builder& b, const std::string& block) {
  const int first = find_stage(b.state, block);
  if (contiguous_reduction(b, b.stage(block)) < 0 || !b.stage(block).init) return false;
  const Chain chain = find_chain(b, first);
  std::vector<std::string> members;
  double seconds = 0;
  for (const Member& member : chain) {
    members.push_back(b.state.stage(member.stage).block);
    seconds += stage_seconds(b.state.stage(member.stage), b.target);
  }
  const std::string host_block = members.back();
  const Stage host = b.stage(host_block);
  b.done.insert(members.begin(), members.end());
  std::vector<std::string> rows;
  std::vector<i64> counts;
  for (int axis : chain.back().rows) {
    rows.push_back(axis_of(host, axis).name);
    counts.push_back(axis_of(host, axis).extent);
  }
  const bool reduces = is_reduction(host);
  // Before anything is computed inside it.
  if (reduces)
    lanes_of_reduction(b, host_block);
  else
    order_host(b, host, chain.back().rows);
  for (const std::string& member : members) {
    if (member == host_block) continue;
    if (!rows.empty()) b.fixed({step_of(StepKind::compute_at, member, {host_block, rows.back()})});
    if (!is_reduction(b.stage(member))) rule_map(b, member, false);
  }
  for (const std::string& member : members) {
    if (member != host_block && is_reduction(b.stage(member))) lanes_of_reduction(b, member);
  }
  mark_rows(b, host_block, rows, counts, seconds);
  return true;
}

}  // namespace mcc::schedule
