// NumPy's .npy files (format 1.0-3.0, C order; Fortran order is refused with a clear error), and the documented random
// inputs that any program can be fed (docs/INPUTS.md).
#pragma once
#include <filesystem>
#include <string>

#include "graph/tensor.h"

namespace mcc {

Tensor read_npy(const std::filesystem::path& file);
Tensor parse_npy(std::string_view bytes, std::string_view name_for_errors);
std::string to_npy(const Tensor& tensor);  // bf16 is written as f32

// Input number `index` of a model, called `name`, filled from the documented generator:
// f32/f64 (x>>8)/2^23 - 1; f16 (x>>21)/2^10 - 1; ints (x>>8) mod K, K = 2 if the lower-case name contains "mask" or
// "type", else 100; u8 x>>24; i8 (x>>24) - 128; bool x>>31.
Tensor random_input(const TensorType& type, std::string_view name, int index, std::uint32_t seed);

}  // namespace mcc
