// Index spaces of reductions: which axes go, and where a nest over spatial and reduction loops reads.
#pragma once
#include "ops/lib.h"

namespace mcc::ops {

std::vector<bool> reduced_axes(const Node& node, i64 rank);  // attribute axes
Shape reduced_shape(const Shape& in, const std::vector<bool>& reduced, bool keep);
Shape reduction_extents(const Shape& in, const std::vector<bool>& reduced);
// The input index of spatial loops s (over the reduced shape) and reduction loops r.
Vars reduce_source(const std::vector<bool>& reduced, bool keep, const Vars& s, const Vars& r);

std::span<const OpDef> arg_ops();  // ArgMax, ArgMin, CumSum
OpDef count_ngrams_op();           // CountNgrams

}  // namespace mcc::ops
