// State -> scheduled Func.
#pragma once
#include "schedule/state.h"
#include "schedule/trace.h"

namespace mcc::schedule {

Applied generate(const State& state);  // or why the schedule as a whole is illegal

}  // namespace mcc::schedule
