// Contractions, depthwise convolutions and pools: everything that reduces and has a spatial axis to vectorise.
//
// The epilogue hosts the loops: (outer axes, rows in cache blocks, columns in cache blocks) in one of four orders, then
// the register tile, where the results are written back with bias, activation and so on applied. The reduction is
// computed at the tile with its accumulators in registers. A reduction that writes the result itself gets a copying
// epilogue (cache_write). Constants are packed in the order in which the tile reads them. Producers that are no
// reductions (padding) are computed before, or at a cache block or row. What makes the rows of a separable convolution
// (separable.cc) is computed at each block of rows, outside all columns.
#include <algorithm>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

constexpr i64 kLongReduction = 512;  // elements, to be made in blocks
constexpr i64 kRowTiles = 4;         // that share what a block reads

struct Tile {
  std::string block;  // the reduction
  Host host;
  TileAxes axes;
  i64 lanes = 1;
  bool two_rows = false;               // the register tile also has rows of outer_row
  std::string row, outer_row, column;  // the host's loops; "" if none
  std::string blocked;                 // the host's loop that is cut into cache blocks
  std::string by_channels;             // the producer to make for a block of columns at a time (channels.cc)
  std::string feeder;                  // the stage that makes the rows of each cache block (separable.cc)
  RegisterTile preferred;
  bool in_blocks = false;  // the reduction is made in blocks, each for all rows of a column tile
};

std::string host_loop(const Tile& t, int axis) { return axis < 0 ? "" : t.host.loop_of[static_cast<size_t>(axis)]; }

// Sizes to choose from for a loop of `count` iterations: powers of two up to `most`, all of it where that is no more,
// and what gives each of several threads as much as any.
std::vector<i64> block_sizes(i64 count, i64 most, int threads = 1) {
  std::set<i64> sizes;
  for (i64 s = 1; s < count && s <= most; s *= 2) sizes.insert(s);
  if (count <= most || sizes.empty()) sizes.insert(std::max<i64>(1, count));
  for (const i64 blocks : {2 * threads, 4 * threads, 8 * threads}) {
    const i64 share = ceil_div(count, blocks);
    if (threads > 1 && blocks <= count && share <= most) sizes.insert(share);
  }
  return {sizes.begin(), sizes.end()};
}

// What a column tile reads all along a long reduction takes much of the second cache, and many row tiles read it.
bool worth_blocks(const Builder& b, const Tile& t, const Stage& stage) {
  const std::vector<int> reduced = reduction_axes(stage);
  if (t.axes.row < 0 || reduced.empty() || axis_of(stage, reduced.back()).extent < kLongReduction) return false;
  const i64 row_tiles = outputs(stage) / (axis_of(stage, t.axes.column).extent * t.preferred.rows);
  const i64 panel = reduction_points(stage) * t.preferred.vectors * b.target.vector_bytes;
  return row_tiles >= kRowTiles && panel > b.target.l2_bytes / 4;
}

