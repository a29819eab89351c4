// Contractions, depthwise convolutions and pools: everything that reduces and has a spatial axis to vectorise.
//
// The epilogue hosts the loops: (outer axes, rows in cache blocks, columns in cache blocks) in one of four orders, then
// the register tile, where the results are written back with bias, activation and so on applied. The reduction is
// computed at the tile with its accumulators in registers (tile_reduction.cc). A reduction that writes the result
// itself gets a copying epilogue (cache_write). Constants are packed in the order in which the tile reads them.
// Producers that are no reductions (padding) are computed before, or at a cache block or row. What makes the rows of a
// separable convolution (separable.cc) is computed at each block of rows, outside all columns.
#include "schedule/rules/tile.h"

#include <algorithm>

namespace mcc::schedule {

namespace {

constexpr i64 kLongReduction = 512;  // elements, to be made in blocks
constexpr i64 kRowTiles = 4;         // that share what a block reads

std::string host_loop(const Tile& t, int axis) { return axis < 0 ? "" : t.host.loop_of[at(axis)]; }

// Sizes to choose from for a loop of `count` iterations: powers of two up to `most`, all of it where that is no more,
// and what gives each of several threads as much as any.
std::vector<i64> block_sizes(i64 count, i64 most, int threads = 1) {
  std::set<i64> sizes;
  for (i64 s = 1; s < count && s <= most; s *= 2) sizes.insert(s);
  if (count <= most || sizes.empty()) sizes.insert(std::max<i64>(1, count));
  for (const i64 blocks : {threads, 2 * threads, 4 * threads, 8 * threads}) {
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

TileProblem tile_problem(const Builder& b, const Tile& t, const Stage& stage) {
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
  return p;
}

// The splits that make the tile, and the constants packed for it.
std::vector<Step> tile_steps(const Builder& b, const Tile& t, const Stage& stage, const RegisterTile& r) {
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
  return steps;
}

void choose_register_tile(Builder& b, Tile& t) {
  const Stage stage = b.stage(t.block);
  std::vector<RegisterTile> tiles = register_tiles(tile_problem(b, t, stage), b.target, t.lanes);
  t.preferred = t.by_channels.empty() ? tiles[0] : channel_tile(b, stage, t.axes, t.by_channels, tiles);
  t.in_blocks = b.variant.reduction_blocks && worth_blocks(b, t, stage);
  const auto code = [](const RegisterTile& r) { return r.rows2 * 10000 + r.rows * 100 + r.vectors; };
  std::sort(tiles.begin(), tiles.end(), [&](const auto& x, const auto& y) { return code(x) < code(y); });
  Choice choice;
  for (const RegisterTile& r : tiles) choice.add(code(r), tile_steps(b, t, stage, r), code(r) == code(t.preferred));
  b.choice(t.block + " register tile", std::move(choice), true);
  b.fixed({split_step(t.host.block, t.column + ".1", {t.lanes})});
  if (t.in_blocks) b.fixed({split_step(t.block, axis_of(stage, t.axes.column).name + ".1", {t.lanes})});
}

// Loop counts at the preferred register tile.
i64 count_of(const Builder& b, const Tile& t, const std::string& loop) {
  const Stage& host = b.stage(t.host.block);
  const LoopSpec& spec = host.loops[at(find_loop(host, loop))];
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
    const i64 size = sizes[at(i)];
    if (ceil_div(count, size) < 2 * threads) continue;
    if (imbalance(count, size, threads) <= kEven) return i;
    if (imbalance(count, size, threads) < imbalance(count, sizes[at(most_even)], threads)) most_even = i;
  }
  return most_even;
}

// A share of the rows for each thread, where it is no number of whole tiles; 0: there is none.
i64 rows_of_a_share(const Builder& b, const Tile& t) {
  const Stage& host = b.stage(t.host.block);
  const LoopSpec& tiles = host.loops[at(find_loop(host, t.blocked))];
  const i64 rows = axis_of(host, tiles.axis).extent, share = ceil_div(rows, b.target.cores);
  return b.target.cores > 1 && share > tiles.chunk && share % tiles.chunk != 0 ? share : 0;
}

void choose_blocks(Builder& b, Tile& t) {
  const std::string& host = t.host.block;
  const bool settled = !t.by_channels.empty();
  if (!t.blocked.empty()) {
    const i64 count = count_of(b, t, t.blocked);
    std::vector<i64> sizes = block_sizes(count, 64, b.target.cores);
    std::vector<std::vector<Step>> steps;
    for (i64 s : sizes) steps.push_back({split_step(host, t.blocked, {s})});
    const i64 channels = axis_of(b.stage(t.block), t.axes.column).extent;
    const int best = settled ? channel_rows(b, t.by_channels, std::min(channels, t.preferred.vectors * t.lanes),
                                            channels, count, sizes)
                             : preferred_block(b, t, sizes, count);
    if (const i64 share = rows_of_a_share(b, t); share > 0 && !settled) {
      sizes.push_back(-share);  // rows, not tiles
      steps.push_back({step_of(StepKind::share, host, {t.blocked}, {share})});
    }
    b.choice(t.block + " cache rows", sizes, steps, best, settled);
  }
  const std::vector<i64> sizes = block_sizes(count_of(b, t, t.column + ".0"), 64, b.target.cores);
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

// An order of the loops outside the register tile.
struct Order {
  std::vector<std::string> loops;
  size_t most_parallel = 0;    // of the outermost ones
  bool columns_first = false;  // all rows inside go over one column tile before the next
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
  if (!t.blocked.empty()) {
    block_out = {t.blocked + ".0"};
    block_in = {t.blocked + ".1"};
  }
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

// The outermost loops that may run in parallel: of one axis only one.
size_t deepest_parallel(const Builder& b, const Stage& host, const Order& order) {
  if (b.target.cores <= 1) return 0;
  std::set<int> axes;
  size_t depth = 0;
  while (depth < std::min(order.loops.size(), order.most_parallel) &&
         axes.insert(host.loops[at(find_loop(host, order.loops[depth]))].axis).second)
    depth++;
  return depth;
}

// One order, its `depth` outermost loops parallel, with the steps that copy an operand, if any.
std::vector<Step> order_steps(const Tile& t, const Order& order, size_t depth, const std::vector<Step>& copy = {}) {
  std::vector<Step> steps{step_of(StepKind::reorder, t.host.block, in_order({order.loops, register_tile_loops(t)}))};
  for (size_t i = 0; i < depth; i++) steps.push_back(mark_step(t.host.block, order.loops[i], "parallel"));
  steps.push_back(step_of(StepKind::compute_at, t.block, {t.host.block, order.loops.back()}));
  steps.insert(steps.end(), copy.begin(), copy.end());
  return steps;
}

// The option that stands for it. Numbers of orders from kCopying on: the same orders with a copy.
constexpr size_t kCopying = 4;
i64 order_option(size_t order, size_t depth) { return static_cast<i64>(order * 8 + depth); }

// Each order, each number of parallel loops; where operands can be copied, with and without that.
Choice orders_and_depths(const Builder& b, const Tile& t, const Stage& host) {
  const Stage& stage = b.stage(t.block);
  const std::vector<Order> orders = loop_orders(t, host);
  const Panel panel = find_panel(b, stage, t.axes);
  const RowPanel rows = b.variant.copy_rows ? find_row_panel(b, stage, t.axes) : RowPanel{};
  const bool copies_rows = !rows.reduction.empty();
  const size_t usual = copies_rows ? orders.size() - 1 : t.by_channels.empty() ? 0 : 1;
  Choice choice;
  for (size_t o = copies_rows ? usual : 0; o < orders.size(); o++) {
    const Order& order = orders[o];
    std::vector<i64> counts;
    for (const std::string& loop : order.loops) counts.push_back(count_of(b, t, loop));
    const int wanted = parallel_depth(counts, stage_seconds(stage, b.target), b.target);
    for (size_t depth = 0; depth <= deepest_parallel(b, host, order); depth++) {
      const bool good = o == usual && static_cast<int>(depth) <= wanted;
      if (copies_rows) {
        const auto copied = [&](bool rows_first) {
          const std::string& place = order.loops[order.loops.size() - 3];
          return order_steps(t, order, depth, row_panel_steps(rows, t.block, t.host.block, place, t.lanes, rows_first));
        };
        choice.add(order_option(kCopying + o, depth), copied(true), good);
        choice.add(order_option(kCopying + o + 1, depth), copied(false));
        continue;
      }
      if (!panel.needed) choice.add(order_option(o, depth), order_steps(t, order, depth), good);
      if (panel.copy && order.columns_first) {
        const auto copy = panel_steps(*panel.copy, t.host.block, t.column + ".0.1", t.preferred.vectors, t.lanes);
        choice.add(order_option(kCopying + o, depth), order_steps(t, order, depth, copy), good && panel.needed);
      }
    }
  }
  return choice;
}

// Four orders of the loops outside the register tile, how many of the outermost run in parallel, and whether each
// column tile has a panel of its own.
void choose_order(Builder& b, const Tile& t) {
  b.choice(t.block + " order and parallel", orders_and_depths(b, t, b.stage(t.host.block)), !t.by_channels.empty());
  std::vector<Step> marks{mark_step(t.host.block, t.column + ".1.0", "unroll"),
                          mark_step(t.host.block, t.column + ".1.1", "vectorize"),
                          step_of(StepKind::scope, t.block, {"reg"})};
  // The outermost loop can only be shared out among threads if there are blocks of what it walks.
  if (b.target.cores > 1) {
    for (const char* const blocks : {" cache rows", " cache columns"})
      b.try_together(t.block + blocks, t.block + " order and parallel");
  }
  if (!t.row.empty()) marks.push_back(mark_step(t.host.block, t.row + ".1", "unroll"));
  if (t.two_rows) marks.push_back(mark_step(t.host.block, t.outer_row + ".1", "unroll"));
  b.fixed(std::move(marks));
}

void place_producers(Builder& b, const Tile& t) {
  for (const std::string& block : own_producers(b, t.block)) {
    b.done.insert(block);
    rule_map(b, block, false);
    const Stage producer = b.stage(block);
    Choice choice;
    choice.add(0, {});
    if (b.target.cores > 1) {
      const size_t most = producer.axes.size() > 2 ? 2 : 1;
      std::vector<Step> marks;
      for (size_t l = 0; l < most; l++) marks.push_back(mark_step(block, producer.loops[l].name, "parallel"));
      choice.add(1, std::move(marks), parallel_depth({64}, stage_seconds(producer, b.target), b.target) > 0);
    }
    for (i64 where = 0; where < 2 && !t.blocked.empty(); where++) {
      const Step step = step_of(StepKind::compute_at, block, {t.host.block, fmt::format("{}.{}", t.blocked, where)});
      if (legal(b.state, step)) choice.add(2 + where, {step}, block == t.by_channels && where == 0);
    }
    b.choice(block + " place", std::move(choice), block == t.by_channels);
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
  choose_reduction(b, t);
  place_producers(b, t);
  choose_prefetch(b, block, t.preferred.rows * t.preferred.rows2,
                  reduction_points(stage) * t.preferred.vectors * t.lanes);
  return true;
}

}  // namespace mcc::schedule
