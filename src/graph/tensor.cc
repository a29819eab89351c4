// Tensors and element access for every type through one switch (visit), so that each conversion is written once.
#include "graph/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "base/memory.h"

namespace mcc {
namespace {

struct Half {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};

// Calls fn with a pointer to the elements as their C++ type; bool elements are plain `bool`-valued bytes (u8 tagged by
// dtype).
template <typename Byte, typename Fn>
auto visit(DType dtype, Byte* at, const Fn& fn) {
  constexpr bool is_const = std::is_const_v<Byte>;
  const auto as = [at]<typename T>(T) { return reinterpret_cast<std::conditional_t<is_const, const T*, T*>>(at); };
  switch (dtype) {
    case DType::f32: return fn(as(float()));
    case DType::f64: return fn(as(double()));
    case DType::f16: return fn(as(Half()));
    case DType::bf16: return fn(as(Bf16()));
    case DType::i8: return fn(as(std::int8_t()));
    case DType::i16: return fn(as(std::int16_t()));
    case DType::i32: return fn(as(std::int32_t()));
    case DType::i64: return fn(as(std::int64_t()));
    case DType::u8: return fn(as(std::uint8_t()));
    case DType::u16: return fn(as(std::uint16_t()));
    case DType::u32: return fn(as(std::uint32_t()));
    case DType::u64: return fn(as(std::uint64_t()));
    case DType::boolean: return fn(as(bool()));
  }
  check_failed(__FILE__, __LINE__, "dtype");
}

double to_double(Half h) { return half_to_float(h.bits); }
double to_double(Bf16 h) { return bf16_to_float(h.bits); }
template <typename T>
double to_double(T value) {
  return static_cast<double>(value);
}

template <typename T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, Half>)
    return {float_to_half(static_cast<float>(value))};
  else if constexpr (std::is_same_v<T, Bf16>)
    return {float_to_bf16(static_cast<float>(value))};
  else if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else {
    using Limits = std::numeric_limits<T>;
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(Limits::min())) return Limits::min();
    if (value >= static_cast<double>(Limits::max())) return Limits::max();
    return static_cast<T>(value);
  }
}

// Pages that nobody has touched yet, which cost nothing until they are written.
std::shared_ptr<std::byte> map_zeroed(size_t size) {
  const size_t mapped = size + kHugePage;
  void* const map = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  const auto start = static_cast<std::byte*>(map) + kHugePage - reinterpret_cast<std::uintptr_t>(map) % kHugePage;
  prefer_huge_pages(start, size);
  return {start, [map, mapped](std::byte*) { munmap(map, mapped); }};
}

std::shared_ptr<std::byte> allocate_zeroed(i64 size) {
  if (size >= static_cast<i64>(kHugePage)) return map_zeroed(static_cast<size_t>(size));
  constexpr size_t alignment = 64;
  auto* raw = static_cast<std::byte*>(std::calloc(static_cast<size_t>(std::max<i64>(size, 1)) + alignment, 1));
  if (raw == nullptr) throw std::bad_alloc();
  const size_t ahead = alignment - reinterpret_cast<std::uintptr_t>(raw) % alignment;
  return {raw + ahead, [raw](std::byte*) { std::free(raw); }};
}

}  // namespace

Tensor::Tensor(TensorType t) : type(std::move(t)), data_(allocate_zeroed(mcc::bytes(type))) {}

double Tensor::get(i64 i) const {
  return visit(type.dtype, bytes(), [i](const auto* at) { return to_double(at[i]); });
}

void Tensor::set(i64 i, double value) {
  visit(type.dtype, bytes(), [&]<typename T>(T* at) { at[i] = from_double<T>(value); });
}

i64 Tensor::get_int(i64 i) const {
  return visit(type.dtype, bytes(), [i]<typename T>(const T* at) -> i64 {
    if constexpr (std::is_integral_v<T>)
      return static_cast<i64>(at[i]);
    else
      return from_double<i64>(to_double(at[i]));
  });
}

void Tensor::set_int(i64 i, i64 value) {
  visit(type.dtype, bytes(), [&]<typename T>(T* at) {
    if constexpr (std::is_same_v<T, bool>)
      at[i] = value != 0;
    else if constexpr (std::is_integral_v<T>)
      at[i] = static_cast<T>(value);
    else
      at[i] = from_double<T>(static_cast<double>(value));
  });
}

Tensor Tensor::clone() const {
  Tensor copy(type);
  if (byte_size() > 0) std::memcpy(copy.bytes(), bytes(), static_cast<size_t>(byte_size()));
  return copy;
}

std::vector<i64> to_ints(const Tensor& tensor) {
  std::vector<i64> values(static_cast<size_t>(tensor.size()));
  for (size_t i = 0; i < values.size(); i++) values[i] = tensor.get_int(static_cast<i64>(i));
  return values;
}

std::vector<double> to_doubles(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.size()));
  for (size_t i = 0; i < values.size(); i++) values[i] = tensor.get(static_cast<i64>(i));
  return values;
}

Comparison compare(const Tensor& got, const Tensor& want) {
  if (got.type != want.type) fail("cannot compare {} with {}", to_string(got.type), to_string(want.type));
  Comparison result;
  visit(want.type.dtype, want.bytes(), [&, size = want.size()]<typename T>(const T* wanted) {
    const T* given = reinterpret_cast<const T*>(got.bytes());
    for (i64 i = 0; i < size; i++) {
      const double a = to_double(given[i]), b = to_double(wanted[i]);
      if (std::isfinite(b)) result.max_abs_want = std::max(result.max_abs_want, std::abs(b));
      if (std::isnan(a) && std::isnan(b)) continue;
      if (!std::isfinite(a) || !std::isfinite(b))
        result.mismatched_special += a != b;
      else
        result.max_abs_error = std::max(result.max_abs_error, std::abs(a - b));
    }
  });
  return result;
}

}  // namespace mcc
