// Values whose length depends on data; see counted.cc.
#pragma once
#include "frontend/importer.h"

namespace mcc::frontend {

bool has_counted_input(const OnnxCall& call);
// Imports a node with such inputs: its results may be such values too. Error when the operator cannot take them.
Outputs import_counted(OnnxCall& call, const OnnxOp& op);

// Declares that only the first `count` (i64 scalar) of v along the axis are real; a known count is cut off at once.
ValueId with_count(const OnnxCall& call, ValueId v, i64 axis, ValueId count);
// v with `fill` beyond its count; v itself when all of it is real.
ValueId masked(const OnnxCall& call, ValueId v, double fill);
// The shape that v really has, i64[rank].
ValueId true_shape(Builder& builder, const std::string& name, ValueId v);

}  // namespace mcc::frontend
