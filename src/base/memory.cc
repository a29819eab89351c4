#include "base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace mcc {
namespace {

double page_bytes() { return static_cast<double>(sysconf(_SC_PAGESIZE)); }

// Addresses in use, of the program and its libraries too; 0 where the system does not tell.
double address_space_in_use() {
  double pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * page_bytes();
}

double gib(double bytes) { return bytes / (1 << 30); }

}  // namespace

double memory_limit() {
  const double machine = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return machine;
  return std::clamp(static_cast<double>(limit.rlim_cur) - address_space_in_use(), 0.0, machine);
}

void require_memory(double bytes, std::string_view what) {
  const double limit = memory_limit();
  if (bytes > limit)
    fail("{} takes {:.1f} GiB of memory, more than the {:.1f} GiB that can be had here", what, gib(bytes), gib(limit));
}

void prefer_huge_pages(void* memory, u64 bytes) {
  const u64 start = reinterpret_cast<u64>(memory);
  const u64 first = (start + kHugePage - 1) / kHugePage * kHugePage, end = (start + bytes) / kHugePage * kHugePage;
  if (first < end) madvise(static_cast<char*>(memory) + (first - start), end - first, MADV_HUGEPAGE);
}

}  // namespace mcc
