// Depthwise convolutions: every channel (a column of the tile) is reduced by itself, from what one producer pads. Rows
// of all channels lie a whole pixel apart, often a power of two of bytes, so that what a tile needs and what it writes
// competes for a few places in the first cache. Hence blocks of channels: for each, some rows of the image are padded
// into a small buffer of that width only and reduced from there.
#include <algorithm>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

constexpr i64 kVectors = 2;     // of channels in a block: whole pairs of cache lines
constexpr i64 kFewestRows = 4;  // in a register tile, in a block: fewer share too little of what they read
constexpr i64 kMostRows = 16;   // in a block: by then what two blocks both pad hardly counts

// Whether the axis walks a dimension that no other axis walks: channels, not the columns of an image under a window.
bool moves_alone(const Stage& stage, const Load& load, int axis) {
  const int var = axis_of(stage, axis).var;
  return std::any_of(load.access.index.begin(), load.access.index.end(),
                     [&](const std::optional<Affine>& affine) { return affine && *affine == loop::affine_var(var); });
}

// Inputs between those of neighbouring rows: the stride of the convolution.
i64 row_step(const Builder& b, const Stage& stage, const TileAxes& axes, int source, int reduced) {
  for (const Load& load : loads_of(b.state, stage)) {
    const i64 next = element_stride(b.state, stage, load.access, reduced);
    if (load.access.buffer == source && next > 0)
      return std::max<i64>(1, element_stride(b.state, stage, load.access, axes.row) / next);
  }
  return 1;
}

}  // namespace

std::vector<std::string> own_producers(const Builder& b, const std::string& block) {
  const int id = find_stage(b.state, block);
  std::vector<std::string> found;
  for (int i = 0; i < id; i++) {
    const Stage& producer = b.state.stage(i);
    if (producer.opaque || producer.place != Stage::Place::root || is_reduction(producer) ||
        b.done.count(producer.block))
      continue;
    if (readers(b.state, producer.store.buffer) == std::vector<int>{id} && !spatial_axes(producer).empty())
      found.push_back(producer.block);
  }
  return found;
}

std::string channel_producer(const Builder& b, const Stage& stage, const TileAxes& axes) {
  const std::vector<std::string> producers = own_producers(b, stage.block);
  if (axes.row < 0 || axes.outer_row < 0 || producers.size() != 1 || reduction_axes(stage).empty()) return "";
  const int source = b.stage(producers[0]).store.buffer;
  bool weighted = false;
  for (const Load& load : loads_of(b.state, stage)) {
    weighted = weighted || load.constant_value();
    if (along(b.state, stage, load.access, axes.column) == Along::absent) return "";
    if (!load.constant_value() && (load.access.buffer != source || !moves_alone(stage, load, axes.column))) return "";
  }
  return weighted ? producers[0] : "";
}

RegisterTile channel_tile(const Builder& b, const Stage& stage, const TileAxes& axes, const std::string& producer,
                          const std::vector<RegisterTile>& tiles) {
  const int reduced = reduction_axes(stage).back();
  const i64 window = axis_of(stage, reduced).extent;
  const i64 step = row_step(b, stage, axes, b.stage(producer).store.buffer, reduced);
  const RegisterTile* best = nullptr;
  for (const RegisterTile& r : tiles) {
    if (r.vectors != kVectors || r.rows2 != 1) continue;
    if (best == nullptr) best = &r;
    const i64 used = r.vectors * (r.rows + (r.rows - 1) * step + window + 1);  // sums, inputs, weights
    if (used <= b.target.vector_registers && r.rows >= kFewestRows) return r;
  }
  return best == nullptr ? tiles[0] : *best;
}

int channel_rows(const Builder& b, const std::string& producer, i64 columns, i64 channels, i64 rows,
                 const std::vector<i64>& sizes) {
  const Stage& pad = b.stage(producer);
  const i64 row_bytes = outputs(pad) * element_bytes(b.state, pad) * columns / (channels * rows);
  int most = 0, fits = 0;
  for (size_t i = 0; i < sizes.size(); i++) {
    if (sizes[i] <= kMostRows) most = static_cast<int>(i);
    if (sizes[i] <= kMostRows && (sizes[i] + 2) * row_bytes <= b.target.l1_bytes) fits = static_cast<int>(i);
  }
  return sizes[at(fits)] >= kFewestRows ? fits : most;
}

}  // namespace mcc::schedule
