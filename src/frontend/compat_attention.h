// Values [batch, length, heads * size] and [batch, heads, length, size], one as the other.
#pragma once
#include "frontend/importer.h"

namespace mcc::frontend {

ValueId split_heads(const OnnxCall& call, ValueId v, i64 heads);
ValueId merge_heads(const OnnxCall& call, ValueId v);

}  // namespace mcc::frontend
