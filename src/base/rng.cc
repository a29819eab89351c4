#include "base/rng.h"

#include <cmath>

namespace mcc {
namespace {

u64 splitmix(u64& state) {
  u64 z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

u64 rotl(u64 x, int k) { return (x << k) | (x >> (64 - k)); }

}  // namespace

Rng::Rng(u64 seed) {
  for (u64& s : s_) s = splitmix(seed);
}

u64 Rng::next() {
  const u64 result = rotl(s_[1] * 5, 7) * 9, t = s_[1] << 17;
  s_[2] ^= s_[0], s_[3] ^= s_[1], s_[1] ^= s_[2], s_[0] ^= s_[3];
  s_[2] ^= t, s_[3] = rotl(s_[3], 45);
  return result;
}

i64 Rng::below(i64 n) {
  MCC_CHECK(n >= 1);
  return static_cast<i64>((static_cast<unsigned __int128>(next()) * static_cast<u64>(n)) >> 64);
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Rng::normal() {
  const double u = 1.0 - uniform(), v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
}

Rng Rng::fork(u64 index) const {
  u64 state = s_[0] ^ rotl(s_[2], 23) ^ (index * 0xd1342543de82ef95ull);
  return Rng(splitmix(state));
}

InputRng::InputRng(std::uint32_t seed, int input_index)
    : state_(seed ^ (static_cast<std::uint32_t>(input_index + 1) * 0x9E3779B9u)) {
  if (state_ == 0) state_ = 0x6D2B79F5u;
  for (int i = 0; i < 8; i++) next();
}

std::uint32_t InputRng::next() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 17;
  state_ ^= state_ << 5;
  return state_;
}

}  // namespace mcc
