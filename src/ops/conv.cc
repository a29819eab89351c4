// Operators of the family conv.
#include "ops/op_def.h"

namespace mcc {

std::span<const OpDef> conv_ops() { return {}; }

}  // namespace mcc
