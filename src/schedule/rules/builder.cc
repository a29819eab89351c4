// Writing sketches step by step.
#include "schedule/rules/rules.h"

#include <algorithm>

namespace mcc::schedule {

Step split_step(const std::string& block, const std::string& loop, std::vector<i64> factors) {
  return {StepKind::split, block, {loop}, std::move(factors)};
}
Step mark_step(const std::string& block, const std::string& loop, const std::string& kind) {
  return {StepKind::mark, block, {loop, kind}, {}};
}
Step step_of(StepKind kind, const std::string& block, std::vector<std::string> words, std::vector<i64> ints) {
  return {kind, block, std::move(words), std::move(ints)};
}

std::vector<std::string> in_order(const std::vector<std::vector<std::string>>& groups) {
  std::vector<std::string> order;
  for (const auto& group : groups) order.insert(order.end(), group.begin(), group.end());
  return order;
}

bool legal(const State& state, const Step& step) {
  State tried = state;
  return run_step(tried, step).empty();
}

static void run_all(State& state, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    const Reason why = run_step(state, step);
    if (!why.empty()) throw InternalError(fmt::format("rule wrote '{}': {}", to_string(step), why));
  }
}

const Stage& Builder::stage(const std::string& block) const {
  const int id = find_stage(state, block);
  MCC_CHECK(id >= 0);
  return state.stage(id);
}

void Choice::add(i64 option, std::vector<Step> steps, bool good) {
  if (good) best = static_cast<int>(options.size());
  options.push_back(option);
  alternatives.push_back(std::move(steps));
}

void Builder::fixed(std::vector<Step> steps) {
  run_all(state, steps);
  sketch.steps.push_back({-1, {std::move(steps)}});
}

void Builder::choice(const std::string& name, std::vector<i64> options, std::vector<std::vector<Step>> alternatives,
                     int best, bool rule_knows) {
  MCC_CHECK(options.size() == alternatives.size() && best >= 0 && best < static_cast<int>(options.size()));
  if (options.size() == 1) return fixed(std::move(alternatives[0]));
  run_all(state, alternatives[at(best)]);
  sketch.steps.push_back({static_cast<int>(sketch.knobs.size()), std::move(alternatives)});
  sketch.knobs.push_back({name, std::move(options)});
  preferred.push_back(best);
  settled.push_back(rule_knows);
}

void Builder::choice(const std::string& name, Choice knob, bool rule_knows) {
  choice(name, std::move(knob.options), std::move(knob.alternatives), knob.best, rule_knows);
}

void Builder::try_together(const std::string& knob, const std::string& other) {
  const auto find = [&](const std::string& name) {
    return static_cast<size_t>(std::ranges::find(sketch.knobs, name, &Knob::name) - sketch.knobs.begin());
  };
  if (std::max(find(knob), find(other)) < sketch.knobs.size()) together.emplace_back(find(knob), find(other));
}

bool worth_threads(double seconds, const Target& target) {
  constexpr double kWorthIt = 12e-6;  // a parallel loop costs a few microseconds to start and to join
  return target.cores > 1 && seconds >= kWorthIt;
}

int parallel_depth(const std::vector<i64>& counts, double seconds, const Target& target) {
  if (!worth_threads(seconds, target)) return 0;
  i64 tasks = 1;
  for (size_t d = 0; d < counts.size(); d++) {
    tasks *= counts[d];
    if (tasks >= 4 * target.cores) return static_cast<int>(d) + 1;
  }
  return tasks >= target.cores ? static_cast<int>(counts.size()) : 0;
}

}  // namespace mcc::schedule
