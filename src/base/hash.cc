// Two runs of a 64-bit multiply-and-fold hash (after wyhash, public domain design) with different seeds.
#include "base/hash.h"

#include <bit>
#include <cstring>

namespace mcc {
namespace {

u64 fold(u64 a, u64 b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<u64>(product) ^ static_cast<u64>(product >> 64);
}

u64 read_up_to_8(const char* at, size_t n) {
  u64 word = 0;
  if (std::endian::native == std::endian::little && n == 8) {
    std::memcpy(&word, at, 8);
    return word;
  }
  for (size_t i = 0; i < n; i++) word |= static_cast<u64>(static_cast<u8>(at[i])) << (8 * i);
  return word;
}

}  // namespace

u64 hash64(std::string_view bytes, u64 seed) {
  constexpr u64 k0 = 0xa0761d6478bd642full, k1 = 0xe7037ed1a0b428dbull;
  u64 state = fold(seed ^ k0, bytes.size() ^ k1);
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 16; at += 16, left -= 16) state = fold(read_up_to_8(at, 8) ^ k0 ^ state, read_up_to_8(at + 8, 8) ^ k1);
  if (left > 8) return fold(fold(read_up_to_8(at, 8) ^ k0 ^ state, read_up_to_8(at + 8, left - 8) ^ k1), k0);
  return fold(fold(read_up_to_8(at, left) ^ k1 ^ state, k0), k1);
}

std::string hash_hex(std::string_view bytes) {
  return fmt::format("{:016x}{:016x}", hash64(bytes, 1), hash64(bytes, 2));
}

}  // namespace mcc
