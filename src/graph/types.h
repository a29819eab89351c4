// Element types and static tensor shapes: the vocabulary shared by graphs, loop programs and tensors.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"

namespace mcc {

enum class DType : u8 { f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

std::string_view name(DType dtype);                      // "f32", ..., "bool"
std::optional<DType> dtype_from_name(std::string_view);  // its inverse
i64 size_of(DType dtype);                                // bytes of an element; bool is one byte, 0 or 1
bool is_float(DType dtype);
bool is_int(DType dtype);       // any integer width, not bool
bool is_unsigned(DType dtype);  // u8..u64
i64 min_value(DType dtype);     // of an integer type (u64's bounds are cut to i64)
i64 max_value(DType dtype);

using Shape = std::vector<i64>;  // {} is a scalar; zero-size dimensions are legal

i64 elements(const Shape& shape);             // product; 1 for a scalar. Throws Error on overflow.
Shape row_major_strides(const Shape& shape);  // in elements
std::string to_string(const Shape& shape);    // "1x3x224x224"; "scalar" for rank 0

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

std::string to_string(const TensorType& type);  // "f32[1,3,224,224]"
i64 bytes(const TensorType& type);

// NumPy broadcasting (ONNX spec, Broadcasting); throws Error naming the two shapes when they do not fit.
Shape broadcast(const Shape& a, const Shape& b);
// A possibly negative axis made non-negative; throws Error when it is out of range.
i64 normalize_axis(i64 axis, i64 rank);

}  // namespace mcc
