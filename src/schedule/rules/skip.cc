// Borders. Paddings that only one reduction reads are skipped (steps/skip.cc) wherever that is legal. Where few terms
// lie between two decisions about the border, as in depthwise convolutions and those of a few channels, these cost more
// than the products that they save: then only a search tries it.
#include <algorithm>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

constexpr i64 kTermsWorthDecision = 64;

// Of the reduction, with what decides about the border held still.
i64 terms_inside(const Stage& stage) {
  i64 terms = 1;
  for (const Axis& axis : stage.axes) {
    const auto decides = [&](const Within& within) { return within.index.coefficient(axis.var) != 0; };
    if (axis.reduction && std::none_of(stage.within.begin(), stage.within.end(), decides)) terms *= axis.extent;
  }
  return terms;
}

}  // namespace

void rule_skip(Builder& b) {
  for (size_t i = 0; i < b.state.stages.size(); i++) {
    const Stage& pad = b.state.stages[i];
    if (pad.opaque || pad.place != Stage::Place::root) continue;
    const std::vector<int> users = readers(b.state, pad.store.buffer);
    if (users.size() != 1 || b.state.stage(users[0]).opaque) continue;
    const Step step = step_of(StepKind::skip, b.state.stage(users[0]).block, {pad.block});
    if (!legal(b.state, step)) continue;
    b.fixed({step});
    b.special = true;
    b.only_searched = b.only_searched || terms_inside(b.stage(step.block)) < kTermsWorthDecision;
  }
}

}  // namespace mcc::schedule
