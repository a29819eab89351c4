// Greedy by size (Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020): the largest
// items choose first; each goes into the smallest gap that fits between the items placed already whose lifetimes
// overlap with its own, else behind them all. Quadratic in the number of items, which is a few hundred.
#include "package/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace mcc {
namespace {

constexpr i64 kAlign = 64;

bool overlap(const ArenaItem& a, const ArenaItem& b) { return a.first <= b.last && b.first <= a.last; }

// `placed` is sorted by offset and holds only items that live at the same time.
i64 best_gap(std::span<const int> placed, std::span<const ArenaItem> items, const std::vector<i64>& offsets,
             i64 bytes) {
  i64 end = 0, best = -1, best_size = std::numeric_limits<i64>::max();
  for (const int other : placed) {
    const i64 gap = offsets[at(other)] - end;
    if (gap >= bytes && gap < best_size) {
      best = end;
      best_size = gap;
    }
    end = std::max(end, offsets[at(other)] + round_up(items[at(other)].bytes, kAlign));
  }
  return best >= 0 ? best : end;
}

}  // namespace

ArenaLayout lay_out_arena(std::span<const ArenaItem> items) {
  ArenaLayout layout;
  layout.offsets.assign(items.size(), 0);
  std::vector<int> order(items.size()), placed;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return items[at(a)].bytes > items[at(b)].bytes; });
  for (const int item : order) {
    const ArenaItem& it = items[at(item)];
    if (it.bytes == 0) continue;
    std::vector<int> rivals;
    std::copy_if(placed.begin(), placed.end(), std::back_inserter(rivals),
                 [&](int other) { return overlap(it, items[at(other)]); });
    const i64 offset = best_gap(rivals, items, layout.offsets, round_up(it.bytes, kAlign));
    layout.offsets[at(item)] = offset;
    layout.bytes = std::max(layout.bytes, offset + round_up(it.bytes, kAlign));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), item,
                                   [&](int a, int b) { return layout.offsets[at(a)] < layout.offsets[at(b)]; }),
                  item);
  }
  return layout;
}

}  // namespace mcc
