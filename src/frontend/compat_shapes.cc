// Shapes: operators that only look at shapes (they fold to constants), and those that give data another shape (all
// become Reshape with the full static shape).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/importer.h"
#include "frontend/onnx_weights.h"

namespace mcc::frontend {
namespace {

Tensor int_list(const std::vector<i64>& values) {
  return Tensor::of<i64>(DType::i64, {static_cast<i64>(values.size())}, values);
}

Outputs shape_of(OnnxCall& call) {
  const Shape& shape = call.shape(0);
  const i64 rank = static_cast<i64>(shape.size());
  const auto clamp = [&](i64 i) { return std::clamp(i < 0 ? i + rank : i, i64{0}, rank); };
  const i64 start = clamp(call.attrs.get_int("start", 0)), end = clamp(call.attrs.get_int("end", rank));
  if (start >= end) return {call.constant(int_list({}))};
  return {call.constant(int_list({shape.begin() + start, shape.begin() + end}))};
}

Outputs size_of_tensor(OnnxCall& call) {
  return {call.constant(Tensor::of<i64>(DType::i64, {}, {elements(call.shape(0))}))};
}

Tensor filled(Builder& builder, const TensorType& type, const Tensor& value) {
  builder.reserve_constant(type, "the result");
  Tensor tensor(type);
  const i64 width = size_of(type.dtype);
  for (i64 i = 0; i < tensor.size(); i++) std::copy_n(value.bytes(), width, tensor.bytes() + i * width);
  return tensor;
}

Outputs constant_of_shape(OnnxCall& call) {
  const AttrValue* given = call.attrs.find("value");
  if (given && !std::holds_alternative<Tensor>(*given)) fail("attribute 'value' is not a tensor");
  const Tensor value = given ? std::get<Tensor>(*given) : Tensor(TensorType{DType::f32, {1}});
  if (value.size() != 1) fail("attribute 'value' has {} elements instead of one", value.size());
  const Shape shape = call.known_ints(0, "input");
  if (std::any_of(shape.begin(), shape.end(), [](i64 d) { return d < 0; })) fail("the shape has a negative dimension");
  return {call.constant(filled(call.builder, {value.type.dtype, shape}, value))};
}

Outputs range_of(OnnxCall& call) {
  const DType dtype = call.dtype(0);
  const double start = call.known_number(0, "start"), limit = call.known_number(1, "limit"),
               delta = call.known_number(2, "delta");
  if (delta == 0 || !std::isfinite(delta) || !std::isfinite(limit - start)) fail("the step is {}", delta);
  const double count = std::max(0.0, std::ceil((limit - start) / delta));
  if (count > 1e9) fail("the result has {} elements", count);
  call.builder.reserve_constant({dtype, {static_cast<i64>(count)}}, "the result");
  Tensor tensor(TensorType{dtype, {static_cast<i64>(count)}});
  // Wraps as the type does.
  const auto first = static_cast<u64>(call.known(0, "start").get_int(0));
  const auto step = static_cast<u64>(call.known(2, "delta").get_int(0));
  for (i64 i = 0; i < tensor.size(); i++) {
    if (is_float(dtype))
      tensor.set(i, start + static_cast<double>(i) * delta);
    else
      tensor.set_int(i, static_cast<i64>(first + static_cast<u64>(i) * step));
  }
  return {call.constant(std::move(tensor))};
}

Outputs eye_like(OnnxCall& call) {
  const Shape& shape = call.shape(0);
  if (shape.size() != 2) fail("needs a matrix, not {}", to_string(shape));
  const DType dtype = call.attrs.has("dtype") ? dtype_from_onnx(call.attrs.get_int("dtype"), "dtype") : call.dtype(0);
  call.builder.reserve_constant({dtype, shape}, "the result");
  Tensor tensor(TensorType{dtype, shape});
  const i64 k = std::clamp(call.attrs.get_int("k", 0), -shape[0], shape[1]);
  for (i64 row = 0; row < shape[0]; row++)
    if (row + k >= 0 && row + k < shape[1]) tensor.set(row * shape[1] + row + k, 1);
  return {call.constant(std::move(tensor))};
}

// The requested shape with 0 (as in the input) and -1 (whatever is left) resolved.
Shape resolve_shape(const Shape& from, Shape shape, bool zero_means_zero) {
  i64 open = -1;
  Shape rest;
  for (size_t d = 0; d < shape.size(); d++) {
    if (shape[d] == 0 && !zero_means_zero) {
      if (d >= from.size()) fail("dimension {} of the new shape copies one that {} does not have", d, to_string(from));
      shape[d] = from[d];
    }
    if (shape[d] < -1 || (shape[d] == -1 && open >= 0)) fail("the new shape [{}] is not valid", fmt::join(shape, ", "));
    if (shape[d] == -1)
      open = static_cast<i64>(d);
    else
      rest.push_back(shape[d]);
  }
  const i64 total = elements(from), known = elements(rest);
  if (open >= 0) {
    if (known == 0 ? total != 0 : total % known != 0)
      fail("{} does not fit into [{}]", to_string(from), fmt::join(shape, ", "));
    shape[at(open)] = known == 0 ? 0 : total / known;
  } else if (known != total) {
    fail("{} elements do not fit into shape {}", total, to_string(shape));
  }
  return shape;
}

Outputs reshape(OnnxCall& call) {
  const Shape wanted = call.ints_from(1, "shape");
  if (!call.gives(1, "shape")) fail("input 'shape' is missing");
  const Shape shape = resolve_shape(call.shape(0), wanted, call.attrs.get_int("allowzero", 0) != 0);
  return {call.reshape(call.need(0, "input"), shape)};
}

Outputs flatten(OnnxCall& call) {
  const Shape& shape = call.shape(0);
  const i64 rank = call.rank(0);
  i64 axis = call.attrs.get_int("axis", 1);
  if (axis < -rank || axis > rank) fail("axis {} is outside rank {}", axis, rank);
  if (axis < 0) axis += rank;
  const Shape left(shape.begin(), shape.begin() + axis), right(shape.begin() + axis, shape.end());
  return {call.reshape(call.need(0, "input"), {elements(left), elements(right)})};
}

Outputs squeeze(OnnxCall& call) {
  const Shape& shape = call.shape(0);
  std::vector<i64> axes = normalize_axes(call.ints_from(1, "axes"), call.rank(0));
  const bool all = !call.gives(1, "axes");
  Shape kept;
  for (i64 d = 0; d < call.rank(0); d++) {
    const bool named = std::binary_search(axes.begin(), axes.end(), d);
    if (named && shape[at(d)] != 1) fail("axis {} of {} is not 1", d, to_string(shape));
    if (!(named || (all && shape[at(d)] == 1))) kept.push_back(shape[at(d)]);
  }
  return {call.reshape(call.need(0, "input"), kept)};
}

Outputs unsqueeze(OnnxCall& call) {
  if (!call.gives(1, "axes")) fail("input 'axes' is missing");
  const std::vector<i64> given = call.ints_from(1, "axes");
  const Shape& shape = call.shape(0);
  const i64 rank = call.rank(0) + static_cast<i64>(given.size());
  const std::vector<i64> axes = normalize_axes(given, rank);
  Shape result;
  size_t next = 0;
  for (i64 d = 0; d < rank; d++) result.push_back(std::binary_search(axes.begin(), axes.end(), d) ? 1 : shape[next++]);
  return {call.reshape(call.need(0, "input"), result)};
}

constexpr OnnxOp kOps[] = {
    {"Shape", shape_of, "start end"},
    {"Size", size_of_tensor, ""},
    {"ConstantOfShape", constant_of_shape, "value", "shape known"},
    {"Range", range_of, "", "start, limit, delta known"},
    {"EyeLike", eye_like, "dtype k"},
    {"Reshape", reshape, "shape allowzero", "shape known"},
    {"Flatten", flatten, "axis"},
    {"Squeeze", squeeze, "axes", "axes known"},
    {"Unsqueeze", unsqueeze, "axes", "axes known"},
};

}  // namespace

std::span<const OnnxOp> shape_imports() { return kOps; }

}  // namespace mcc::frontend
