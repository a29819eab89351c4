// Op lowerings joined into the one loop program of a fused group.
#pragma once
#include "passes/passes.h"

namespace mcc {

// The group's Func in algorithm form with its arguments. Each op's Func is copied in node order; a value between two
// nodes becomes a temp buffer, a constant of one element a number in the expressions, a value that lies in a larger one
// a parameter of its pitch. Buffer, block and variable names are unique and made from the ops' own, so that equal
// groups give equal programs wherever they are in a model.
KernelCall join_group(const Graph& graph, const FusedGroup& group, std::span<const LoweredModel::View> views);

// What people read in reports: "conv 56x56x64 -> 64 3x3 s1 + add + relu".
std::string kernel_name(const Graph& graph, const FusedGroup& group);

}  // namespace mcc
