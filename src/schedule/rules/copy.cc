// Copies of operands that would otherwise be read with a stride: the second factor of q k^T, for one.
#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

constexpr i64 kUses = 16;  // of an element, for a copy to pay

// The order of dimensions that moves the one that `axis` walks to the end; empty when there is no such dimension.
std::vector<i64> order_with_last(const Access& access, int var) {
  std::vector<i64> order;
  i64 last = -1;
  for (size_t d = 0; d < access.index.size(); d++) {
    const std::optional<Affine>& affine = access.index[d];
    if (affine && *affine == loop::affine_var(var)) {
      last = static_cast<i64>(d);
    } else {
      order.push_back(static_cast<i64>(d));
    }
  }
  if (last < 0) return {};
  order.push_back(last);
  return order;
}

}  // namespace

bool copy_strided(Builder& b, const std::string& block) {
  const Stage stage = b.stage(block);
  const TileAxes axes = tile_axes(b, stage);
  bool copied = false;
  for (const Load& load : loads_of(b.state, stage)) {
    if (along(b.state, stage, load.access, axes.column) != Along::strided || load.constant_value()) continue;
    const loop::Buffer& source = b.state.buffer(load.access.buffer);
    if (points(stage) < kUses * elements(source.shape)) continue;
    const std::vector<i64> order = order_with_last(load.access, axis_of(stage, axes.column).var);
    if (order.empty()) continue;
    const Step step = step_of(StepKind::cache_read, block, {source.name}, order);
    if (!legal(b.state, step)) continue;
    b.fixed({step});
    copied = true;
  }
  return copied;
}

}  // namespace mcc::schedule