void choose_register_tile(Builder& b, Tile& t) {
  const Stage stage = b.stage(t.block);
  TileProblem p;
  p.columns = axis_of(stage, t.axes.column).extent;
  if (t.axes.row >= 0) p.rows = axis_of(stage, t.axes.row).extent;
  if (t.two_rows) p.rows2 = axis_of(stage, t.axes.outer_row).extent;
  p.reduction = reduction_points(stage);
  for (const Load& load : loads_of(b.state, stage)) {
    const bool column = along(b.state, stage, load.access, t.axes.column) != Along::absent;
    const bool row = t.axes.row >= 0 && along(b.state, stage, load.access, t.axes.row) != Along::absent;
    p.loads_both += column && row ? 1 : 0;
    p.loads_column += column && !row ? 1 : 0;
    p.loads_row += row && !column ? 1 : 0;
  }
  std::vector<RegisterTile> tiles = register_tiles(p, b.target, t.lanes);
  t.preferred = t.by_channels.empty() ? tiles[0] : channel_tile(b, stage, t.axes, t.by_channels, tiles);
  t.in_blocks = b.reduction_blocks && worth_blocks(b, t, stage);
  const auto code = [](const RegisterTile& r) { return r.rows2 * 10000 + r.rows * 100 + r.vectors; };
  std::sort(tiles.begin(), tiles.end(), [&](const auto& x, const auto& y) { return code(x) < code(y); });
  std::vector<i64> options;
  std::vector<std::vector<Step>> alternatives;
  int best = 0;
  for (const RegisterTile& r : tiles) {
    if (code(r) == code(t.preferred)) best = static_cast<int>(options.size());
    options.push_back(code(r));
    std::vector<Step> steps;
    if (!t.row.empty()) steps.push_back(split_step(t.host.block, t.row, {r.rows}));
    if (t.two_rows) steps.push_back(split_step(t.host.block, t.outer_row, {r.rows2}));
    steps.push_back(split_step(t.host.block, t.column, {r.vectors * t.lanes}));
    if (t.in_blocks) {
      steps.push_back(split_step(t.block, axis_of(stage, t.axes.row).name, {r.rows}));
      if (t.two_rows) steps.push_back(split_step(t.block, axis_of(stage, t.axes.outer_row).name, {r.rows2}));
      steps.push_back(split_step(t.block, axis_of(stage, t.axes.column).name, {r.vectors * t.lanes}));
    }
    for (Step& pack : pack_steps(b, stage, t.axes, r.vectors * t.lanes, r.rows, t.two_rows ? r.rows2 : 1))
      steps.push_back(std::move(pack));
    alternatives.push_back(std::move(steps));
  }
  b.choice(t.block + " register tile", options, alternatives, best, true);
  b.fixed({split_step(t.host.block, t.column + ".1", {t.lanes})});
  if (t.in_blocks) b.fixed({split_step(t.block, axis_of(stage, t.axes.column).name + ".1", {t.lanes})});
}

// Loop counts at the preferred register tile.
i64 count_of(const Builder& b, const Tile& t, const std::string& loop) {
  const Stage& host = b.stage(t.host.block);
  const LoopSpec& spec = host.loops[static_cast<size_t>(find_loop(host, loop))];
  return ceil_div(axis_of(host, spec.axis).extent, spec.chunk);
}

// What the thread with the most to do gets, relative to an equal share. The pool's last threads have one block more
// than the others where they do not come out even, and the last block is what is left.
double imbalance(i64 count, i64 size, int threads) {
  const i64 blocks = ceil_div(count, size), each = blocks / threads, more = blocks % threads;
  const i64 last = (each + (more > 0)) * size - (blocks * size - count);
  const i64 most = std::max(last, (more > 1 ? each + 1 : each) * size);
  return static_cast<double>(most * threads) / static_cast<double>(count);
}

// The largest block that leaves some for each thread, and about as much for each; where threads do not pay, the
// largest.
int preferred_block(const Builder& b, const Tile& t, const std::vector<i64>& sizes, i64 count) {
  constexpr double kEven = 1.05;
  const int threads = b.target.cores, largest = static_cast<int>(sizes.size()) - 1;
  if (!worth_threads(stage_seconds(b.stage(t.block), b.target), b.target) || count < threads) return largest;
  int most_even = 0;
  for (int i = largest; i >= 0; i--) {
    const i64 size = sizes[static_cast<size_t>(i)];
    if (ceil_div(count, size) < 2 * threads) continue;
    if (imbalance(count, size, threads) <= kEven) return i;
    if (imbalance(count, size, threads) < imbalance(count, sizes[static_cast<size_t>(most_even)], threads))
      most_even = i;
  }
  return most_even;
}

