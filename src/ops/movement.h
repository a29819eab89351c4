// Operators of one input whose output elements are input elements at other places: output[v] = input[source(v)]. A row
// of Moves says where from, once as an expression and once in plain numbers; movement.cc does the rest.
#pragma once
#include "ops/lib.h"

namespace mcc::ops {

struct Move {
  const Node& node;
  const Shape& in;
  const Shape& out;
};

struct MoveRow {
  std::string_view name;
  FuseKind fuse;
  Shape (*shape)(const Node&, const Shape& in);  // of the output
  Vars (*source)(const Move&, const Vars& v);
  Index (*source_of)(const Move&, const Index& v);
};

std::span<const MoveRow> move_rows();

// The output's axes in the order of the loops: as they come, but where channels move to the front they stay the
// innermost loop. Pixels are outside then as in all kernels on channels-last values, and a thread reads the pixels it
// has written.
std::vector<size_t> loop_order(const Node& node, size_t rank);

// Other operators of the family, that have several inputs or outputs, or make elements up.
std::span<const OpDef> join_ops();  // Concat, Split, Pad, Trilu

}  // namespace mcc::ops
