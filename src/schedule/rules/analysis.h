// What rules want to know about stages: how each load moves along each axis, what is a contraction, what is worth
// inlining.
#pragma once
#include <vector>

#include "schedule/emit.h"
#include "target/target.h"

namespace mcc::schedule {

enum class Along : u8 { absent, contiguous, strided, random };  // how an access moves when an axis advances by one

struct Load {
  Access access;
  loop::Scope scope = loop::Scope::temp;
  bool constant_value() const { return scope == loop::Scope::constant; }
};

std::vector<Load> loads_of(const State& state, const Stage& stage);
Along along(const State& state, const Stage& stage, const Access& access, int axis);
// The stride along the axis when it is so short that a few whole vectors hold the lanes (2 to 4 elements), else 0.
constexpr i64 kShortStride = 4;
i64 short_stride(const State& state, const Stage& stage, const Access& access, int axis);
// Elements that an affine access moves by when the axis advances by one.
i64 element_stride(const State& state, const Stage& stage, const Access& access, int axis);
Along store_along(const State& state, const Stage& stage, int axis);

i64 points(const Stage& stage);              // iterations of all axes
i64 outputs(const Stage& stage);             // of the spatial axes
i64 reduction_points(const Stage& stage);    // of the reduction axes
double value_cost(const loop::Expr& value);  // operations of one evaluation; transcendental ones count 20
bool has_select(const loop::Expr& value);
bool is_single_load(const loop::Expr& value);                    // through casts
double stage_seconds(const Stage& stage, const Target& target);  // rough: vectorised arithmetic at half the peak
i64 element_bytes(const State& state, const Stage& stage);       // of the buffer it writes

// Axes with more than one value, outermost first.
std::vector<int> spatial_axes(const Stage& stage);
std::vector<int> reduction_axes(const Stage& stage);
const Axis& axis_of(const Stage& stage, int axis);

// The axis of `reader` that stands alone at dimension d of its (only) index into `buffer`; -1 when it is not that
// simple, or constant.
std::vector<int> reader_axes(const State& state, int reader, int buffer);

}  // namespace mcc::schedule
