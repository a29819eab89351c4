// Operators of the family recurrent.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> recurrent_ops() { return {}; }

}  // namespace mcc
