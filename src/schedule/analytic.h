// How long a scheduled Func should take, from the target's numbers alone: the search's draft model, the ranking behind the
// default schedule, and the simulated runner.
#pragma once
#include "loop/loop.h"
#include "target/target.h"

namespace mcc {

// Seconds of one run with warm activations: per statement the larger of arithmetic, load/store issue and the traffic of each
// cache level and of memory; plus loop overhead, start-up of parallel loops, and imbalance between threads.
double analytic_seconds(const loop::Func& scheduled, const Target& target);

}  // namespace mcc
