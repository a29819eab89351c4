// How much memory a run may take. Linux promises more than there is and later ends the process that takes it, and under
// a limit (ulimit -v) some allocation in the middle fails; so the programs ask here before they allocate what a model
// wants. Sizes are doubles: sums of sizes from outside overflow nothing. Also the size of the pages that
// memory is made of.
#pragma once
#include <string_view>

#include "base/base.h"

namespace mcc {

double memory_limit();  // bytes: what the machine has, or what the process may still take where that is less

// Throws Error when that many bytes are more than the limit: "WHAT takes 8.0 GiB of memory, more than ...".
void require_memory(double bytes, std::string_view what);

// Asks for pages of 2 MiB for what of this memory fills such pages: fewer faults when it is first touched, fewer misses
// of the address translation later. Call it before the first touch.
constexpr u64 kHugePage = 2 << 20;
void prefer_huge_pages(void* memory, u64 bytes);

}  // namespace mcc
