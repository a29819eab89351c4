// What the files of this family share; see select.cc.
#pragma once
#include "ops/lib.h"

namespace mcc::ops {

OpDef suppression_op();  // NonMaxSuppression

}  // namespace mcc::ops
