// Parts of affine.cc that the simplifier, the verifier and the interpreter build on.
#pragma once
#include <optional>
#include <span>

#include "loop/loop_ops.h"

namespace mcc::loop {

// Adds scale * expr to `sum` if expr is, as written, a sum of multiples of variables; else false and `sum` is spoilt.
bool add_affine(const Expr& expr, i64 scale, Affine& sum);

// The bounds of one operation from those of its arguments; nothing when they are not known or the value may wrap.
std::optional<Range> range_of_op(const Expr& expr, std::span<const std::optional<Range>> args);

// All values of a type; nothing for floats, i64 and u64, whose ranges say nothing.
std::optional<Range> range_of_type(DType dtype);

std::optional<Range> add(Range a, Range b);   // nothing on overflow
std::optional<Range> scale(Range a, i64 by);  // nothing on overflow

}  // namespace mcc::loop
