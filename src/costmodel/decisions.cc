#include "costmodel/decisions.h"

#include <algorithm>
#include <cmath>

namespace mcc {

Decisions decisions(const Trace& trace) {
  Decisions all;
  std::map<std::string, int> reorders;  // of each block so far
  for (const Step& step : trace) {
    if (step.kind == StepKind::split || step.kind == StepKind::parts || step.kind == StepKind::share) {
      for (size_t i = 0; i < step.ints.size(); i++)
        all[fmt::format("{} {} {} {}", name(step.kind), step.block, step.loops.front(), i)] =
            std::log2(static_cast<float>(std::max<i64>(1, step.ints[i])));
    } else if (step.kind == StepKind::reorder) {
      const int number = reorders[step.block]++;
      for (size_t i = 0; i < step.loops.size(); i++)
        all[fmt::format("reorder {} {} {}", step.block, number, step.loops[i])] = static_cast<float>(i);
    } else {
      all[to_string(step)] = 1;
    }
  }
  return all;
}

std::vector<std::string> differing(std::span<const Decisions> all) {
  struct Seen {
    float value;
    size_t count;
    bool differs;
  };
  std::map<std::string, Seen> seen;
  for (const Decisions& one : all) {
    for (const auto& [name, value] : one) {
      Seen& s = seen.try_emplace(name, Seen{value, 0, false}).first->second;
      s.count++;
      s.differs |= s.value != value;
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, s] : seen) {
    if (s.differs || s.count < all.size()) names.push_back(name);
  }
  return names;
}

void append_decisions(const Decisions& from, std::span<const std::string> names, std::vector<float>& row) {
  for (const std::string& name : names) {
    const auto found = from.find(name);
    row.push_back(found != from.end() ? found->second : kUndecided);
  }
}

}  // namespace mcc
