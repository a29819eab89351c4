// Random numbers that are the same everywhere: xoshiro256** seeded by splitmix64 (Blackman & Vigna 2018).
// One Rng is passed in and forked per index, so results do not depend on the order in which threads finish.
// fill_inputs() of measure and the tools use InputRng instead, whose stream is documented for other programs.
#pragma once
#include <vector>

#include "base/base.h"

namespace mcc {

class Rng {
 public:
  explicit Rng(u64 seed);
  u64 next();
  i64 below(i64 n);           // 0..n-1, n >= 1
  double uniform();           // [0, 1)
  double normal();            // mean 0, variance 1
  Rng fork(u64 index) const;  // an independent stream; does not change this one
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(below(static_cast<i64>(from.size())))];
  }
  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (i64 i = static_cast<i64>(items.size()) - 1; i > 0; i--)
      std::swap(items[static_cast<size_t>(i)], items[static_cast<size_t>(below(i + 1))]);
  }

 private:
  u64 s_[4];
};

// The documented input generator (docs/INPUTS.md): Marsaglia's xorshift32, one stream for each model input.
class InputRng {
 public:
  InputRng(std::uint32_t seed, int input_index);
  std::uint32_t next();

 private:
  std::uint32_t state_;
};

}  // namespace mcc
