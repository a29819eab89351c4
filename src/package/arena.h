// Places for buffers that live at different times in one block of memory.
#pragma once
#include <span>
#include <vector>

#include "base/base.h"

namespace mcc {

struct ArenaItem {
  i64 bytes = 0;
  int first = 0, last = 0;  // steps during which it is needed, both inclusive
};
struct ArenaLayout {
  std::vector<i64> offsets;  // one for each item, 64-byte aligned
  i64 bytes = 0;             // size of the whole block
};
// Items whose steps overlap never share a byte. Deterministic.
ArenaLayout lay_out_arena(std::span<const ArenaItem> items);

}  // namespace mcc
