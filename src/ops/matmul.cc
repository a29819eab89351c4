// Operators of the family matmul.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> matmul_ops() { return {}; }

}  // namespace mcc
