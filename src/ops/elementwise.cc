// Operators of the family elementwise.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> elementwise_ops() { return {}; }

}  // namespace mcc
