// Operators whose number of results depends on data: NonZero, Compress, Unique and NonMaxSuppression. Their results
// have the largest length there can be and a count (counted.cc); with constant inputs everything folds and the length
// is exact.
//
// All but Unique are made of the Graph's NonZero, which finds the places of true elements; Gather does the rest.
#include <algorithm>

#include "frontend/counted.h"

namespace mcc::frontend {
namespace {

// The indices of the non-zero elements, one column each, in row-major order.
ValueId places_of(const OnnxCall& call, ValueId x) {
  const Outputs found = call.emit("NonZero", {x}, {}, 2);
  return with_count(call, found[0], 1, found[1]);
}

// The same value in another shape or order, with its count at `axis`.
ValueId keep_count(const OnnxCall& call, ValueId from, ValueId to, i64 axis) {
  const auto found = call.builder.counted.find(from);
  if (found != call.builder.counted.end()) call.builder.counted[to] = {axis, found->second.count};
  return to;
}

Outputs non_zero(OnnxCall& call) { return {places_of(call, call.need(0, "X"))}; }

ValueId flattened(const OnnxCall& call, ValueId v) { return call.reshape(v, {elements(call.builder.shape(v))}); }

Outputs compress(OnnxCall& call) {
  const bool flat = !call.attrs.has("axis");
  const ValueId x = flat ? flattened(call, call.need(0, "input")) : call.need(0, "input");
  const i64 axis = flat ? 0 : normalize_axis(call.attrs.get_int("axis"), call.builder.rank(x));
  const ValueId mask = call.need(1, "condition");
  if (call.builder.rank(mask) != 1) fail("the condition has rank {}, not 1", call.builder.rank(mask));
  const i64 length = call.builder.shape(mask)[0], extent = call.builder.shape(x)[at(axis)];
  if (length > extent && call.builder.known(mask)) fail("the condition is longer than axis {}", axis);
  const ValueId places = places_of(call, slice(call, mask, 0, 0, std::min(length, extent)));
  const ValueId indices = keep_count(call, places, flattened(call, places), 0);
  const ValueId kept = call.emit1("Gather", {x, indices}, make_attrs({{"axis", axis}}));
  return {keep_count(call, indices, kept, axis)};
}

// Slices along an axis are rows of a matrix.
Outputs unique(OnnxCall& call) {
  const bool flat = !call.attrs.has("axis");
  const ValueId x = flat ? flattened(call, call.need(0, "X")) : call.need(0, "X");
  const i64 rank = call.builder.rank(x), axis = flat ? 0 : normalize_axis(call.attrs.get_int("axis"), rank);
  const i64 n = call.builder.shape(x)[at(axis)], total = elements(call.builder.shape(x));
  std::vector<i64> perm = range(rank);
  std::rotate(perm.begin(), perm.begin() + axis, perm.begin() + axis + 1);
  const ValueId rows = call.reshape(axis == 0 ? x : call.transpose(x, perm), {n, n == 0 ? 1 : total / n});
  const Outputs found =
      call.builder.emit({"Unique", call.name, {rows}, {}, make_attrs({{"sorted", call.attrs.get_int("sorted", 1)}})},
                        {true, call.wants(2), call.wants(3), true});
  const ValueId number = found[3], first = with_count(call, found[0], 0, number);
  const ValueId values = call.emit1("Gather", {x, first}, make_attrs({{"axis", axis}}));
  return {keep_count(call, first, values, axis), first, found[1],
          call.wants(3) ? with_count(call, found[2], 0, number) : kNone};
}

Outputs suppress(OnnxCall& call) {
  const Shape scores = call.builder.shape(call.need(1, "scores"));
  if (scores.size() != 3) fail("scores have rank {}, not 3", scores.size());
  const i64 wanted = call.has(2) ? call.known_int(2, "max_output_boxes_per_class") : 0;
  const i64 k = std::clamp<i64>(wanted, 0, scores[2]);
  if (k == 0) return {call.constant(Tensor(TensorType{DType::i64, {0, 3}}))};
  Attrs attrs = make_attrs({{"k", k},
                            {"center_point_box", call.attrs.get_int("center_point_box", 0)},
                            {"iou_threshold", call.has(3) ? call.known_number(3, "iou_threshold") : 0.0}});
  if (call.has(4)) attrs.set("score_threshold", call.known_number(4, "score_threshold"));
  const ValueId boxes = call.emit1("NonMaxSuppression", {call.need(0, "boxes"), call.in[1]}, std::move(attrs));
  const ValueId none = call.constant(Tensor::of<i64>(DType::i64, {}, {0}));
  const ValueId places = places_of(call, call.emit1("GreaterOrEqual", {boxes, none}));
  const ValueId rows = call.transpose(places, {1, 0});  // batch, class, place among the chosen
  const i64 most = call.builder.shape(rows)[0];
  const ValueId chosen = call.reshape(call.emit1("GatherND", {boxes, rows}), {most, 1});
  const ValueId result = call.emit1("Concat", {slice(call, rows, 1, 0, 2), chosen}, make_attrs({{"axis", i64{1}}}));
  return {keep_count(call, places, result, 0)};
}

constexpr std::string_view kCounted = "length as data has it (OPS.md)";
constexpr OnnxOp kOps[] = {
    {"NonZero", non_zero, "", kCounted},
    {"Compress", compress, "axis", kCounted},
    {"Unique", unique, "axis sorted", kCounted},
    {"NonMaxSuppression", suppress, "center_point_box",
     "the number of boxes and the thresholds known; length as data has it (OPS.md)"},
};

}  // namespace

std::span<const OnnxOp> select_imports() { return kOps; }

}  // namespace mcc::frontend
