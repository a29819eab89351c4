// Memory that a faulty kernel cannot leave unnoticed: pages without access on both sides, the end of the data (rounded
// up to 64 bytes) right before the second one. Read-only once sealed.
#pragma once
#include <cstddef>

#include "base/base.h"

namespace mcc {

class Guarded {
 public:
  explicit Guarded(i64 bytes = 0);  // zero-filled; throws JobError when there is no memory
  Guarded(Guarded&& other) noexcept;
  Guarded& operator=(Guarded&& other) noexcept;
  ~Guarded();
  std::byte* data() const { return data_; }
  i64 size() const { return size_; }
  void seal();  // from now on writing to it is a fault

 private:
  std::byte* map_ = nullptr;
  std::byte* data_ = nullptr;
  i64 size_ = 0, mapped_ = 0;
};

}  // namespace mcc
