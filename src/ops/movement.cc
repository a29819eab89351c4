// Operators of the family movement.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> movement_ops() { return {}; }

}  // namespace mcc
