// How long a scheduled Func should take, from the target's numbers alone: the search's draft model, the ranking behind
// the default schedule, and the simulated runner.
#pragma once
#include "loop/loop.h"
#include "target/target.h"

namespace mcc {

struct NestStore;

// Operations a second of all cores, a multiply-add counted as two.
double peak_flops(const Target& target, i64 element_bytes);

// What bounds one statement, in seconds of one core (memory: of the machine) over a whole run.
struct AnalyticTerms {
  double core = 0;        // arithmetic, load and store issue, dependent accumulations
  double l2 = 0, l3 = 0;  // traffic into L1 from L2, into L2 from L3
  double memory = 0;
  double loops = 0;  // loop counters and branches
  double share = 1;  // by how much the parallel loops divide it
};
AnalyticTerms analytic_terms(const NestStore& nest, const Target& target);

// Seconds of one run with warm activations: per statement the larger of arithmetic, load/store issue and the traffic of
// each cache level and of memory; plus loop overhead, start-up of parallel loops, imbalance between threads, and what
// several of them fetch from memory.
double analytic_seconds(const loop::Func& scheduled, const Target& target);

}  // namespace mcc
