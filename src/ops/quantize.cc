// Operators of the family quantize.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> quantize_ops() { return {}; }

}  // namespace mcc
