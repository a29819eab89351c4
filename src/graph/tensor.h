// A tensor: type and row-major bytes, 64-byte aligned. Also the scalar conversions of the narrow float types.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "graph/types.h"

namespace mcc {

struct Tensor {
  TensorType type;

  Tensor() = default;
  explicit Tensor(TensorType type);  // zero-filled
  template <typename T>
  static Tensor of(DType dtype, Shape shape, const std::vector<T>& values) {
    Tensor t({dtype, std::move(shape)});
    MCC_CHECK(static_cast<i64>(values.size()) == t.size() && sizeof(T) == static_cast<size_t>(size_of(dtype)));
    std::copy(values.begin(), values.end(), t.data<T>().begin());
    return t;
  }

  i64 size() const { return elements(type.shape); }
  std::byte* bytes() { return data_.get(); }
  const std::byte* bytes() const { return data_.get(); }
  i64 byte_size() const { return mcc::bytes(type); }
  template <typename T>
  std::span<T> data() {
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(size())};
  }
  template <typename T>
  std::span<const T> data() const {
    return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(size())};
  }

  // Element i of any type as a number; i64 and u64 beyond 2^53 lose bits in get(), never in get_int().
  double get(i64 i) const;
  void set(i64 i, double value);   // to integers: truncated, clamped to the type's range, NaN gives 0; bool: value != 0
  i64 get_int(i64 i) const;        // floats are truncated
  void set_int(i64 i, i64 value);  // wraps to the type's width

  Tensor clone() const;

 private:
  std::shared_ptr<std::byte> data_;  // copies of a Tensor share bytes; clone() does not
};

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);  // round to nearest even
float bf16_to_float(std::uint16_t bits);
std::uint16_t float_to_bf16(float value);  // round to nearest even

// Values as a plain list, for shape arithmetic and attributes.
std::vector<i64> to_ints(const Tensor& tensor);
std::vector<double> to_doubles(const Tensor& tensor);

struct Comparison {
  double max_abs_error = 0;    // largest |got - want|
  double max_abs_want = 0;     // largest finite |want|
  i64 mismatched_special = 0;  // elements where exactly one side is NaN, or infinities differ
  double relative() const { return max_abs_want > 0 ? max_abs_error / max_abs_want : max_abs_error; }
};
Comparison compare(const Tensor& got, const Tensor& want);  // types must be equal

}  // namespace mcc
