// The helper functions that open every C source c_printer.cc writes: what loop.h says about integers, casts, min/max
// and 16-bit floats, where C says something else or nothing. C99, no dependencies but the standard headers.
#pragma once

namespace mcc::codegen {

inline constexpr const char* kCPrelude = R"(#include <math.h>
#include <stdint.h>
#include <string.h>

struct mcc_runtime; /* mcc_runtime.h; its first member runs a parallel loop */
typedef void (*mcc_parallel_fn)(struct mcc_runtime*, void (*)(void*, int64_t, int64_t, int32_t), void*, int64_t);

static inline int64_t mcc_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t mcc_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t mcc_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static inline int64_t mcc_div(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? mcc_sub(0, a) : a / b; }
static inline int64_t mcc_mod(int64_t a, int64_t b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
static inline int64_t mcc_floordiv(int64_t a, int64_t b) {
  return mcc_div(a, b) - (b != 0 && mcc_mod(a, b) != 0 && (a < 0) != (b < 0));
}
static inline int64_t mcc_floormod(int64_t a, int64_t b) {
  const int64_t rest = mcc_mod(a, b);
  return b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static inline int64_t mcc_pow(int64_t a, int64_t b) {
  int64_t result = 1;
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
  for (; b > 0; b >>= 1, a = mcc_mul(a, a)) {
    if (b & 1) result = mcc_mul(result, a);
  }
  return result;
}
static inline int64_t mcc_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t mcc_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t mcc_shl(int64_t a, int64_t by, int64_t bits) {
  return by < 0 || by >= bits ? 0 : (int64_t)((uint64_t)a << by);
}
static inline int64_t mcc_shr(int64_t a, int64_t by, int64_t bits) {
  return by < 0 || by >= bits ? (a < 0 ? -1 : 0) : a >> by;
}
static inline int64_t mcc_abs(int64_t a) { return a < 0 ? mcc_sub(0, a) : a; }
static inline int64_t mcc_sign(int64_t a) { return (a > 0) - (a < 0); }
static inline uint64_t mcc_udiv(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
static inline uint64_t mcc_umod(uint64_t a, uint64_t b) { return b == 0 ? a : a % b; }
static inline uint64_t mcc_upow(uint64_t a, uint64_t b) {
  uint64_t result = 1;
  for (; b > 0; b >>= 1, a *= a) {
    if (b & 1) result *= a;
  }
  return result;
}
static inline uint64_t mcc_umin(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t mcc_umax(uint64_t a, uint64_t b) { return a > b ? a : b; }
static inline uint64_t mcc_ushr(uint64_t a, uint64_t by) { return by >= 64 ? 0 : a >> by; }

static inline float mcc_minf(float a, float b) { return isnan(a) || a < b ? a : b; }
static inline float mcc_maxf(float a, float b) { return isnan(a) || a > b ? a : b; }
static inline double mcc_mind(double a, double b) { return isnan(a) || a < b ? a : b; }
static inline double mcc_maxd(double a, double b) { return isnan(a) || a > b ? a : b; }
static inline float mcc_signf(float a) { return a > 0 ? 1 : a < 0 ? -1 : a; }
static inline double mcc_signd(double a) { return a > 0 ? 1 : a < 0 ? -1 : a; }
static inline float mcc_sigmoidf(float a) { return 1 / (1 + expf(-a)); }
static inline double mcc_sigmoidd(double a) { return 1 / (1 + exp(-a)); }
static inline int64_t mcc_saturate(double a, int64_t low, int64_t high) {
  return isnan(a) ? 0 : a <= (double)low ? low : a >= (double)high ? high : (int64_t)a;
}
static inline uint64_t mcc_saturate_u64(double a) {
  return isnan(a) || a <= 0 ? 0 : a >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)a;
}

static inline uint32_t mcc_bits(float a) {
  uint32_t bits;
  memcpy(&bits, &a, 4);
  return bits;
}
static inline float mcc_float(uint32_t bits) {
  float a;
  memcpy(&a, &bits, 4);
  return a;
}
static inline float mcc_from_bf16(uint16_t bits) { return mcc_float((uint32_t)bits << 16); }
static inline uint16_t mcc_to_bf16(float a) {
  const uint32_t bits = mcc_bits(a);
  return (uint16_t)((isnan(a) ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
static inline float mcc_from_f16(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, magnitude = (uint32_t)(half & 0x7fffu) << 13;
  const uint32_t scaled = mcc_bits(mcc_float(magnitude) * 5192296858534827628530496329220096.0f);
  return mcc_float(sign | (magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : scaled));
}
static inline uint16_t mcc_to_f16(float a) {
  const uint32_t bits = mcc_bits(a), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (magnitude < 0x38800000u) return (uint16_t)(sign | (mcc_bits(mcc_float(magnitude) + 0.5f) - 0x3f000000u));
  return (uint16_t)(sign | (magnitude + 0xfffu - 0x38000000u + (magnitude >> 13 & 1)) >> 13);
}
static inline void mcc_prefetch(const void* base, int64_t bytes) { /* perhaps beyond the object: no pointer arithmetic */
#if defined(__GNUC__)
  __builtin_prefetch((const void*)((uintptr_t)base + (uintptr_t)bytes), 0, 3);
#else
  (void)base, (void)bytes;
#endif
}
static inline float mcc_round_f16(float a) { return mcc_from_f16(mcc_to_f16(a)); }
static inline float mcc_round_bf16(float a) { return mcc_from_bf16(mcc_to_bf16(a)); }
)";

}  // namespace mcc::codegen
