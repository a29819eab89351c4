// For tensors whose bytes come from a file.
#pragma once
#include "graph/tensor.h"

namespace mcc {

// Of a bool tensor, all bytes but 0 become 1: any other byte is no value of bool, and undefined behaviour when read as
// one.
void make_booleans_valid(Tensor& tensor);

}  // namespace mcc
