// cache_write BLOCK: the block writes a new buffer; the new block BLOCK.out, right after it, copies that to the old
// buffer. cache_read BLOCK BUFFER [order]: the block reads a copy of the part of the buffer that it reads, whose
// dimension d is the source's dimension order[d]; the new block BLOCK.BUFFER, right before it, makes the copy. Both are
// only useful with compute_at.
#include <algorithm>
#include <map>

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/steps.h"

namespace mcc::schedule {

namespace {

// How far the block reads along each dimension. The rest of a buffer may not be the kernel's: of a part of a larger
// value (docs/GRAPH.md, Views) it is somebody else's memory.
Reason find_read_shape(const State& state, const Stage& stage, int buffer, Shape& shape) {
  const loop::Buffer& source = state.buffer(buffer);
  shape.assign(source.shape.size(), 1);
  Reason why;
  const auto add = [&](const loop::Expr& load) {
    if (load.i != buffer) return;
    for (size_t d = 0; d < shape.size(); d++) {
      const std::optional<Affine> index = loop::as_affine(load.args[d]);
      if (!index) why = fmt::format("cache_read: {} is read at an index that is not affine", source.name);
      if (index) shape[d] = std::max(shape[d], std::min(span_over(state, stage, *index).max + 1, source.shape[d]));
    }
  };
  loop::for_each_load(stage.store.value, add);
  if (stage.init) loop::for_each_load(*stage.init, add);
  return why;
}

}  // namespace

Reason step_cache_write(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "cache_write"); !why.empty()) return why;
  const int id = find_stage(state, step.block);
  const int old_buffer = state.stage(id).store.buffer;
  if (!sole_writer(state, id)) return fmt::format("cache_write: {} is not alone in writing its buffer", step.block);
  if (writes_tiles(state.stage(id))) return fmt::format("cache_write: {} writes tiles", step.block);
  if (reads(state.stage(id), old_buffer)) return fmt::format("cache_write: {} reads its own buffer", step.block);
  const loop::Buffer old = state.buffer(old_buffer);
  const int cache = new_buffer(state, old.name + ".cache", old.dtype, old.shape);
  Stage& stage = state.stage(id);
  if (stage.store.op != loop::StoreOp::assign && !stage.init)
    return fmt::format("cache_write: {} accumulates into what was there", step.block);
  Stage copy;
  copy.block = step.block + ".out";
  copy.region = stage.region;
  copy.store.buffer = old_buffer;
  copy.store.block = copy.block;
  std::vector<loop::Expr> from;
  for (const StoreDim& dim : store_dims(stage)) {
    loop::Expr place = loop::const_int(dim.offset);
    if (dim.axis >= 0) {
      const Axis& axis = stage.axes[at(dim.axis)];
      place = loop::var(add_axis(state, copy, axis.name, axis.extent)) + dim.offset;
    }
    from.push_back(place);
    copy.store.index.push_back(place);
  }
  copy.store.value = loop::load(state.buffer(cache), cache, from);
  stage.store.buffer = cache;
  insert_stage(state, id + 1, std::move(copy));
  return "";
}

Reason step_cache_read(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "cache_read"); !why.empty()) return why;
  const int source_id = find_buffer(state, step.loops.at(0));
  if (source_id < 0) return fmt::format("cache_read: there is no buffer {}", step.loops[0]);
  const loop::Buffer source = state.buffer(source_id);
  const size_t rank = source.shape.size();
  std::vector<i64> sorted = step.ints;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < sorted.size(); d++) {
    if (sorted[d] != static_cast<i64>(d)) return "cache_read: the order is no permutation";
  }
  if (sorted.size() != rank) return fmt::format("cache_read: {} has {} dimensions", source.name, rank);
  const int id = find_stage(state, step.block);
  if (!reads(state.stage(id), source_id))
    return fmt::format("cache_read: {} does not read {}", step.block, source.name);
  if (writes(state.stage(id), source_id)) return fmt::format("cache_read: {} writes {}", step.block, source.name);
  if (!source.pack.dims.empty()) return fmt::format("cache_read: {} is packed", source.name);
  if (reads_part_of_parameter(state, state.stages[static_cast<size_t>(id)], source_id))
    return fmt::format("cache_read: {} is read under a condition", source.name);

  Shape extents;
  if (Reason why = find_read_shape(state, state.stage(id), source_id, extents); !why.empty()) return why;
  Stage copy;
  copy.block = step.block + "." + source.name;
  copy.region = state.stage(id).region;
  std::vector<loop::Expr> from(rank), to;
  Shape shape;
  for (i64 d : step.ints) {
    const i64 extent = extents[at(d)];
    from[at(d)] = loop::var(add_axis(state, copy, fmt::format("d{}", d), extent));
    to.push_back(from[at(d)]);
    shape.push_back(extent);
  }
  const int cache = new_buffer(state, source.name + ".copy", source.dtype, std::move(shape));
  copy.store = {cache, std::move(to), loop::load(source, source_id, std::move(from)), loop::StoreOp::assign,
                copy.block};
  Stage& stage = state.stage(id);
  const auto redirect = [&](const loop::Expr& load) {
    if (load.i != source_id) return load;
    std::vector<loop::Expr> index;
    for (i64 d : step.ints) index.push_back(load.args[at(d)]);
    return loop::load(state.buffer(cache), cache, std::move(index));
  };
  stage.store.value = loop::map_loads(stage.store.value, redirect);
  if (stage.init) stage.init = loop::map_loads(*stage.init, redirect);
  insert_stage(state, id, std::move(copy));
  return "";
}

}  // namespace mcc::schedule
