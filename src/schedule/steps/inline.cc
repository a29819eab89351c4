// inline BLOCK: the block's value replaces every load of its buffer, with the load's index in place of the block's
// axes. What is computed for each element then happens where the element is used, as often as it is used.
#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/steps.h"

namespace mcc::schedule {

namespace {

constexpr i64 kLargestValue = 4096;  // nodes of one expression

using loop::Expr;

i64 nodes(const Expr& e) {
  i64 count = 1;
  for (const Expr& arg : e.args) count += nodes(arg);
  return count;
}

Expr replace_loads(const Expr& e, const Stage& producer, const std::vector<StoreDim>& dims) {
  return loop::map_loads(e, [&](const Expr& load) {
    if (load.i != producer.store.buffer) return load;
    return loop::substitute(producer.store.value, axes_at(producer, dims, load));
  });
}

}  // namespace

Reason step_inline(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "inline"); !why.empty()) return why;
  const int id = find_stage(state, step.block);
  Stage& producer = state.stage(id);
  const int buffer = producer.store.buffer;
  if (producer.store.op != loop::StoreOp::assign) return fmt::format("inline: {} is a reduction", step.block);
  if (state.buffer(buffer).scope != loop::Scope::temp) return fmt::format("inline: {} writes an output", step.block);
  if (!sole_writer(state, id)) return fmt::format("inline: {} is not alone in writing its buffer", step.block);
  if (writes_tiles(producer)) return fmt::format("inline: {} writes tiles", step.block);
  if (reads(producer, buffer)) return fmt::format("inline: {} reads its own buffer", step.block);
  const std::vector<int> users = readers(state, buffer);
  for (int user : users) {
    const Stage& consumer = state.stage(user);
    if (consumer.opaque)
      return fmt::format("inline: {} is used by {}, which is left as it is", step.block, consumer.block);
    if (Reason why = may_move(state, id, user); !why.empty()) return "inline: " + why;
  }
  const std::vector<StoreDim> dims = store_dims(producer);
  for (int user : users) {
    Stage& consumer = state.stage(user);
    consumer.store.value = replace_loads(consumer.store.value, producer, dims);
    if (consumer.init) consumer.init = replace_loads(*consumer.init, producer, dims);
    if (nodes(consumer.store.value) > kLargestValue)
      return fmt::format("inline: the value of {} becomes too large", consumer.block);
  }
  if (Reason why = hosts_others(state, id, "inline"); !why.empty()) return why;
  producer.place = Stage::Place::inlined;
  return "";
}

}  // namespace mcc::schedule