void choose_blocks(Builder& b, Tile& t) {
  const std::string& host = t.host.block;
  const bool settled = !t.by_channels.empty();
  if (!t.blocked.empty()) {
    const i64 count = count_of(b, t, t.blocked);
    const std::vector<i64> sizes = block_sizes(count, 64, b.target.cores);
    std::vector<std::vector<Step>> steps;
    for (i64 s : sizes) steps.push_back({split_step(host, t.blocked, {s})});
    const i64 channels = axis_of(b.stage(t.block), t.axes.column).extent;
    const int best = settled ? channel_rows(b, t.by_channels, std::min(channels, t.preferred.vectors * t.lanes),
                                            channels, count, sizes)
                             : preferred_block(b, t, sizes, count);
    b.choice(t.block + " cache rows", sizes, steps, best, settled);
  }
  const std::vector<i64> sizes = block_sizes(count_of(b, t, t.column + ".0"), 64);
  std::vector<std::vector<Step>> steps;
  for (i64 s : sizes) steps.push_back({split_step(host, t.column + ".0", {s})});
  b.choice(t.block + " cache columns", sizes, steps, settled ? 0 : static_cast<int>(sizes.size()) - 1, settled);
}

// Blocks of rows, each of which the feeder makes at once. The rest of the rule sees only the rows inside.
void choose_fed_rows(Builder& b, Tile& t) {
  const FedRows rows = fed_rows(b, t.feeder, t.block);
  std::vector<std::vector<Step>> steps;
  for (const i64 size : rows.sizes) steps.push_back({split_step(t.host.block, t.row, {size * rows.pixels})});
  b.choice(t.block + " fed rows", rows.sizes, steps, rows.preferred, true);
  t.row += ".1";
}

std::vector<std::string> in_order(const std::vector<std::vector<std::string>>& groups) {
  std::vector<std::string> order;
  for (const auto& group : groups) order.insert(order.end(), group.begin(), group.end());
  return order;
}

struct Order {
  std::vector<std::string> loops;  // outside the register tile
  size_t most_parallel = 0;        // of the outermost ones
  bool columns_first = false;      // all rows inside go over one column tile before the next
};

std::vector<std::string> register_tile_loops(const Tile& t) {
  std::vector<std::string> loops;
  if (t.two_rows) loops.push_back(t.outer_row + ".1");
  if (!t.row.empty()) loops.push_back(t.row + ".1");
  loops.insert(loops.end(), {t.column + ".1.0", t.column + ".1.1"});
  return loops;
}

std::vector<Order> loop_orders(const Tile& t, const Stage& host) {
  std::vector<std::string> outer, block_out, block_in, row_in;
  for (const LoopSpec& loop : host.loops) {
    const std::string& n = loop.name;
    if (n.starts_with(t.column + ".")) continue;
    if (!t.blocked.empty() && n.starts_with(t.blocked + ".")) continue;
    if (!t.row.empty() && n.starts_with(t.row + ".")) continue;
    if (t.two_rows && n.starts_with(t.outer_row + ".")) continue;
    outer.push_back(n);
  }
  if (!t.blocked.empty()) block_out = {t.blocked + ".0"}, block_in = {t.blocked + ".1"};
  if (!t.row.empty() && t.blocked != t.row + ".0") row_in = {t.row + ".0"};
  const std::string c0 = t.column + ".0.0", c1 = t.column + ".0.1";
  const size_t most = outer.size() + 2;
  if (t.row.empty()) return {{in_order({outer, {c0, c1}}), most}, {in_order({{c0, c1}, outer}), most}};
  if (!t.feeder.empty())
    return {{in_order({outer, {c0, c1}, row_in}), outer.size(), true},
            {in_order({outer, row_in, {c0, c1}}), outer.size()}};
  return {{in_order({outer, block_out, {c0, c1}, block_in, row_in}), most, true},
          {in_order({{c0}, outer, block_out, {c1}, block_in, row_in}), most, true},
          {in_order({{c0, c1}, outer, block_out, block_in, row_in}), most, outer.empty()},
          {in_order({outer, block_out, block_in, row_in, {c0, c1}}), most}};
}

