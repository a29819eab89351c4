// The steps, one function each: a small edit of State, or the reason why it is illegal (State is then in no defined
// state).
#pragma once
#include "schedule/state.h"
#include "schedule/trace.h"

namespace mcc::schedule {

Reason step_split(State& state, const Step& step);
Reason step_share(State& state, const Step& step);
Reason step_reorder(State& state, const Step& step);
Reason step_mark(State& state, const Step& step);
Reason step_inline(State& state, const Step& step);
Reason step_compute_at(State& state, const Step& step);
Reason step_scope(State& state, const Step& step);
Reason step_cache_write(State& state, const Step& step);
Reason step_cache_read(State& state, const Step& step);
Reason step_pack(State& state, const Step& step);
Reason step_rfactor(State& state, const Step& step);
Reason step_winograd(State& state, const Step& step);
Reason step_prefetch(State& state, const Step& step);
Reason step_parts(State& state, const Step& step);
Reason step_cache_access(State& state, const Step& step);
Reason step_strips(State& state, const Step& step);
Reason step_skip(State& state, const Step& step);

Reason run_step(State& state, const Step& step);  // the one of step.kind

}  // namespace mcc::schedule
