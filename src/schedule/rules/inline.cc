// Inlining. A producer without reduction goes into all its consumers when nothing is computed much more often by that:
// each of its elements is used about once, or it is cheap. Padding (a select around a load) stays out of reductions,
// where its test would run for each multiplication, and so does anything else that a reduction uses many times; those
// are computed at a tile, or once before.
#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

constexpr double kCheap = 4;  // operations

// A view: a load whose innermost index is the producer's own innermost axis, so that contiguous reads stay contiguous.
bool keeps_contiguity(const State& state, const Stage& producer) {
  if (!is_single_load(producer.store.value)) return false;
  for (const Load& load : loads_of(state, producer)) {
    for (size_t a = 0; a < producer.axes.size(); a++) {
      const int axis = static_cast<int>(a);
      if (producer.axes[a].extent <= 1) continue;
      if ((store_along(state, producer, axis) == Along::contiguous) !=
          (along(state, producer, load.access, axis) == Along::contiguous))
        return false;
    }
  }
  return true;
}

bool worth_inlining(const State& state, const Stage& producer, const Stage& consumer) {
  const double cost = value_cost(producer.store.value);
  const double uses = static_cast<double>(points(consumer)) / static_cast<double>(std::max<i64>(1, outputs(producer)));
  if (is_reduction(consumer)) {
    if (keeps_contiguity(state, producer)) return true;
    return uses <= 1.01 && !has_select(producer.store.value);
  }
  return uses <= 1.01 || cost <= kCheap;
}

bool should_inline(const State& state, int id) {
  const Stage& producer = state.stage(id);
  if (producer.opaque || producer.place != Stage::Place::root || producer.store.op != loop::StoreOp::assign)
    return false;
  const std::vector<int> users = readers(state, producer.store.buffer);
  if (users.empty()) return false;
  double total = 0;
  for (int user : users) {
    const Stage& consumer = state.stage(user);
    if (consumer.opaque || !worth_inlining(state, producer, consumer)) return false;
    total += static_cast<double>(points(consumer));
  }
  const bool recomputed = total > 1.01 * static_cast<double>(outputs(producer));
  return !recomputed || value_cost(producer.store.value) <= kCheap || users.size() == 1;
}

}  // namespace

void rule_inline(Builder& b) {
  const std::string scores = attention_scores(b.state);  // kept: they are made once for both that read them
  for (size_t i = 0; i < b.state.stages.size(); i++) {
    if (b.state.stages[i].block == scores || !should_inline(b.state, static_cast<int>(i))) continue;
    const Step step = step_of(StepKind::inline_block, b.state.stages[i].block);
    if (find_stage(b.state, step.block) != static_cast<int>(i)) continue;
    if (legal(b.state, step)) b.fixed({step});
  }
}

}  // namespace mcc::schedule
