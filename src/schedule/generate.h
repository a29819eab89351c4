// State -> scheduled Func.
#pragma once
#include "schedule/state.h"
#include "schedule/trace.h"

namespace mcc::schedule {

Applied generate(const State& state);  // or why the schedule as a whole is illegal

void lanes_innermost(loop::Func& func);  // lanes.cc: the layout of register buffers

}  // namespace mcc::schedule
