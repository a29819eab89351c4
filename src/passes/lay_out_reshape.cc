// Transpose and Reshape of a value that lies in another order.
//
// A Reshape is cut into the smallest segments of dimensions with equal products: [2,12,5] -> [2,3,4,5] has the segments
// 2|12 -> 3,4|5. A segment whose dimensions lie side by side and in order can be split and merged in place. If one does
// not, the value is transposed once so that each does, the segments ordered by where they end, which keeps channels
// last. Unit dimensions belong to no segment: they can be anywhere.
#include <algorithm>
#include <numeric>

#include "passes/lay_out.h"

namespace mcc {
namespace {

using Dims = std::vector<size_t>;

struct Segment {
  Dims from, to;  // dimensions of the old and the new shape, not of extent 1
};

Dims non_units(const Shape& shape) {
  Dims dims;
  for (size_t d = 0; d < shape.size(); d++)
    if (shape[d] != 1) dims.push_back(d);
  return dims;
}

std::vector<Segment> segments_of(const Shape& from, const Shape& to) {
  const Dims old_dims = non_units(from), new_dims = non_units(to);
  std::vector<Segment> segments;
  for (size_t i = 0, j = 0; i < old_dims.size() || j < new_dims.size();) {
    Segment segment;
    i64 left = 1, right = 1;
    do {
      if (left <= right && i < old_dims.size()) {
        left *= from[old_dims[i]];
        segment.from.push_back(old_dims[i++]);
      } else {
        right *= to[new_dims[j]];
        segment.to.push_back(new_dims[j++]);
      }
    } while (left != right);
    segments.push_back(std::move(segment));
  }
  return segments;
}

}  // namespace

Placed transposed(const Placed& x, const Perm& perm) { return {x.u, compose(x.perm, perm)}; }

Placed reshaped(Rewriter& rw, const Placed& x, Shape shape) {
  const Shape from = permuted(rw.shape(x.u), x.perm);
  Perm own(shape.size());
  std::iota(own.begin(), own.end(), 0);
  if (moves_only_units(rw.shape(x.u), x.perm) || elements(shape) == 0) {
    const ValueId plain = transpose(rw, x.u, x.perm);
    return {reshape(rw, plain, shape), own};
  }

  std::vector<Segment> segments = segments_of(from, shape);
  const auto end_of = [&x](const Segment& s) {
    i64 end = -1;
    for (const size_t d : s.from) end = std::max(end, x.perm[d]);
    return end;
  };
  std::stable_sort(segments.begin(), segments.end(),
                   [&](const Segment& a, const Segment& b) { return end_of(a) < end_of(b); });

  Perm order;  // the axes of u, segment by segment; units last
  for (const Segment& segment : segments)
    for (const size_t d : segment.from) order.push_back(x.perm[d]);
  for (size_t d = 0; d < from.size(); d++)
    if (from[d] == 1) order.push_back(x.perm[d]);
  const ValueId arranged = transpose(rw, x.u, order);

  Dims placed;  // the new dimensions in the order in which they will lie
  const auto place_units_after = [&](size_t d) {
    for (; d < shape.size() && shape[d] == 1; d++) placed.push_back(d);
  };
  place_units_after(0);
  for (const Segment& segment : segments)
    for (const size_t d : segment.to) {
      placed.push_back(d);
      place_units_after(d + 1);
    }
  Shape lying;
  Perm perm(shape.size());
  for (size_t i = 0; i < placed.size(); i++) {
    lying.push_back(shape[placed[i]]);
    perm[placed[i]] = static_cast<i64>(i);
  }
  return {reshape(rw, arranged, lying), perm};
}

}  // namespace mcc
