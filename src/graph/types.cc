// Element types in one table; shape arithmetic that refuses overflow instead of wrapping.
#include "graph/types.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/text.h"

namespace mcc {
namespace {

struct DTypeRow {
  std::string_view name;
  i64 size;
  bool is_float, is_int, is_unsigned;
  i64 min, max;
};

template <typename T>
constexpr DTypeRow int_row(std::string_view name) {
  using Limits = std::numeric_limits<T>;
  const u64 max = static_cast<u64>(Limits::max()), cut = static_cast<u64>(std::numeric_limits<i64>::max());
  return {name,
          sizeof(T),
          false,
          true,
          !Limits::is_signed,
          static_cast<i64>(Limits::min()),
          static_cast<i64>(std::min(max, cut))};
}

constexpr DTypeRow kRows[] = {
    // in the order of DType
    {"f32", 4, true, false, false, 0, 0},   {"f64", 8, true, false, false, 0, 0}, {"f16", 2, true, false, false, 0, 0},
    {"bf16", 2, true, false, false, 0, 0},  int_row<std::int8_t>("i8"),           int_row<std::int16_t>("i16"),
    int_row<std::int32_t>("i32"),           int_row<std::int64_t>("i64"),         int_row<std::uint8_t>("u8"),
    int_row<std::uint16_t>("u16"),          int_row<std::uint32_t>("u32"),        int_row<std::uint64_t>("u64"),
    {"bool", 1, false, false, false, 0, 1},
};

const DTypeRow& row(DType dtype) { return kRows[at(dtype)]; }

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view text) {
  for (size_t i = 0; i < std::size(kRows); i++)
    if (kRows[i].name == text) return static_cast<DType>(i);
  return std::nullopt;
}

i64 size_of(DType dtype) { return row(dtype).size; }
bool is_float(DType dtype) { return row(dtype).is_float; }
bool is_int(DType dtype) { return row(dtype).is_int; }
bool is_unsigned(DType dtype) { return row(dtype).is_unsigned; }
i64 min_value(DType dtype) { return row(dtype).min; }
i64 max_value(DType dtype) { return row(dtype).max; }

i64 elements(const Shape& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  i64 count = 1;
  for (const i64 extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count))
      fail("a tensor of shape {} is too large", to_string(shape));
  return count;
}

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::string to_string(const Shape& shape) { return shape.empty() ? "scalar" : join(shape, "x"); }

std::string to_string(const TensorType& type) { return fmt::format("{}[{}]", name(type.dtype), join(type.shape, ",")); }

i64 bytes(const TensorType& type) {
  i64 count = 0;
  if (__builtin_mul_overflow(elements(type.shape), size_of(type.dtype), &count))
    fail("a tensor of type {} is too large", to_string(type));
  return count;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const size_t offset = result.size() - shorter.size();
  for (size_t d = 0; d < shorter.size(); d++) {
    i64& extent = result[offset + d];
    if (extent != shorter[d] && extent != 1 && shorter[d] != 1)
      fail("shapes {} and {} do not broadcast", to_string(a), to_string(b));
    if (extent == 1) extent = shorter[d];
  }
  return result;
}

i64 normalize_axis(i64 axis, i64 rank) {
  if (axis < -rank || axis >= rank) fail("axis {} is outside rank {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace mcc
