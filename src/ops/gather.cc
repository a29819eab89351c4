// Operators of the family gather.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> gather_ops() { return {}; }

}  // namespace mcc
