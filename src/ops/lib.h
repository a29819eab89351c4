// What the op families share: reading attributes and types, broadcasting, and walking index spaces.
//
// Lowerings work with loop::Vars, references with plain i64 indices. Both forms exist because a reference must not
// share a mistake with the lowering that it judges.
#pragma once
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "loop/build.h"
#include "ops/op_def.h"

namespace mcc::ops {

using Index = std::vector<i64>;
using loop::Expr;
using loop::FuncBuilder;
using loop::Vars;

inline i64 rank(const TensorType& type) { return static_cast<i64>(type.shape.size()); }

// --- inference ------------------------------------------------------------------------------------------------------
// The attribute `axis`, made non-negative.
i64 axis_of(const Node& node, i64 rank, i64 otherwise);
void require_rank(const TensorType& type, i64 rank, std::string_view what);
void require_same_dtype(const TensorType& a, const TensorType& b);
bool present(Types types, size_t i);  // given, and not a missing optional one
inline bool present(std::span<const Tensor* const> in, size_t i) { return i < in.size() && in[i]; }

// --- lowering -------------------------------------------------------------------------------------------------------
// The type in which a value of this type is computed: f32 for f16 and bf16, else itself.
DType compute_type(DType dtype);
Vars broadcast_index(const Shape& from, const Vars& to);  // aligned at the right; extents of 1 read 0
// Parameters for all present inputs, in order, named x, y, z... by `names` (then x<i>); -1 for a missing one.
std::vector<int> add_inputs(FuncBuilder& b, Types in, const std::vector<std::string>& names = {"x"});
std::vector<int> add_outputs(FuncBuilder& b, Types out, const std::vector<std::string>& names = {"y"});
// An element of an index tensor as a safe index into an axis of n: negative ones count from the end, all are clamped.
Expr safe_index(Expr index, i64 n);

// --- references -----------------------------------------------------------------------------------------------------
// Calls visit(index, flat) for each index of the shape in row-major order.
template <typename Visit>
void for_each_index(const Shape& shape, Visit visit) {
  i64 count = elements(shape);
  Index index(shape.size(), 0);
  for (i64 flat = 0; flat < count; flat++) {
    visit(static_cast<const Index&>(index), flat);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}
i64 flat_index(const Shape& shape, const Index& index);
i64 flat_broadcast(const Shape& from, const Index& to);           // element of `from` that `to` reads when broadcast
void copy_element(Tensor& to, i64 i, const Tensor& from, i64 j);  // of one dtype
// to[index] = from[source(index)] for every index of `to`.
template <typename Source>
void move_elements(const Tensor& from, Tensor& to, Source source) {
  for_each_index(to.type.shape, [&](const Index& index, i64 flat) {
    copy_element(to, flat, from, flat_index(from.type.shape, source(index)));
  });
}
i64 wrap_index(i64 index, i64 n);  // what safe_index does
// Does element a of x come before element b when the largest (or smallest) is sought? NaN is larger and smaller than
// all others.
bool beats(const Tensor& x, i64 a, i64 b, bool largest);
// A double as an element of the type: integers saturate and NaN gives 0, as loop programs cast.
void set_saturated(Tensor& to, i64 i, double value);

}  // namespace mcc::ops
