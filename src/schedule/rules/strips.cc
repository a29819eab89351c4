// Pools: the reduction over the rows of a window comes first (steps/strips.cc), so that windows side by side share it,
// and, where pixels lie side by side in memory, reads whole vectors whatever the stride. Both parts are scheduled as
// reductions are (tile.cc); the strips are made where some rows of the result are.
#include <algorithm>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

constexpr double kMostSteps = 1.5;  // of those that the windows take one by one

// The loops of the host, outermost first, at which the strips can be made.
Choice places(const Builder& b, const std::string& strips, const std::string& host) {
  Choice choice;
  choice.add(0, {});
  const Stage& stage = b.stage(host);
  for (size_t i = 0; i < stage.loops.size(); i++) {
    const LoopSpec& loop = stage.loops[i];
    const bool serial = loop.kind == loop::LoopKind::serial || loop.kind == loop::LoopKind::parallel;
    const Step step = step_of(StepKind::compute_at, strips, {host, loop.name});
    if (serial && legal(b.state, step)) choice.add(static_cast<i64>(i) + 1, {step}, true);
  }
  return choice;
}

}  // namespace

bool rule_strips(Builder& b, const std::string& block) {
  const Stage whole = b.stage(block);
  const std::vector<int> reduced = reduction_axes(whole);
  if (reduced.size() < 2) return false;
  const Step step = step_of(StepKind::strips, block, {axis_of(whole, reduced[0]).name});
  if (!legal(b.state, step)) return false;
  Builder tried = b;
  tried.fixed({step});
  const std::string strips = block + ".strips";
  const double steps = static_cast<double>(points(tried.stage(strips)) + points(tried.stage(block)));
  if (steps > kMostSteps * static_cast<double>(points(whole))) return false;
  tried.target.cores = 1;
  if (!rule_tile(tried, strips)) return false;
  tried.target.cores = b.target.cores;
  if (!rule_tile(tried, block)) return false;
  const auto host_of = [&](const std::string& name) { return tried.state.stage(tried.stage(name).at_stage).block; };
  tried.choice(strips + " place", places(tried, host_of(strips), host_of(block)));
  tried.special = true;
  b = std::move(tried);
  return true;
}

}  // namespace mcc::schedule
