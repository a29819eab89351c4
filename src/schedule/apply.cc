// A trace on a Func: cut into stages, edit step by step, generate. Pure; the reason of the first illegal step is the
// result when there is one.
#include <array>

#include "schedule/generate.h"
#include "schedule/steps.h"

namespace mcc {

namespace schedule {

namespace {
struct Row {
  StepKind kind;
  Reason (*run)(State&, const Step&);
};
constexpr std::array<Row, 17> kSteps = {{
    {StepKind::split, step_split},
    {StepKind::reorder, step_reorder},
    {StepKind::mark, step_mark},
    {StepKind::inline_block, step_inline},
    {StepKind::compute_at, step_compute_at},
    {StepKind::scope, step_scope},
    {StepKind::cache_write, step_cache_write},
    {StepKind::cache_read, step_cache_read},
    {StepKind::pack, step_pack},
    {StepKind::rfactor, step_rfactor},
    {StepKind::winograd, step_winograd},
    {StepKind::prefetch, step_prefetch},
    {StepKind::parts, step_parts},
    {StepKind::cache_access, step_cache_access},
    {StepKind::strips, step_strips},
    {StepKind::skip, step_skip},
    {StepKind::share, step_share},
}};
}  // namespace

Reason run_step(State& state, const Step& step) {
  const Row& row = kSteps.at(static_cast<size_t>(step.kind));
  MCC_CHECK(row.kind == step.kind);
  return row.run(state, step);
}

}  // namespace schedule

Applied apply(const loop::Func& func, const Trace& trace) {
  schedule::State state = schedule::make_state(func);
  for (const Step& step : trace) {
    if (schedule::Reason why = schedule::run_step(state, step); !why.empty()) return {std::nullopt, std::move(why)};
  }
  return schedule::generate(state);
}

}  // namespace mcc
