// Attention as one program (passes/attention.cc): the scores, a product; the largest of each row, exp of the distance
// to it, their sum; the product with v, divided by the sums.
//
// The second product hosts everything: for each of its blocks of rows the scores are made, and what the softmax makes
// of them, into buffers that belong to the block and stay in a near cache. Both products get their tiles from
// rule_tile, the first one as if it ran on one thread, because heads and blocks of rows are parallel outside of it.
// What the products read across, k for one, is copied in the order of their tiles: once for each head inside of its
// loop, or for all heads before. One knob decides whether all this is done, or each stage is computed as a whole.
#include <algorithm>
#include <utility>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

using loop::StoreOp;

struct Attention {
  std::string product, scores;      // the first product; what the softmax reads: that, or an elementwise stage behind
  std::string top, weights, total;  // of each row: the largest score, the exps, their sum
  std::string weighted, host;       // the second product; the stage that divides
  std::vector<std::string> heads;   // the host's loops outside of rows and columns
  std::string rows;                 // the host's loop over blocks of rows
};

bool is_open(const Stage& stage) { return !stage.opaque && stage.place == Stage::Place::root && stage.region < 0; }

// The only stage that writes a temporary buffer; -1 if there are several, or it is a parameter.
int writer(const State& state, int buffer) {
  int found = -1;
  for (int i = 0; i < std::ssize(state.stages); i++) {
    if (!writes(state.stage(i), buffer) || state.stage(i).place == Stage::Place::inlined) continue;
    if (found >= 0 || !is_open(state.stage(i))) return -1;
    found = i;
  }
  return found;
}

std::vector<int> producers(const State& state, int id) {
  std::vector<int> found;
  for (const Load& load : loads_of(state, state.stage(id))) {
    const int from = writer(state, load.access.buffer);
    if (from >= 0 && std::count(found.begin(), found.end(), from) == 0) found.push_back(from);
  }
  return found;
}

std::vector<int> users(const State& state, int id) { return readers(state, state.stage(id).store.buffer); }

bool reduces(const State& state, int id, StoreOp op) {
  return is_open(state.stage(id)) && is_reduction(state.stage(id)) && state.stage(id).store.op == op &&
         state.stage(id).init;
}

// The stages without reduction from `id` back, that is itself and those that only it or they read.
std::vector<int> own_maps(const State& state, int id) {
  std::vector<int> found{id};
  for (size_t i = 0; i < found.size(); i++) {
    for (const int from : producers(state, found[i])) {
      if (!is_reduction(state.stage(from)) && users(state, from) == std::vector<int>{found[i]}) found.push_back(from);
    }
  }
  return found;
}

// The one reduction of this kind that only `maps` read, or that they and `also` read; -1 if none.
int reduction_behind(const State& state, const std::vector<int>& maps, StoreOp op) {
  for (const int map : maps) {
    for (const int from : producers(state, map)) {
      if (reduces(state, from, op) && users(state, from) == std::vector<int>{map}) return from;
    }
  }
  return -1;
}

// Completes what is known from the second product and the exps.
bool find_scores(const State& state, int weights, Attention& found) {
  const std::vector<int> maps = own_maps(state, weights);
  const int top = reduction_behind(state, maps, StoreOp::max);
  if (top < 0 || !is_single_load(state.stage(top).store.value)) return false;
  const std::vector<int> scores = producers(state, top);
  if (scores.size() != 1) return false;
  for (const int user : users(state, scores[0])) {
    if (user != top && std::count(maps.begin(), maps.end(), user) == 0) return false;
  }
  const bool plain = reduces(state, scores[0], StoreOp::add);
  const int product = plain ? scores[0] : reduction_behind(state, own_maps(state, scores[0]), StoreOp::add);
  if (product < 0 || loads_of(state, state.stage(product)).size() != 2) return false;
  found.top = state.stage(top).block;
  found.scores = state.stage(scores[0]).block;
  found.product = state.stage(product).block;
  return true;
}

