// How far apart two right results may be.
#pragma once
#include "graph/types.h"

namespace mcc {

// Of values of this type, relative to the largest of them, where `of_f32` is allowed for f32: rounding at each
// operation alone gives that much. 0: they must be equal.
double tolerance_of(DType dtype, double of_f32);

}  // namespace mcc
