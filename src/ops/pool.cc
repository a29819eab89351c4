// Operators of the family pool.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> pool_ops() { return {}; }

}  // namespace mcc
