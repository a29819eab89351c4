// Views of a lowered model: which storage a value lies in, and outputs that cannot be written in place.
#pragma once
#include "package/package.h"

namespace mcc {

struct Resolved {
  ValueId root = kNone;  // the value that has the memory; itself for most
  i64 offset = 0;        // bytes from its start
};
std::vector<Resolved> resolve_views(const LoweredModel& model);  // chains of views followed to their end

// The value is its root's bytes from first to last.
bool covers_root(const LoweredModel& model, const std::vector<Resolved>& resolved, ValueId value);

// The same model, where each graph output has a storage of its own that no other output, input or constant has: outputs
// for which this is not so are computed as before and then copied by one more call.
LoweredModel copied_outputs(LoweredModel model);

}  // namespace mcc