std::optional<Attention> find_attention(const State& state) {
  for (int id = 0; id < std::ssize(state.stages); id++) {
    if (!reduces(state, id, StoreOp::add) || loads_of(state, state.stage(id)).size() != 2) continue;
    for (const int weights : producers(state, id)) {
      const std::vector<int> both = users(state, weights);
      if (is_reduction(state.stage(weights)) || both.size() != 2) continue;
      const int total = both[0] == id ? both[1] : both[0];
      if (!reduces(state, total, StoreOp::add) || !is_single_load(state.stage(total).store.value)) continue;
      Attention found;
      found.weighted = state.stage(id).block;
      found.weights = state.stage(weights).block;
      found.total = state.stage(total).block;
      if (find_scores(state, weights, found)) return found;
    }
  }
  return std::nullopt;
}

// What a product reads for its columns, in the order: other dimensions, reduced ones, columns. Nothing where a copy
// would not be legal, or be what is there.
std::optional<Step> copy_for_columns(const Builder& b, const Stage& stage, const TileAxes& axes) {
  for (const Load& load : loads_of(b.state, stage)) {
    if (load.constant_value() || along(b.state, stage, load.access, axes.column) == Along::absent) continue;
    std::vector<i64> order, reduced, columns;
    for (size_t d = 0; d < load.access.index.size(); d++) {
      const std::optional<Affine>& affine = load.access.index[d];
      if (!affine || affine->terms.size() > 1) return std::nullopt;
      const int axis = affine->terms.empty() ? -1 : find_axis(stage, affine->terms[0].first);
      (axis < 0                         ? order
       : axis == axes.column            ? columns
       : axis_of(stage, axis).reduction ? reduced
                                        : order)
          .push_back(static_cast<i64>(d));
    }
    order.insert(order.end(), reduced.begin(), reduced.end());
    order.insert(order.end(), columns.begin(), columns.end());
    const std::string& source = b.state.buffer(load.access.buffer).name;
    Step step = step_of(StepKind::cache_read, stage.block, {source}, std::move(order));
    if (columns.size() == 1 && legal(b.state, step)) return step;
  }
  return std::nullopt;
}

// Rows of v that lie far apart are copied for each head, or not at all.
void choose_copy_of_rows(Builder& b, const Attention& a) {
  const Stage stage = b.stage(a.weighted);
  const TileAxes axes = tile_axes(b, stage);
  const Panel panel = find_panel(b, stage, axes);
  const std::optional<Step> copy = copy_for_columns(b, stage, axes);
  if (!panel.copy || !copy || a.heads.empty()) return;
  const i64 lanes = b.target.lanes(element_bytes(b.state, stage));
  std::vector<Step> steps = panel_steps(*copy, a.host, a.heads.back(), 4, lanes);
  b.choice(a.weighted + " copy", {0, 1}, {{}, std::move(steps)}, 1);
}

// k, read along its rows, is turned before all heads or at each.
void choose_copy_of_columns(Builder& b, const Attention& a, const Step& copy) {
  const std::string block = copy.block + "." + copy.loops[0];
  b.fixed({copy});
  b.done.insert(block);
  rule_map(b, block, false);
  std::vector<i64> options{0};
  std::vector<std::vector<Step>> alternatives{{}};
  int best = 0;
  const auto add = [&](i64 option, std::vector<Step> steps, bool preferred) {
    if (!std::all_of(steps.begin(), steps.end(), [&](const Step& step) { return legal(b.state, step); })) return;
    if (preferred) best = static_cast<int>(options.size());
    options.push_back(option);
    alternatives.push_back(std::move(steps));
  };
  if (b.target.cores > 1) {
    std::vector<Step> marks;  // of the two outermost loops: heads alone may be too few
    for (size_t l = 0; l < 2; l++) marks.push_back(mark_step(block, b.stage(block).loops[l].name, "parallel"));
    add(1, std::move(marks), true);
  }
  i64 heads = 1;
  for (const std::string& loop : a.heads) {
    const Stage& host = b.stage(a.host);
    heads *= axis_of(host, host.loops[at(find_loop(host, loop))].axis).extent;
  }
  if (!a.heads.empty())
    add(2, {step_of(StepKind::compute_at, block, {a.host, a.heads.back()})},
        heads >= 4 * b.target.cores || b.target.cores == 1);
  b.choice(block + " place", options, alternatives, best);
}