// Four orders of the loops outside the register tile, how many of the outermost run in parallel, and whether each
// column tile has a panel of its own.
void choose_order(Builder& b, Tile& t) {
  const Stage host = b.stage(t.host.block), stage = b.stage(t.block);
  const std::vector<Order> orders = loop_orders(t, host);
  const Panel panel = find_panel(b, stage, t.axes);
  const RowPanel rows = b.copy_rows ? find_row_panel(b, stage, t.axes) : RowPanel{};
  std::vector<i64> options;
  std::vector<std::vector<Step>> alternatives;
  int best = 0;
  const size_t usual = t.by_channels.empty() ? 0 : 1;
  const double seconds = stage_seconds(stage, b.target);
  const auto add = [&](i64 code, const Order& order, size_t depth, bool with_panel, bool rows_first = false) {
    options.push_back(code);
    std::vector<Step> steps{step_of(StepKind::reorder, t.host.block, in_order({order.loops, register_tile_loops(t)}))};
    for (size_t i = 0; i < depth; i++) steps.push_back(mark_step(t.host.block, order.loops[i], "parallel"));
    steps.push_back(step_of(StepKind::compute_at, t.block, {t.host.block, order.loops.back()}));
    if (!rows.reduction.empty()) {
      const auto copy =
          row_panel_steps(rows, t.block, t.host.block, order.loops[order.loops.size() - 3], t.lanes, rows_first);
      steps.insert(steps.end(), copy.begin(), copy.end());
    } else if (with_panel) {
      const auto copy = panel_steps(*panel.copy, t.host.block, t.column + ".0.1", t.preferred.vectors, t.lanes);
      steps.insert(steps.end(), copy.begin(), copy.end());
    }
    alternatives.push_back(std::move(steps));
  };
  for (size_t o = 0; o < orders.size(); o++) {
    const Order& order = orders[o];
    std::vector<i64> counts;
    for (const std::string& loop : order.loops) counts.push_back(count_of(b, t, loop));
    const int wanted = parallel_depth(counts, seconds, b.target);
    std::set<int> axes;
    for (size_t depth = 0; depth <= (b.target.cores > 1 ? std::min(order.loops.size(), order.most_parallel) : 0);
         depth++) {
      if (depth > 0) {
        const LoopSpec& loop = host.loops[static_cast<size_t>(find_loop(host, order.loops[depth - 1]))];
        if (!axes.insert(loop.axis).second) break;
      }
      if (!rows.reduction.empty()) {
        if (o + 1 != orders.size()) break;
        if (static_cast<int>(depth) <= wanted) best = static_cast<int>(options.size());
        add(static_cast<i64>((o + 4) * 8 + depth), order, depth, false, true);
        add(static_cast<i64>((o + 5) * 8 + depth), order, depth, false, false);
        continue;
      }
      if (o == usual && static_cast<int>(depth) <= wanted) best = static_cast<int>(options.size());
      if (!panel.needed) add(static_cast<i64>(o * 8 + depth), order, depth, false);
      if (panel.copy && order.columns_first) add(static_cast<i64>((o + 4) * 8 + depth), order, depth, true);
    }
  }
  b.choice(t.block + " order and parallel", options, alternatives, best, !t.by_channels.empty());
  std::vector<Step> marks{mark_step(t.host.block, t.column + ".1.0", "unroll"),
                          mark_step(t.host.block, t.column + ".1.1", "vectorize"),
                          step_of(StepKind::scope, t.block, {"reg"})};
  if (!t.row.empty()) marks.push_back(mark_step(t.host.block, t.row + ".1", "unroll"));
  if (t.two_rows) marks.push_back(mark_step(t.host.block, t.outer_row + ".1", "unroll"));
  b.fixed(std::move(marks));
}

// The reduction's own loops. Those over register tiles are there only where it is made in blocks.
struct ReductionLoops {
  std::vector<std::string> first, tiles, reduction, tile;  // other axes, over register tiles, reduced axes, in the tile
};

