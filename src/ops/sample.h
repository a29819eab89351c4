// What a GridSample node means, read once; and the operators that look at regions of interest.
#pragma once
#include "ops/lib.h"

namespace mcc::ops {

struct GridSample {
  enum Kind : u8 { nearest, linear, cubic } kind = linear;
  enum Outside : u8 { zeros, border, reflection } outside = zeros;
  bool aligned = false;  // -1 and 1 are the middles of the outermost pixels, not their edges
  Shape in;              // extents of the spatial axes

  // Whether a position outside is moved before its taps are taken.
  bool moves() const { return outside != zeros && !(kind == cubic && outside == border); }
};

GridSample read_grid_sample(const Node& node, const Shape& x);  // throws Error
void grid_sample_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);

std::span<const OpDef> region_ops();  // RoiAlign, MaxRoiPool
OpDef deform_sample_op();             // DeformSample

}  // namespace mcc::ops
