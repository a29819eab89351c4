// Where each output element of Reshape, Transpose, Slice, Expand, Tile, DepthToSpace, SpaceToDepth and ReverseSequence
// comes from. Expressions divide and take remainders only by constants, and only in dimensions that really change.
#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "ops/movement.h"

namespace mcc::ops {

namespace {

using namespace loop;

// --- Reshape: attribute shape ----------------------------------------------------------------------------------------

Shape reshaped(const Node& node, const Shape& in) {
  Shape out = node.attrs.get_ints("shape");
  if (elements(out) != elements(in)) fail("cannot reshape {} to {}", to_string(in), to_string(out));
  return out;
}

// The smallest runs of dimensions on both sides with equal products, so that index arithmetic stays within a run.
Vars reshape_source(const Move& m, const Vars& v) {
  Vars index(m.in.size(), const_int(0));
  if (elements(m.in) == 0) return index;
  size_t i = 0, o = 0;
  while (i < m.in.size() && o < m.out.size()) {
    if (m.in[i] == 1) {
      i++;
      continue;
    }
    if (m.out[o] == 1) {
      o++;
      continue;
    }
    size_t first = i;
    i64 in_product = m.in[i++], out_product = m.out[o];
    Expr flat = v[o++];
    while (in_product != out_product) {
      if (in_product < out_product) {
        in_product *= m.in[i++];
      } else {
        flat = flat * m.out[o] + v[o];
        out_product *= m.out[o++];
      }
    }
    i64 stride = 1;
    for (size_t d = i; d-- > first; stride *= m.in[d]) {
      Expr above = stride == 1 ? flat : floordiv(flat, stride);
      index[d] = d == first ? above : floormod(above, m.in[d]);
    }
  }
  return index;
}

Index reshape_source_of(const Move& m, const Index& v) {
  i64 flat = flat_index(m.out, v);
  Index index(m.in.size());
  for (size_t d = m.in.size(); d-- > 0; flat /= m.in[d]) index[d] = flat % m.in[d];
  return index;
}

// --- Transpose: attribute perm (reversed axes if absent) -------------------------------------------------------------

std::vector<i64> perm_of(const Node& node, size_t rank) {
  std::vector<i64> reversed(rank);
  for (size_t d = 0; d < rank; d++) reversed[d] = static_cast<i64>(rank - 1 - d);
  return node.attrs.get_ints("perm", reversed);
}

Shape transposed(const Node& node, const Shape& in) {
  std::vector<i64> perm = perm_of(node, in.size()), sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < std::max(sorted.size(), in.size()); d++)
    if (sorted.size() != in.size() || sorted[d] != static_cast<i64>(d))
      fail("perm [{}] is not a permutation of {} axes", join(perm, ","), in.size());
  Shape out;
  for (i64 axis : perm) out.push_back(in[at(axis)]);
  return out;
}

template <typename T>
std::vector<T> transpose_from(const Move& m, const std::vector<T>& v) {
  std::vector<T> index(v.size());
  std::vector<i64> perm = perm_of(m.node, v.size());
  for (size_t d = 0; d < v.size(); d++) index[at(perm[d])] = v[d];
  return index;
}

// Channels move before all pixels, which stay in order: [0, 3, 1, 2] and the like. With one axis of pixels it could be
// either way.
bool to_channels_first(const std::vector<i64>& perm) {
  const auto channels = std::ranges::max_element(perm);
  if (perm.end() - channels < 3) return false;
  std::vector<i64> others = perm;
  std::erase(others, *channels);
  return std::ranges::is_sorted(others);
}

// --- Slice: attributes starts, ends, axes, steps ---------------------------------------------------------------------

struct Cut {
  i64 start = 0, step = 1, count = 0;
};

Cut cut_axis(i64 n, i64 start, i64 end, i64 step) {
  if (step == 0) fail("a step of Slice is 0");
  step = std::clamp(step, -std::max(n, i64{1}), std::max(n, i64{1}));  // a longer one leaves one element, too
  auto from_front = [&](i64 i, i64 low, i64 high) { return std::clamp(i < 0 ? i + n : i, low, high); };
  i64 low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  i64 first = from_front(start, std::max(low, i64{0}), std::max(high, i64{0})),
      last = from_front(end, low, std::max(high, low));
  i64 span = step > 0 ? last - first : first - last;
  return {first, step, n == 0 ? 0 : std::max(i64{0}, ceil_div(span, std::abs(step)))};
}

std::vector<Cut> cuts_of(const Node& node, const Shape& in) {
  std::vector<i64> starts = node.attrs.get_ints("starts"), ends = node.attrs.get_ints("ends"), axes, steps;
  for (size_t i = 0; i < starts.size(); i++) axes.push_back(static_cast<i64>(i));
  axes = node.attrs.get_ints("axes", axes);
  steps = node.attrs.get_ints("steps", std::vector<i64>(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    fail("starts, ends, axes and steps differ in length");
  std::vector<Cut> cuts;
  for (i64 n : in) cuts.push_back({0, 1, n});
  for (size_t i = 0; i < axes.size(); i++) {
    size_t axis = at(normalize_axis(axes[i], static_cast<i64>(in.size())));
    cuts[axis] = cut_axis(in[axis], starts[i], ends[i], steps[i]);
  }
  return cuts;
}

Shape sliced(const Node& node, const Shape& in) {
  Shape out;
  for (const Cut& cut : cuts_of(node, in)) out.push_back(cut.count);
  return out;
}

template <typename T>
std::vector<T> slice_from(const Move& m, std::vector<T> v) {
  std::vector<Cut> cuts = cuts_of(m.node, m.in);
  for (size_t d = 0; d < v.size(); d++)
    if (cuts[d].start != 0 || cuts[d].step != 1) v[d] = v[d] * cuts[d].step + cuts[d].start;
  return v;
}

// --- Expand: attribute shape; Tile: attribute repeats ----------------------------------------------------------------

Shape expanded(const Node& node, const Shape& in) {
  Shape out = node.attrs.get_ints("shape");
  if (broadcast(in, out) != out) fail("cannot expand {} to {}", to_string(in), to_string(out));
  return out;
}

Vars expand_source(const Move& m, const Vars& v) { return broadcast_index(m.in, v); }

Index expand_source_of(const Move& m, const Index& v) {
  Index index(v.end() - static_cast<std::ptrdiff_t>(m.in.size()), v.end());
  for (size_t d = 0; d < index.size(); d++) index[d] = std::min(index[d], m.in[d] - 1);
  return index;
}

Shape tiled(const Node& node, const Shape& in) {
  std::vector<i64> repeats = node.attrs.get_ints("repeats");
  if (repeats.size() != in.size()) fail("{} repeats for rank {}", repeats.size(), in.size());
  Shape out = in;
  for (size_t d = 0; d < in.size(); d++) {
    if (repeats[d] < 0) fail("repeats {} is negative", repeats[d]);
    out[d] = elements({in[d], repeats[d]});
  }
  return out;
}

Vars tile_source(const Move& m, const Vars& v) {
  Vars index = v;
  for (size_t d = 0; d < v.size(); d++)
    if (m.in[d] != m.out[d]) index[d] = m.in[d] == 1 ? const_int(0) : floormod(v[d], m.in[d]);
  return index;
}

Index tile_source_of(const Move& m, const Index& v) {
  Index index = v;
  for (size_t d = 0; d < v.size(); d++) index[d] %= m.in[d];
  return index;
}

// --- DepthToSpace (blocksize, mode DCR | CRD), SpaceToDepth (blocksize) ----------------------------------------------

constexpr i64 kMaxBlock = i64{1} << 15;  // its square times any extent is a number still

i64 block_of(const Node& node, const Shape& in) {
  i64 size = node.attrs.get_int("blocksize");
  if (in.size() != 4) fail("the input has rank {}, not 4", in.size());
  if (size < 1 || size > kMaxBlock) fail("blocksize {} is not from 1 to {}", size, kMaxBlock);
  return size;
}

bool depth_first(const Node& node) {
  std::string mode = node.attrs.get_string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") fail("mode '{}' is neither DCR nor CRD", mode);
  return mode == "DCR";
}

Shape depth_to_space(const Node& node, const Shape& in) {
  i64 size = block_of(node, in);
  depth_first(node);
  if (in[1] % (size * size) != 0) fail("{} channels are not a multiple of {}", in[1], size * size);
  return {in[0], in[1] / (size * size), in[2] * size, in[3] * size};
}

Vars depth_to_space_source(const Move& m, const Vars& v) {
  i64 size = block_of(m.node, m.in);
  Expr within = floormod(v[2], size) * size + floormod(v[3], size);
  Expr channel = depth_first(m.node) ? within * m.out[1] + v[1] : v[1] * (size * size) + within;
  return {v[0], channel, floordiv(v[2], size), floordiv(v[3], size)};
}

Index depth_to_space_source_of(const Move& m, const Index& v) {
  i64 size = block_of(m.node, m.in), y = v[2] % size, x = v[3] % size;
  i64 channel = depth_first(m.node) ? (y * size + x) * m.out[1] + v[1] : (v[1] * size + y) * size + x;
  return {v[0], channel, v[2] / size, v[3] / size};
}

Shape space_to_depth(const Node& node, const Shape& in) {
  i64 size = block_of(node, in);
  if (in[2] % size != 0 || in[3] % size != 0) fail("{}x{} is not a multiple of blocksize {}", in[2], in[3], size);
  return {in[0], in[1] * size * size, in[2] / size, in[3] / size};
}

Vars space_to_depth_source(const Move& m, const Vars& v) {
  i64 size = block_of(m.node, m.in), channels = m.in[1];
  Expr within = floordiv(v[1], channels);
  return {v[0], floormod(v[1], channels), v[2] * size + floordiv(within, size), v[3] * size + floormod(within, size)};
}

Index space_to_depth_source_of(const Move& m, const Index& v) {
  i64 size = block_of(m.node, m.in), within = v[1] / m.in[1];
  return {v[0], v[1] % m.in[1], v[2] * size + within / size, v[3] * size + within % size};
}

// --- ReverseSequence: attributes sequence_lens, batch_axis, time_axis ------------------------------------------------

struct Sequences {
  size_t batch, time;
  std::vector<i64> lengths;
};

Sequences sequences_of(const Node& node, const Shape& in) {
  i64 rank = static_cast<i64>(in.size());
  return {at(normalize_axis(node.attrs.get_int("batch_axis", 1), rank)),
          at(normalize_axis(node.attrs.get_int("time_axis", 0), rank)), node.attrs.get_ints("sequence_lens")};
}

Shape reversed(const Node& node, const Shape& in) {
  Sequences s = sequences_of(node, in);
  if (s.batch == s.time) fail("batch_axis and time_axis are both {}", s.batch);
  if (static_cast<i64>(s.lengths.size()) != in[s.batch])
    fail("{} sequence_lens for a batch of {}", s.lengths.size(), in[s.batch]);
  for (i64 length : s.lengths)
    if (length < 0 || length > in[s.time]) fail("a sequence length of {} is outside 0..{}", length, in[s.time]);
  return in;
}

Vars reverse_source(const Move& m, const Vars& v) {
  Sequences s = sequences_of(m.node, m.in);
  Expr length = const_int(s.lengths.empty() ? 0 : s.lengths.back());
  for (size_t i = s.lengths.size(); i-- > 1;)
    if (!is_const(length, s.lengths[i - 1]))
      length = select(v[s.batch] < const_int(static_cast<i64>(i)), const_int(s.lengths[i - 1]), length);
  Vars index = v;
  index[s.time] = select(v[s.time] < length, length - v[s.time] - 1, v[s.time]);
  return index;
}

Index reverse_source_of(const Move& m, const Index& v) {
  Sequences s = sequences_of(m.node, m.in);
  Index index = v;
  i64 length = s.lengths[at(v[s.batch])];
  if (v[s.time] < length) index[s.time] = length - 1 - v[s.time];
  return index;
}

constexpr MoveRow kRows[] = {
    {"DepthToSpace", FuseKind::movement, depth_to_space, depth_to_space_source, depth_to_space_source_of},
    {"Expand", FuseKind::movement, expanded, expand_source, expand_source_of},
    {"Reshape", FuseKind::view, reshaped, reshape_source, reshape_source_of},
    {"ReverseSequence", FuseKind::movement, reversed, reverse_source, reverse_source_of},
    {"Slice", FuseKind::movement, sliced, [](const Move& m, const Vars& v) { return slice_from(m, v); },
     [](const Move& m, const Index& v) { return slice_from(m, v); }},
    {"SpaceToDepth", FuseKind::movement, space_to_depth, space_to_depth_source, space_to_depth_source_of},
    {"Tile", FuseKind::movement, tiled, tile_source, tile_source_of},
    {"Transpose", FuseKind::movement, transposed, [](const Move& m, const Vars& v) { return transpose_from(m, v); },
     [](const Move& m, const Index& v) { return transpose_from(m, v); }},
};

}  // namespace

std::span<const MoveRow> move_rows() { return kRows; }

std::vector<size_t> loop_order(const Node& node, size_t rank) {
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  if (node.op != "Transpose") return order;
  const std::vector<i64> perm = perm_of(node, rank);
  if (to_channels_first(perm))
    std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return perm[x] < perm[y]; });
  return order;
}

}  // namespace mcc::ops
