// Operators of the family normalize.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> normalize_ops() { return {}; }

}  // namespace mcc
