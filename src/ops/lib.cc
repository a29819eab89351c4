// See lib.h.
#include "ops/lib.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace mcc::ops {

i64 axis_of(const Node& node, i64 rank, i64 otherwise) {
  return normalize_axis(node.attrs.get_int("axis", otherwise), rank);
}

void require_rank(const TensorType& type, i64 wanted, std::string_view what) {
  if (rank(type) != wanted) fail("{} has rank {}, not {}", what, rank(type), wanted);
}

void require_same_dtype(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype) fail("inputs of types {} and {} do not go together", name(a.dtype), name(b.dtype));
}

bool present(Types types, size_t i) { return i < types.size() && !is_missing(types[i]); }

DType compute_type(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype; }

Vars broadcast_index(const Shape& from, const Vars& to) {
  MCC_CHECK(from.size() <= to.size());
  Vars index;
  for (size_t d = 0; d < from.size(); d++)
    index.push_back(from[d] == 1 ? loop::const_int(0) : to[to.size() - from.size() + d]);
  return index;
}

namespace {

std::string param_name(const std::vector<std::string>& names, size_t i) {
  if (i < names.size()) return names[i];
  return names.front() + std::to_string(i);
}

}  // namespace

std::vector<int> add_inputs(FuncBuilder& b, Types in, const std::vector<std::string>& names) {
  std::vector<int> ids;
  for (size_t i = 0; i < in.size(); i++)
    ids.push_back(is_missing(in[i]) ? -1 : b.input(param_name(names, i), in[i].dtype, in[i].shape));
  return ids;
}

std::vector<int> add_outputs(FuncBuilder& b, Types out, const std::vector<std::string>& names) {
  std::vector<int> ids;
  for (size_t i = 0; i < out.size(); i++)
    ids.push_back(is_missing(out[i]) ? -1 : b.output(param_name(names, i), out[i].dtype, out[i].shape));
  return ids;
}

Expr safe_index(Expr index, i64 n) {
  Expr i = loop::cast(DType::i64, std::move(index));
  Expr from_start = loop::select(i < loop::const_int(0), i + n, i);
  return loop::max(loop::min(from_start, loop::const_int(n - 1)), loop::const_int(0));
}

i64 flat_index(const Shape& shape, const Index& index) {
  MCC_CHECK(shape.size() == index.size());
  i64 flat = 0;
  for (size_t d = 0; d < shape.size(); d++) flat = flat * shape[d] + index[d];
  return flat;
}

i64 flat_broadcast(const Shape& from, const Index& to) {
  i64 flat = 0;
  for (size_t d = 0; d < from.size(); d++) flat = flat * from[d] + (from[d] == 1 ? 0 : to[to.size() - from.size() + d]);
  return flat;
}

void copy_element(Tensor& to, i64 i, const Tensor& from, i64 j) {
  i64 size = size_of(to.type.dtype);
  std::memcpy(to.bytes() + i * size, from.bytes() + j * size, at(size));
}

i64 wrap_index(i64 index, i64 n) { return std::clamp(index < 0 ? index + n : index, i64{0}, std::max(n - 1, i64{0})); }

bool beats(const Tensor& x, i64 a, i64 b, bool largest) {
  if (is_float(x.type.dtype)) {
    double p = x.get(a), q = x.get(b);
    if (std::isnan(p) || std::isnan(q)) return std::isnan(p) && !std::isnan(q);
    return largest ? p > q : p < q;
  }
  i64 p = x.get_int(a), q = x.get_int(b);
  if (x.type.dtype == DType::u64) {
    p ^= min_value(DType::i64);
    q ^= min_value(DType::i64);
  }
  return largest ? p > q : p < q;
}

void set_saturated(Tensor& to, i64 i, double value) {
  DType dtype = to.type.dtype;
  if (!is_int(dtype)) return to.set(i, value);
  if (std::isnan(value)) return to.set_int(i, 0);
  value = std::trunc(value);
  if (dtype == DType::u64 && value >= 0x1p63)
    return to.set_int(i, value >= 0x1p64 ? -1 : static_cast<i64>(static_cast<u64>(value)));
  double low = static_cast<double>(min_value(dtype)), high = static_cast<double>(max_value(dtype));
  if (value <= low) return to.set_int(i, min_value(dtype));
  to.set_int(i, value >= high ? max_value(dtype) : static_cast<i64>(value));
}

}  // namespace mcc::ops
