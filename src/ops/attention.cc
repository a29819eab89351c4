// Operators of the family attention: composites that are one kernel when recognised.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> attention_ops() { return {}; }

}  // namespace mcc
