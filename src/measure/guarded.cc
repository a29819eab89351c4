#include "measure/guarded.h"

#include <sys/mman.h>

#include <utility>

#include "base/memory.h"

namespace mcc {
namespace {
constexpr i64 kPage = 4096;
}

Guarded::Guarded(i64 bytes) : size_(bytes) {
  const i64 inside = round_up(std::max<i64>(bytes, 1), kPage);
  mapped_ = inside + 2 * kPage;
  void* at = mmap(nullptr, static_cast<size_t>(mapped_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw JobError(fmt::format("no memory for a buffer of {} bytes", bytes));
  map_ = static_cast<std::byte*>(at);
  if (mprotect(map_ + kPage, static_cast<size_t>(inside), PROT_READ | PROT_WRITE) != 0)
    throw JobError(fmt::format("no memory for a buffer of {} bytes", bytes));
  prefer_huge_pages(map_ + kPage, static_cast<u64>(inside));  // as the weights of an artifact lie in them
  data_ = map_ + kPage + inside - round_up(bytes, 64);
}

Guarded::Guarded(Guarded&& other) noexcept { *this = std::move(other); }

Guarded& Guarded::operator=(Guarded&& other) noexcept {
  std::swap(map_, other.map_), std::swap(data_, other.data_), std::swap(size_, other.size_),
      std::swap(mapped_, other.mapped_);
  return *this;
}

Guarded::~Guarded() {
  if (map_ != nullptr) munmap(map_, static_cast<size_t>(mapped_));
}

void Guarded::seal() { mprotect(map_ + kPage, static_cast<size_t>(mapped_ - 2 * kPage), PROT_READ); }

}  // namespace mcc
