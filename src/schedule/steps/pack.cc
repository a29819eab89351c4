// pack BLOCK BUFFER [axis:scale,..]: a constant is re-laid at compile time in the order in which the kernel reads it
// (loop.h, Pack). Expressions keep the source's index; the generator turns it into the packed one, which must come out
// without a division: the loops have to be split in the blocks of the packing.
#include "schedule/steps.h"

namespace mcc::schedule {

Reason step_pack(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "pack"); !why.empty()) return why;
  const int id = find_buffer(state, step.loops.at(0));
  if (id < 0) return fmt::format("pack: there is no buffer {}", step.loops[0]);
  loop::Buffer& buffer = state.buffer(id);
  if (buffer.scope != loop::Scope::constant) return fmt::format("pack: {} is not a constant", buffer.name);
  if (has_layout(buffer)) return fmt::format("pack: {} is packed already", buffer.name);
  if (!reads(state.stage(find_stage(state, step.block)), id)) {
    return fmt::format("pack: {} does not read {}", step.block, buffer.name);
  }
  for (const Stage& stage : state.stages) {
    if (stage.opaque && reads(stage, id))
      return fmt::format("pack: {} is also read by {}, which is left as it is", buffer.name, stage.block);
  }
  loop::Pack pack;
  pack.source = buffer.pack.dims.empty() ? buffer.shape : buffer.pack.source;
  pack.winograd = buffer.pack.winograd;
  for (size_t i = 0; i + 1 < step.ints.size(); i += 2) {
    const i64 axis = step.ints[i], scale = step.ints[i + 1];
    if (axis < 0 || axis >= static_cast<i64>(buffer.shape.size()) || scale < 1 || scale > i64{1} << 40)
      return "pack: a dimension is out of range";
    pack.dims.push_back({static_cast<int>(axis), scale});
  }
  Shape shape(pack.dims.size());
  for (size_t axis = 0; axis < buffer.shape.size(); axis++) {
    i64 outer = 0;  // scale of the dimension before, of this axis; 0: none yet
    for (size_t d = 0; d < pack.dims.size(); d++) {
      if (pack.dims[d].axis != static_cast<int>(axis)) continue;
      const i64 scale = pack.dims[d].scale;
      if (outer != 0 && (scale >= outer || outer % scale != 0))
        return "pack: the scales of an axis must divide each other, largest first";
      shape[d] = outer == 0 ? ceil_div(buffer.shape[axis], scale) : outer / scale;
      outer = scale;
    }
    if (outer != 1) return fmt::format("pack: axis {} needs a dimension of scale 1", axis);
  }
  buffer.shape = std::move(shape);
  buffer.pack = std::move(pack);
  return "";
}

}  // namespace mcc::schedule
