#include "graph/tolerance.h"

#include <algorithm>

namespace mcc {

double tolerance_of(DType dtype, double of_f32) {
  switch (dtype) {
    case DType::f64: return of_f32 * 1e-4;
    case DType::f16: return std::max(of_f32, 1e-2);
    case DType::bf16: return std::max(of_f32, 5e-2);
    default: return is_float(dtype) ? of_f32 : 0;
  }
}

}  // namespace mcc