bool schedule_products(Builder& b, Attention& a) {
  const TileAxes axes = tile_axes(b, b.stage(a.weighted));
  const Host host = find_host(b.state, a.weighted);
  if (host.block.empty() || axes.column < 0 || axes.row < 0 || axes.outer_row >= 0 || axes.gathers) return false;
  a.host = host.block;
  for (const LoopSpec& loop : b.stage(a.host).loops) {
    const auto is_loop_of = [&](int axis) { return host.loop_of[at(axis)] == loop.name; };
    if (!is_loop_of(axes.row) && !is_loop_of(axes.column)) a.heads.push_back(loop.name);
  }
  choose_copy_of_rows(b, a);
  if (!rule_tile(b, a.weighted)) return false;
  a.rows = host.loop_of[at(axes.row)] + ".0.0";
  if (find_loop(b.stage(a.host), a.rows) < 0) return false;

  const Stage product = b.stage(a.product);
  const TileAxes first = tile_axes(b, product);
  if (first.column < 0) return false;
  if (first.gathers) {
    const std::optional<Step> copy = copy_for_columns(b, product, first);
    if (!copy) return false;
    choose_copy_of_columns(b, a, *copy);
  }
  const int cores = std::exchange(b.target.cores, 1);
  const bool tiled = rule_tile(b, a.product);
  b.target.cores = cores;
  return tiled;
}

// The stages that are computed as a whole, or for each block of rows; in the latter case they take no more memory
// than that.
void choose_place(Builder& b, const Attention& a, const std::vector<std::string>& stages) {
  std::vector<Step> whole, blocks;
  for (const std::string& block : stages) {
    const Stage& stage = b.stage(block);
    if (b.target.cores > 1 && stage.axes.size() > 2) {
      const auto outermost =
          std::find_if(stage.loops.begin(), stage.loops.end(), [](const LoopSpec& loop) { return loop.axis == 0; });
      whole.push_back(mark_step(block, outermost->name, "parallel"));
    }
    blocks.push_back(step_of(StepKind::compute_at, block, {a.host, a.rows}));
  }
  b.choice(a.weights + " place", {0, 1}, {std::move(whole), std::move(blocks)}, 1);
}

bool schedule_attention(Builder& b, Attention a) {
  if (!schedule_products(b, a)) return false;
  const std::string scores = a.scores == a.product ? a.product + ".out" : a.scores;
  b.done.insert({a.top, a.weights, a.total});
  rule_map(b, a.weights, false);
  const std::vector<int> rows = reader_axes(b.state, find_stage(b.state, a.weights), b.stage(a.top).store.buffer);
  if (rows.empty() || rows.back() < 0) return false;
  const Stage weights = b.stage(a.weights);
  const Step inside = step_of(StepKind::compute_at, a.top, {a.weights, axis_of(weights, rows.back()).name});
  for (const std::string& block : {a.top, a.weights, a.total}) {
    const Step step = block == a.top ? inside : step_of(StepKind::compute_at, block, {a.host, a.rows});
    if (!legal(b.state, step)) return false;
  }
  b.fixed({inside});
  lanes_of_reduction(b, a.top);
  lanes_of_reduction(b, a.total);
  choose_place(b, a, {scores, a.weights, a.total});
  return true;
}

}  // namespace

std::string attention_scores(const State& state) {
  const std::optional<Attention> found = find_attention(state);
  return found ? found->scores : "";
}

bool rule_attention(Builder& b) {
  const std::optional<Attention> found = find_attention(b.state);
  if (!found) return false;
  Builder tried = b;
  if (!schedule_attention(tried, *found)) return false;
  b = std::move(tried);
  return true;
}

}  // namespace mcc::schedule
