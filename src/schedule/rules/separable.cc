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

constexpr double kEven = 1.05;  // what the busiest thread may have, relative to an equal share

// The only stage that reads what `id` makes; -1 if there is none, or several.
int only_reader(const Builder& b, int id) {
  const std::vector<int> users = readers(b.state, b.state.stages[static_cast<size_t>(id)].store.buffer);
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

// The product that alone reads the depthwise convolution or its epilogue: it reduces the channels of each pixel.
std::string product_of(const Builder& b, const std::string& block) {
  const int conv = find_stage(b.state, block);
  if (!by_channel(b, b.stage(block))) return "";
  int last = conv, reader = only_reader(b, conv);
  if (reader >= 0 && !is_reduction(b.state.stages[static_cast<size_t>(reader)])) {
    last = reader;
    reader = only_reader(b, reader);
  }
  if (reader < 0) return "";
  const Stage& product = b.state.stages[static_cast<size_t>(reader)];
  const std::vector<int> reduced = reduction_axes(product);
  if (product.opaque || product.place != Stage::Place::root || b.done.count(product.block) || reduced.size() != 1)
    return "";
  const int pixels = b.state.stages[static_cast<size_t>(last)].store.buffer;
  const TileAxes axes = tile_axes(b, product);
  const std::vector<int> dims = reader_axes(b.state, reader, pixels);
  if (dims.empty() || dims.back() != reduced[0] || axes.row < 0 || axes.gathers) return "";
  const bool reads_rows = std::find(dims.begin(), dims.end(), axes.row) != dims.end();
  const bool reads_column = std::find(dims.begin(), dims.end(), axes.column) != dims.end();
  return reads_rows && !reads_column ? product.block : "";
}

bool comes_out_even(i64 count, i64 size, i64 threads) {
  const i64 most = std::min(count, ceil_div(ceil_div(count, size), threads) * size);
  return static_cast<double>(most * threads) <= kEven * static_cast<double>(count);
}

i64 threads_for(const Builder& b, const Stage& stage) {
  return worth_threads(stage_seconds(stage, b.target), b.target) ? b.target.cores : 1;
}

}  // namespace

std::vector<i64> feeder_sizes(i64 count) {
  std::set<i64> sizes;
  for (i64 s = 1; s <= std::min<i64>(count, 64); s++) {
    if (count % s == 0) sizes.insert(s);
  }
  for (const i64 blocks : {2, 3, 4, 6, 8}) sizes.insert(std::min<i64>(ceil_div(count, blocks), 64));
  return {sizes.begin(), sizes.end()};
}

int feeder_rows(const Builder& b, const std::string& feeder, const std::string& product, i64 count,
                const std::vector<i64>& sizes) {
  const Stage& stage = b.stage(feeder);
  const std::vector<int> axes = spatial_axes(stage);
  i64 row_bytes = element_bytes(b.state, stage);
  for (size_t a = axes.size() - std::min<size_t>(axes.size(), 3); a < axes.size(); a++)
    row_bytes *= axis_of(stage, axes[a]).extent;
  row_bytes = ceil_div(row_bytes, count);
  const i64 threads = threads_for(b, b.stage(product));
  int whole = 0, any = 0;
  for (size_t i = 0; i < sizes.size(); i++) {
    if (sizes[i] * row_bytes > b.target.l2_bytes / 2 || !comes_out_even(count, sizes[i], threads)) continue;
    any = static_cast<int>(i);
    if (count % sizes[i] == 0) whole = any;
  }
  return 2 * sizes[static_cast<size_t>(whole)] >= sizes[static_cast<size_t>(any)] ? whole : any;
}

bool rule_separable(Builder& b, const std::string& block) {
  const std::string product = product_of(b, block);
  if (product.empty()) return false;
  const TileAxes axes = tile_axes(b, b.stage(product));
  const int rows = axes.outer_row >= 0 ? axes.outer_row : axes.row;
  if (!comes_out_even(axis_of(b.stage(product), rows).extent, 1, threads_for(b, b.stage(product)))) return false;
  Builder tried = b;
  tried.target.cores = 1;
  if (!rule_tile(tried, block)) return false;
  tried.target.cores = b.target.cores;
  const std::string feeder = tried.state.stages[static_cast<size_t>(tried.stage(block).at_stage)].block;
  if (!rule_tile(tried, product, feeder)) return false;
  tried.separated = true;
  b = std::move(tried);
  return true;
}

}  // namespace mcc::schedule
