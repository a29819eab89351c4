// Separable convolutions: a depthwise convolution and the product (1x1 convolution) that alone reads it. Rows of the
// image are made in blocks: of each, first the depthwise part with its epilogue and padding, for all channels, into a
// buffer that the second cache holds; then all columns of the product are computed from there. Threads share the
// blocks. Nothing is computed twice, since the product needs each pixel once; only the padding of neighbouring blocks
// overlaps.
//
// Both parts keep the schedules they have alone (tile.cc, channels.cc). In the other sketches the two are stages one
// after the other with the whole image between them, which is what remains where the rows cannot be shared out evenly.
#include <algorithm>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

constexpr i64 kMostRows = 64;   // in a block
constexpr i64 kShareOfL2 = 6;   // the part of it for a block: what is padded and what is written want room, too
constexpr double kEven = 1.05;  // what the busiest thread may have, relative to an equal share

// The only stage that reads what `id` makes; -1 if there is none, or several.
int only_reader(const Builder& b, int id) {
  const std::vector<int> users = readers(b.state, b.state.stage(id).store.buffer);
  return users.size() == 1 ? users[0] : -1;
}

// Whether each channel (the last dimension of the result) is reduced by itself.
bool by_channel(const Builder& b, const Stage& stage) {
  if (reduction_axes(stage).empty() || spatial_axes(stage).empty()) return false;
  const int channel = spatial_axes(stage).back();
  if (store_along(b.state, stage, channel) != Along::contiguous) return false;
  const std::vector<Load> loads = loads_of(b.state, stage);
  return std::all_of(loads.begin(), loads.end(),
                     [&](const Load& load) { return along(b.state, stage, load.access, channel) != Along::absent; });
}

// The product that alone reads the depthwise convolution's epilogue, a matrix of pixels and channels: it reduces the
// channels of each pixel.
std::string product_of(const Builder& b, const std::string& block) {
  if (!by_channel(b, b.stage(block))) return "";
  const int last = only_reader(b, find_stage(b.state, block));
  if (last < 0 || is_reduction(b.state.stage(last))) return "";
  const int reader = only_reader(b, last);
  if (reader < 0) return "";
  const Stage& product = b.state.stage(reader);
  const std::vector<int> reduced = reduction_axes(product);
  if (product.opaque || product.place != Stage::Place::root || b.done.count(product.block) || reduced.size() != 1)
    return "";
  const int pixels = b.state.stage(last).store.buffer;
  const TileAxes axes = tile_axes(b, product);
  const std::vector<int> dims = reader_axes(b.state, reader, pixels);
  if (dims.size() < 2 || dims.back() != reduced[0] || axes.row < 0 || axes.gathers) return "";
  const bool pixels_flat = dims.size() == 2 || writes_tiles(b.state.stage(last));
  return pixels_flat && dims[dims.size() - 2] == axes.row ? product.block : "";
}

bool comes_out_even(i64 count, i64 size, i64 threads) {
  const i64 most = std::min(count, ceil_div(ceil_div(count, size), threads) * size);
  return static_cast<double>(most * threads) <= kEven * static_cast<double>(count);
}

i64 threads_for(const Builder& b, const Stage& stage) {
  return worth_threads(stage_seconds(stage, b.target), b.target) ? b.target.cores : 1;
}

// Parts of `count` rows: whole ones, and halves, thirds, ... where those are ragged.
std::vector<i64> parts_of(i64 count) {
  std::set<i64> sizes;
  for (i64 s = 1; s <= std::min(count, kMostRows); s++) {
    if (count % s == 0) sizes.insert(s);
  }
  for (const i64 blocks : {2, 3, 4, 6, 8}) sizes.insert(std::min(ceil_div(count, blocks), kMostRows));
  return {sizes.begin(), sizes.end()};
}

}  // namespace

FedRows fed_rows(const Builder& b, const std::string& feeder, const std::string& product) {
  const Stage &from = b.stage(feeder), &to = b.stage(product);
  const std::vector<StoreDim> dims = store_dims(from);
  FedRows rows;
  rows.pixels = dims[dims.size() - 2].tile;
  const i64 count = axis_of(to, tile_axes(b, to).row).extent / rows.pixels;
  const i64 row_bytes = rows.pixels * axis_of(from, spatial_axes(from).back()).extent * element_bytes(b.state, from);
  const i64 threads = threads_for(b, to);
  rows.sizes = parts_of(count);
  int whole = 0, any = 0;
  for (size_t i = 0; i < rows.sizes.size(); i++) {
    const i64 size = rows.sizes[i];
    if (size * row_bytes > b.target.l2_bytes / kShareOfL2 || !comes_out_even(count, size, threads)) continue;
    any = static_cast<int>(i);
    if (count % size == 0) whole = any;
  }
  rows.preferred = 2 * rows.sizes[at(whole)] >= rows.sizes[at(any)] ? whole : any;
  return rows;
}

bool rule_separable(Builder& b, const std::string& block) {
  const std::string product = product_of(b, block);
  if (product.empty()) return false;
  Builder tried = b;
  tried.target.cores = 1;
  if (!rule_tile(tried, block)) return false;
  tried.target.cores = b.target.cores;
  const std::string feeder = tried.state.stage(tried.stage(block).at_stage).block;
  const FedRows rows = fed_rows(b, feeder, product);
  const i64 count = axis_of(b.stage(product), tile_axes(b, b.stage(product)).row).extent / rows.pixels;
  if (!comes_out_even(count, rows.sizes[at(rows.preferred)], threads_for(b, b.stage(product)))) return false;
  if (!rule_tile(tried, product, feeder)) return false;
  tried.special = true;
  b = std::move(tried);
  return true;
}

}  // namespace mcc::schedule
