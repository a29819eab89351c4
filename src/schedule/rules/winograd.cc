// 3x3 convolutions with stride 1 by Winograd's algorithm (steps/winograd.cc), as a sketch beside the direct one. The
// products are a batch of matrix products and get their tile from rule_tile. The transforms work on one vector of
// channels at a time: everything between the loads and the stores of a tile is straight-line code. The epilogue takes
// whole tiles of outputs and has the last transform computed at each.
#include <algorithm>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

// The loops of `block` in this order, then those named in `straight`, which are unrolled (the last one vectorised).
std::vector<Step> straight_line(const std::string& block, std::vector<std::string> order,
                                const std::vector<std::string>& straight) {
  order.insert(order.end(), straight.begin(), straight.end());
  std::vector<Step> steps{step_of(StepKind::reorder, block, std::move(order))};
  for (const std::string& loop : straight)
    steps.push_back(mark_step(block, loop, loop == straight.back() ? "vectorize" : "unroll"));
  return steps;
}

// The loops of a stage: `outer` and `channels` in an order to choose, then `straight`. The stages of `inside` are
// computed at the innermost one that is not straight.
struct Nest {
  std::string block;
  std::vector<std::string> outer;
  std::string channels;
  std::vector<std::string> straight, inside;
};

// The channels inside or outside of everything else; with the outermost loops parallel.
void choose_order(Builder& b, const Nest& nest, double seconds) {
  const Stage stage = b.stage(nest.block);
  std::vector<i64> options;
  std::vector<std::vector<Step>> alternatives;
  int best = 0;
  for (i64 o = 0; o < 2; o++) {
    std::vector<std::string> order = nest.outer;
    order.insert(o == 0 ? order.end() : order.begin(), nest.channels);
    std::vector<i64> counts;
    for (const std::string& name : order) {
      const LoopSpec& loop = stage.loops[at(find_loop(stage, name))];
      counts.push_back(ceil_div(axis_of(stage, loop.axis).extent, loop.chunk));
    }
    const int wanted = parallel_depth(counts, seconds, b.target);
    for (i64 depth = 0; depth <= (b.target.cores > 1 ? std::ssize(order) : 0); depth++) {
      std::vector<Step> steps = straight_line(nest.block, order, nest.straight);
      for (i64 i = 0; i < depth; i++) steps.push_back(mark_step(nest.block, order[at(i)], "parallel"));
      for (const std::string& inner : nest.inside)
        steps.push_back(step_of(StepKind::compute_at, inner, {nest.block, order.back()}));
      if (o == 0 && depth <= wanted) best = static_cast<int>(options.size());
      options.push_back(o * 8 + depth);
      alternatives.push_back(std::move(steps));
    }
  }
  b.choice(nest.block + " order and parallel", options, alternatives, best);
}

std::vector<std::string> names_of(const Stage& stage, size_t from, size_t count) {
  std::vector<std::string> names;
  for (size_t a = from; a < from + count; a++) names.push_back(stage.axes[a].name);
  return names;
}

// The block that pads, if that is one of its own: computed before, or for each row of tiles.
void place_padding(Builder& b, const std::string& in, int input) {
  for (size_t i = 0; i < b.state.stages.size(); i++) {
    const Stage pad = b.state.stages[i];
    if (!writes(pad, input) || pad.opaque || pad.place != Stage::Place::root || b.done.count(pad.block)) continue;
    if (readers(b.state, input).size() != 1) return;
    b.done.insert(pad.block);
    rule_map(b, pad.block, false);
    std::vector<i64> options{0};
    std::vector<std::vector<Step>> alternatives{{}};
    int best = 0;
    if (b.target.cores > 1) {
      if (parallel_depth({64}, stage_seconds(pad, b.target), b.target) > 0) best = 1;
      options.push_back(1);
      alternatives.push_back({mark_step(pad.block, b.stage(pad.block).loops[0].name, "parallel")});
    }
    const Step at = step_of(StepKind::compute_at, pad.block, {in, "ty"});
    if (legal(b.state, at)) {
      options.push_back(2);
      alternatives.push_back({at});
    }
    return b.choice(pad.block + " place", options, alternatives, best);
  }
}

