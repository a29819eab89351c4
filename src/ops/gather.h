// What operators that read and write by index share.
#pragma once
#include "ops/lib.h"

namespace mcc::ops {

void require_indices(const TensorType& type);
std::span<const OpDef> scatter_ops();  // ScatterElements, ScatterND, MaxUnpool

}  // namespace mcc::ops
