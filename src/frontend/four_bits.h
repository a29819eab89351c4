// 4-bit integers; see four_bits.cc.
#pragma once
#include "frontend/importer.h"

namespace mcc::frontend {

// Whether the node's result is such a value because its input is. Error when it has such inputs and cannot take them.
bool keeps_four_bits(const OnnxCall& call);

// i8 or u8 numbers as 4-bit ones of the same sign: their lower four bits, or the nearest there is.
ValueId wrapped_to_four_bits(const OnnxCall& call, ValueId v);
ValueId saturated_to_four_bits(const OnnxCall& call, ValueId v);

}  // namespace mcc::frontend
