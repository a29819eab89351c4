// From a task to its space: first inlining, then each remaining stage goes to the first rule that knows its kind.
// Reductions come first, because they claim their epilogues and the producers that only they read.
#include "schedule/sketches.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

// In this order: a later algorithm must be clearly better to become the default. Tiles of 4x4 outputs have 2.25 times
// the weights of tiles of 2x2, and round more.
constexpr Variant kVariants[] = {
    {.name = "separable", .separable = true},
    {.name = "strips", .strips = true},
    {.name = "tile"},
    {.name = "winograd 2", .winograd = 2},
    {.name = "winograd 4", .winograd = 4},
    {.name = "tile, border skipped", .skip = true, .worth = 0.98},
    {.name = "winograd 6", .winograd = 6, .role = Role::searched},
    {.name = "tile, reduction in blocks", .reduction_blocks = true, .role = Role::searched},
    {.name = "tile, sums in parts", .parts = true},
    {.name = "tile, rows copied", .copy_rows = true, .role = Role::searched},
    {.name = "tile, nothing packed", .pack = false, .role = Role::fallback},
};

void schedule_reduction(Builder& b, const std::string& whole) {
  if (b.variant.winograd > 0 && rule_winograd(b, whole)) return;
  if (b.variant.separable && rule_separable(b, whole)) return;
  if (b.variant.strips && rule_strips(b, whole)) return;
  const std::string block = b.variant.parts ? cut_reduction(b, whole) : whole;
  TileAxes axes = tile_axes(b, b.stage(block));
  if (axes.gathers && copy_strided(b, block)) axes = tile_axes(b, b.stage(block));
  const bool awkward = axes.column < 0 || axes.gathers;
  if (awkward && rule_row(b, block)) return;
  if (!rule_tile(b, block) && !awkward) rule_row(b, block);
}

Builder run_rules(const Task& task, const Variant& variant) {
  Builder b;
  b.state = make_state(task.func);
  b.target = task.target;
  b.variant = variant;
  if (variant.skip) rule_skip(b);
  rule_inline(b);
  rule_attention(b);
  // Steps insert stages around the present one; `done` tells which are finished.
  for (size_t i = 0; i < b.state.stages.size(); i++) {
    const Stage& stage = b.state.stages[i];
    const std::string block = stage.block;
    if (stage.opaque || stage.place != Stage::Place::root || !is_reduction(stage) || b.done.count(block)) continue;
    if (points(stage) == 0 || find_stage(b.state, block) != static_cast<int>(i)) continue;
    schedule_reduction(b, block);
  }
  for (size_t i = 0; i < b.state.stages.size(); i++) {
    const Stage& stage = b.state.stages[i];
    const std::string block = stage.block;
    if (stage.place != Stage::Place::root || b.done.count(block) || find_stage(b.state, block) != static_cast<int>(i))
      continue;
    if (stage.opaque) {
      rule_opaque(b, block);
    } else if (!is_reduction(stage) && points(stage) > 0) {
      rule_map(b, block, true);
    }
  }
  return b;
}

// The first failure of each variant in this process: its others are mostly the same one.
void warn_once(const Variant& variant, const std::string& why) {
  static std::array<std::atomic_flag, std::size(kVariants)> warned;
  if (!warned[static_cast<size_t>(&variant - kVariants)].test_and_set()) spdlog::warn("{}", why);
}

}  // namespace

std::vector<PreferredSketch> preferred_sketches(const Task& task, std::vector<std::string>* failures) {
  std::vector<PreferredSketch> all;
  for (const Variant& variant : kVariants) {
    if (task.strict && (variant.winograd > 0 || variant.skip)) continue;
    Builder b;
    try {
      b = run_rules(task, variant);
    } catch (const InternalError& error) {
      const std::string why = fmt::format("{}: no schedule '{}': {}", task.name, variant.name, error.what());
      warn_once(variant, why);
      if (failures) failures->push_back(why);
      continue;
    }
    if ((variant.separable || variant.strips || variant.skip) && !b.special) continue;
    b.sketch.rules = variant.name;
    const bool known = std::any_of(all.begin(), all.end(), [&](const PreferredSketch& other) {
      return other.sketch.steps.size() == b.sketch.steps.size() && other.sketch.knobs == b.sketch.knobs &&
             resolve(other.sketch, {0, other.choices}) == resolve(b.sketch, {0, b.preferred});
    });
    if (!known)
      all.push_back({std::move(b.sketch), std::move(b.preferred), std::move(b.settled),
                     b.only_searched ? Role::searched : variant.role, std::move(b.together), variant.worth});
  }
  all.push_back({{"plain", {}, {}}, {}, {}, Role::fallback, {}, 1});
  return all;
}

}  // namespace mcc::schedule