ReductionLoops reduction_loops(const Stage& stage, const Tile& t) {
  ReductionLoops loops;
  for (const LoopSpec& loop : stage.loops) {
    if (loop.axis == t.axes.column || loop.axis == t.axes.row || (t.two_rows && loop.axis == t.axes.outer_row))
      continue;
    const Axis& axis = axis_of(stage, loop.axis);
    (axis.reduction && axis.extent > 1 ? loops.reduction : loops.first).push_back(loop.name);
  }
  for (const int axis : {t.two_rows ? t.axes.outer_row : -1, t.axes.row, t.axes.column}) {
    if (axis < 0) continue;
    const std::string name = axis_of(stage, axis).name;
    if (t.in_blocks) loops.tiles.push_back(name + ".0");
    loops.tile.push_back(t.in_blocks ? name + ".1" : name);
  }
  const std::string column = loops.tile.back();
  loops.tile.back() = column + ".0";
  loops.tile.push_back(column + ".1");
  return loops;
}

// All rows of a column tile take part in one block of the reduction before the next, so that what the columns read
// stays in a near cache; the sums wait in memory meanwhile. A step of the last axis is `step` elements.
void choose_reduction_blocks(Builder& b, const Tile& t, const ReductionLoops& loops, i64 step) {
  const std::string last = loops.reduction.back();
  std::vector<std::string> outside(loops.reduction.begin(), loops.reduction.end() - 1);
  outside.push_back(last + ".0.0");
  std::vector<i64> options;
  std::vector<std::vector<Step>> alternatives;
  for (const i64 block : {32, 64, 128}) {
    options.push_back(block * step);
    alternatives.push_back(
        {split_step(t.block, last + ".0", {block}),
         step_of(StepKind::reorder, t.block,
                 in_order({outside, loops.first, loops.tiles, {last + ".0.1", last + ".1"}, loops.tile}))});
  }
  b.choice(t.block + " reduction blocks", options, alternatives, 1);
  b.fixed({step_of(StepKind::compute_at, t.block, {t.host.block, t.column + ".0.1"}),
           step_of(StepKind::scope, t.block, {"local"})});
}

// The last axis of the reduction is unrolled in part, or the last two whole.
void choose_reduction_unroll(Builder& b, const Tile& t) {
  const Stage stage = b.stage(t.block);
  const ReductionLoops loops = reduction_loops(stage, t);
  const std::vector<std::string>& reduction = loops.reduction;
  const auto order = [&](const std::vector<std::string>& reduced) {
    return step_of(StepKind::reorder, t.block, in_order({loops.first, loops.tiles, reduced, loops.tile}));
  };
  std::vector<Step> marks;
  if (!t.in_blocks) marks.push_back(split_step(t.block, axis_of(stage, t.axes.column).name, {t.lanes}));
  const size_t vector = loops.tile.size() - 1;
  marks.push_back(mark_step(t.block, loops.tile[vector - 1], "unroll"));
  marks.push_back(mark_step(t.block, loops.tile[vector], "vectorize"));
  for (size_t i = 0; i + 1 < vector; i++) marks.push_back(mark_step(t.block, loops.tile[i], "unroll"));
  b.fixed(std::move(marks));
  if (reduction.empty()) return b.fixed({order({})});

  const auto extent_of = [&](const std::string& loop) {
    return axis_of(stage, stage.loops[static_cast<size_t>(find_loop(stage, loop))].axis).extent;
  };
  const std::string last = reduction.back();
  const i64 extent = extent_of(last), accumulators = t.preferred.rows * t.preferred.rows2 * t.preferred.vectors;
  std::vector<i64> options;
  std::vector<std::vector<Step>> alternatives;
  int best = 0;
  const auto add = [&](i64 unroll, std::vector<Step> steps, const std::vector<std::string>& reduced, bool good) {
    if (good) best = static_cast<int>(options.size());
    options.push_back(unroll);
    steps.push_back(order(reduced));
    alternatives.push_back(std::move(steps));
  };
  std::vector<std::string> parts(reduction.begin(), reduction.end() - 1);
  parts.insert(parts.end(), {last + ".0", last + ".1"});
  for (i64 u : {1, 2, 3, 4, 5, 7, 8, 16}) {
    if (u > extent || (u % 2 == 1 && u > 1 && extent != u)) continue;
    const bool good = u * accumulators <= 128 && (u == 1 || extent % u == 0 || extent > 4 * u) && u <= 8;
    add(u, {split_step(t.block, last, {u}), mark_step(t.block, last + ".1", "unroll")}, parts, good);
  }
  if (reduction.size() >= 2 && extent <= 7) {
    const std::string before = reduction[reduction.size() - 2];
    const i64 both = extent * extent_of(before);
    if (both <= 49 && both * accumulators <= 512) {
      add(both, {mark_step(t.block, last, "unroll"), mark_step(t.block, before, "unroll")}, reduction,
          both * accumulators <= 256);
    }
  }
  const i64 unrolled = options[static_cast<size_t>(best)];
  b.choice(t.block + " unrolled reduction", options, alternatives, best, true);
  if (t.in_blocks) choose_reduction_blocks(b, t, loops, unrolled);
}

