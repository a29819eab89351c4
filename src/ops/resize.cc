// Operators of the family resize.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> resize_ops() { return {}; }

}  // namespace mcc
