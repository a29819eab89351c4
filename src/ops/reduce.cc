// Operators of the family reduce.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> reduce_ops() { return {}; }

}  // namespace mcc
