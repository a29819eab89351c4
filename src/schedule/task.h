// What is tuned: one loop program on one target. Equal subgraphs of a model, and of other models, are the same task.
#pragma once
#include <string>
#include <vector>

#include "loop/loop.h"
#include "schedule/trace.h"
#include "target/target.h"

namespace mcc {

struct Task {
  std::string key;      // hash of the printed func (names of func and buffers aside), the device key, strict and warm
  std::string name;     // for people: "conv 56x56x64 -> 64 3x3"
  loop::Func func;      // algorithm form
  Target target;        // target.cores is the number of threads the artifact will use
  double weight = 1;    // how often a run of the model executes it
  bool strict = false;  // only algorithms that round as the direct ones do: no Winograd
  bool warm = false;    // all constants of the model stay in a cache from one run to the next (target.cold_bytes)
  i64 flops = 0;
};

Task make_task(loop::Func func, const Target& target, double weight, bool strict = false, bool warm = false);

}  // namespace mcc
