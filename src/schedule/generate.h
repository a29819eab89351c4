// State -> scheduled Func.
#pragma once
#include "schedule/state.h"
#include "schedule/trace.h"

namespace mcc::schedule {

Applied generate(const State& state);  // or why the schedule as a whole is illegal

// ahead.cc: what the stages want to fetch ahead, put into the loops of the generated Func.
void fetch_ahead(const State& state, loop::Func& func);

void lanes_innermost(loop::Func& func);  // lanes.cc: the layout of register buffers

}  // namespace mcc::schedule
