// 4-bit integers; see four_bits.cc.
#pragma once
#include "frontend/importer.h"

namespace mcc::frontend {

bool has_four_bit_input(const OnnxCall& call);
// Imports a node with such inputs: its results may be such values too. Error when the operator cannot take them.
Outputs import_four_bits(OnnxCall& call, const OnnxOp& op);

// i8 or u8 numbers as 4-bit ones of the same sign: their lower four bits, or the nearest there is.
ValueId wrapped_to_four_bits(const OnnxCall& call, ValueId v);
ValueId saturated_to_four_bits(const OnnxCall& call, ValueId v);

}  // namespace mcc::frontend