void place_producers(Builder& b, const Tile& t) {
  for (const std::string& block : own_producers(b, t.block)) {
    b.done.insert(block);
    rule_map(b, block, false);
    std::vector<i64> options{0};
    std::vector<std::vector<Step>> alternatives{{}};
    int best = 0;
    const Stage producer = b.stage(block);
    if (b.target.cores > 1) {
      const i64 most = producer.axes.size() > 2 ? 2 : 1;
      std::vector<Step> marks;
      for (i64 l = 0; l < most; l++)
        marks.push_back(mark_step(block, producer.loops[static_cast<size_t>(l)].name, "parallel"));
      if (parallel_depth({64}, stage_seconds(producer, b.target), b.target) > 0) best = 1;
      options.push_back(1);
      alternatives.push_back(std::move(marks));
    }
    for (i64 where = 0; where < 2 && !t.blocked.empty(); where++) {
      const Step step = step_of(StepKind::compute_at, block, {t.host.block, fmt::format("{}.{}", t.blocked, where)});
      if (!legal(b.state, step)) continue;
      if (block == t.by_channels && where == 0) best = static_cast<int>(options.size());
      options.push_back(2 + where);
      alternatives.push_back({step});
    }
    b.choice(block + " place", options, alternatives, best, block == t.by_channels);
  }
}

}  // namespace

bool rule_tile(Builder& b, const std::string& block, const std::string& feeder) {
  Tile t;
  t.block = block;
  t.feeder = feeder;
  t.axes = tile_axes(b, b.stage(block));
  if (t.axes.column < 0) return false;
  t.lanes = b.target.lanes(element_bytes(b.state, b.stage(block)));
  t.host = find_host(b.state, block);
  if (t.host.block.empty() || b.done.count(t.host.block)) {
    const Step step = step_of(StepKind::cache_write, block);
    if (!legal(b.state, step)) return false;
    b.fixed({step});
    t.host = find_host(b.state, block);
    if (t.host.block.empty()) return false;
  }
  b.done.insert({block, t.host.block});
  const Stage stage = b.stage(block);
  t.column = host_loop(t, t.axes.column);
  t.row = host_loop(t, t.axes.row);
  t.outer_row = host_loop(t, t.axes.outer_row);
  t.by_channels = channel_producer(b, stage, t.axes);
  const std::string fed_loop = t.row + ".0";
  if (!feeder.empty()) choose_fed_rows(b, t);
  t.two_rows = feeder.empty() && t.axes.outer_row >= 0 && axis_of(stage, t.axes.row).extent <= 10;
  choose_register_tile(b, t);
  if (feeder.empty())
    t.blocked = t.two_rows             ? t.outer_row + ".0"
                : !t.outer_row.empty() ? t.outer_row
                : !t.row.empty()       ? t.row + ".0"
                                       : "";
  choose_blocks(b, t);
  choose_order(b, t);
  if (!feeder.empty()) b.fixed({step_of(StepKind::compute_at, feeder, {t.host.block, fed_loop})});
  choose_reduction_unroll(b, t);
  place_producers(b, t);
  choose_prefetch(b, block, t.preferred.rows * t.preferred.rows2,
                  reduction_points(stage) * t.preferred.vectors * t.lanes);
  return true;
}

}  // namespace mcc::schedule
