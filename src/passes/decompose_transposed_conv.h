// ConvTranspose with strides as a convolution without.
#pragma once
#include "passes/rewrite.h"

namespace mcc {

// What the output of a ConvTranspose becomes, or kNone for one that keeps its own lowering (groups, dilations, stride
// one, a kernel smaller than its strides, weights that are not constant).
ValueId decompose_transposed_conv(Rewriter& rw, const Node& node);

}  // namespace mcc
