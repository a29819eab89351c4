// How much work a node is for its reference: what decides whether a constant is computed at compile time.
#pragma once
#include "ops/op_def.h"

namespace mcc {

constexpr double kMaxFoldingWork = 4e9;  // of one node; a few seconds

// Multiplications, roughly. For A[m,k] x B[k,n] = C[m,n] it is exactly sqrt(|A| |B| |C|); a window goes over its taps
// for each element, the padding too.
double work_estimate(const Node& node, Types in, Types out);

}  // namespace mcc