// V: tiles of the input.
void schedule_input(Builder& b, const std::string& block, size_t batch, i64 lanes) {
  const std::string in = block + ".in", rows = block + ".row_in";
  const Stage stage = b.stage(in);
  const int input = loads_of(b.state, b.stage(rows))[0].access.buffer;
  b.fixed({split_step(in, "ic", {lanes}), split_step(rows, "ic", {lanes})});
  choose_order(b, {in, names_of(stage, 2, batch + 2), "ic.0", {"a", "b", "ic.1"}, {rows}},
               stage_seconds(stage, b.target));
  std::vector<std::string> order = names_of(b.stage(rows), 1, batch + 1);
  order.emplace_back("ic.0");
  b.fixed(straight_line(rows, order, {"a", "x", "ic.1"}));
  place_padding(b, in, input);
}

// The loops of the epilogue over the image and the channels.
struct Image {
  std::string y, x, channels;
};

// Y, tile by tile inside the epilogue `host`.
void schedule_output(Builder& b, const std::string& block, const std::string& host, const Image& image, i64 lanes) {
  const std::string rows = block + ".row_out";
  const auto& [y, x, oc] = image;
  std::vector<std::string> outer;
  for (const LoopSpec& loop : b.stage(host).loops) {
    if (loop.name != y && loop.name != x && loop.name != oc) outer.push_back(loop.name);
  }
  outer.insert(outer.end(), {y + ".0", x + ".0"});
  b.fixed({split_step(host, y, {b.variant.winograd}), split_step(host, x, {b.variant.winograd}),
           split_step(host, oc, {lanes}), split_step(block, "oc", {lanes}), split_step(rows, "oc", {lanes})});
  choose_order(b, {host, outer, oc + ".0", {y + ".1", x + ".1", oc + ".1"}, {block, rows}},
               stage_seconds(b.stage(block), b.target));
  std::vector<std::string> order = names_of(b.stage(block), 0, b.stage(block).axes.size() - 5);
  order.insert(order.end(), {"ty", "tx", "oc.0"});
  b.fixed(straight_line(block, order, {"r", "c", "oc.1"}));
  b.fixed(straight_line(rows, order, {"r", "b", "oc.1"}));
}

}  // namespace

bool rule_winograd(Builder& b, const std::string& block) {
  const Stage conv = b.stage(block);
  if (spatial_axes(conv).size() < 3 || reduction_axes(conv).size() != 3) return false;
  State tried = b.state;
  std::vector<Step> steps;
  Host host = find_host(tried, block);
  if (host.block.empty() || b.done.count(host.block)) {
    steps.push_back(step_of(StepKind::cache_write, block));
    if (!run_step(tried, steps[0]).empty()) return false;
    host = find_host(tried, block);
    if (host.block.empty()) return false;
  }
  steps.push_back(step_of(StepKind::winograd, block, {}, {b.variant.winograd}));
  if (!run_step(tried, steps.back()).empty()) return false;
  b.fixed(std::move(steps));
  for (const char* part : {"", ".row_in", ".in", ".mul", ".row_out"}) b.done.insert(block + part);
  b.done.insert(host.block);
  const std::vector<StoreDim> dims = store_dims(conv);  // batch, y, x, channels
  const size_t batch = dims.size() - 3;
  const auto loop = [&](size_t d) { return host.loop_of[at(dims[batch + d].axis)]; };
  const i64 lanes = b.target.lanes(element_bytes(b.state, conv));
  schedule_input(b, block, batch, lanes);
  schedule_output(b, block, host.block, {loop(0), loop(1), loop(2)}, lanes);
  return rule_tile(b, block + ".mul");
}

}  // namespace mcc::schedule
