// Sequences and optionals, as far as they are known at import: which tensors a sequence holds and whether an optional
// has an element. They never reach the Graph. An operator's handler takes lists of values and gives lists of values;
// only the tensors inside are values of the Graph. Whatever depends on data (a position that is computed, a sequence as
// the model's input) is refused.
#include <algorithm>

#include "frontend/importer.h"

namespace mcc::frontend {
namespace {

constexpr i64 kMaxParts = 1 << 14;  // of one tensor; each is a node

const std::vector<ValueId>& sequence_of(const OnnxCall& call, size_t i) {
  const ValueId v = call.need(i, "input_sequence");
  if (!is_sequence(v)) fail("input {} is no sequence", i);
  return call.builder.sequence(v);
}

ValueId tensor_of(const OnnxCall& call, size_t i) {
  const ValueId v = call.need(i, "tensor");
  if (v < 0) fail("input {} is no tensor", i);
  return v;
}

Outputs give(const OnnxCall& call, std::vector<ValueId> items) { return {call.builder.add_sequence(std::move(items))}; }

Outputs empty(OnnxCall& call) { return give(call, {}); }

Outputs construct(OnnxCall& call) {
  std::vector<ValueId> items;
  for (size_t i = 0; i < call.in.size(); i++) items.push_back(tensor_of(call, i));
  return give(call, items);
}

// The place that input i names among `count` ones; negative ones count from the end.
i64 position(const OnnxCall& call, size_t i, i64 count, i64 otherwise) {
  const i64 given = call.has(i) ? call.known_int(i, "position") : otherwise, place = given < 0 ? given + count : given;
  if (place < 0 || place >= count) fail("position {} is outside a sequence of {} tensors", given, count);
  return place;
}

Outputs insert(OnnxCall& call) {
  std::vector<ValueId> items = sequence_of(call, 0);
  const i64 size = static_cast<i64>(items.size());
  const i64 given = call.has(2) ? call.known_int(2, "position") : size, place = given < 0 ? given + size : given;
  if (place < 0 || place > size) fail("position {} is outside a sequence of {} tensors", given, size);
  items.insert(items.begin() + place, tensor_of(call, 1));
  return give(call, items);
}

Outputs erase(OnnxCall& call) {
  std::vector<ValueId> items = sequence_of(call, 0);
  items.erase(items.begin() + position(call, 1, static_cast<i64>(items.size()), -1));
  return give(call, items);
}

Outputs element(OnnxCall& call) {
  const std::vector<ValueId>& items = sequence_of(call, 0);
  return {items[at(position(call, 1, static_cast<i64>(items.size()), 0))]};
}

Outputs length(OnnxCall& call) {
  return {call.constant(Tensor::of<i64>(DType::i64, {}, {static_cast<i64>(sequence_of(call, 0).size())}))};
}

Shape without_axis(Shape shape, i64 axis) {
  shape.erase(shape.begin() + axis);
  return shape;
}

// Sizes of the parts: given one by one, one for all (the last may be smaller), or 1.
Outputs split(OnnxCall& call) {
  const ValueId x = tensor_of(call, 0);
  const i64 axis = normalize_axis(call.attrs.get_int("axis", 0), call.rank(0)), extent = call.shape(0)[at(axis)];
  std::vector<i64> sizes = call.has(1) ? call.known_ints(1, "split") : std::vector<i64>{1};
  if (!call.has(1) || call.rank(1) == 0) {
    const i64 size = sizes.at(0);
    if (size < 1) fail("a part has size {}", size);
    if (extent / size > kMaxParts) fail("{} parts are too many", extent / size);
    sizes.clear();
    for (i64 start = 0; start < extent; start += size) sizes.push_back(std::min(size, extent - start));
  }
  if (std::ssize(sizes) > kMaxParts) fail("{} parts are too many", sizes.size());
  const bool drops_axis = !call.has(1) && call.attrs.get_int("keepdims", 1) == 0;
  std::vector<ValueId> items;
  i64 start = 0;
  for (const i64 size : sizes) {
    if (size < 0 || size > extent - start) fail("parts of sizes [{}] do not fit {}", fmt::join(sizes, ", "), extent);
    const ValueId part = slice(call, x, axis, start, start + size);
    items.push_back(drops_axis ? call.reshape(part, without_axis(call.builder.shape(part), axis)) : part);
    start += size;
  }
  if (start != extent) fail("parts of sizes [{}] do not make up {}", fmt::join(sizes, ", "), extent);
  return give(call, items);
}

Outputs concat(OnnxCall& call) {
  std::vector<ValueId> items = sequence_of(call, 0);
  if (items.empty()) fail("the sequence is empty");
  const bool stacks = call.attrs.get_int("new_axis", 0) != 0;
  const i64 axis = normalize_axis(call.attrs.get_int("axis"), call.builder.rank(items[0]) + (stacks ? 1 : 0));
  for (ValueId& item : items) {
    if (call.builder.counted.contains(item)) fail("the length of a tensor of the sequence depends on data");
    Shape shape = call.builder.shape(item);
    if (stacks && axis <= static_cast<i64>(shape.size())) shape.insert(shape.begin() + axis, 1);
    item = call.reshape(item, shape);
  }
  return items.size() == 1 ? Outputs{items[0]} : call.emit("Concat", items, make_attrs({{"axis", axis}}));
}

Outputs identity(OnnxCall& call) { return {call.need(0, "input")}; }

Outputs optional(OnnxCall& call) { return {call.has(0) ? call.in[0] : kEmptyOptional}; }

Outputs get_element(OnnxCall& call) {
  const ValueId v = call.need(0, "input");
  if (v == kEmptyOptional) fail("the optional has no element");
  return {v};
}

Outputs has_element(OnnxCall& call) {
  const bool has = call.has(0) && call.in[0] != kEmptyOptional;
  return {call.constant(Tensor::of<u8>(DType::boolean, {}, {static_cast<u8>(has)}))};
}

constexpr OnnxOp kOps[] = {
    {"SequenceEmpty", empty, "dtype", "", true},
    {"SequenceConstruct", construct, "", "", true},
    {"SequenceInsert", insert, "", "position known", true},
    {"SequenceErase", erase, "", "position known", true},
    {"SequenceAt", element, "", "position known", true},
    {"SequenceLength", length, "", "", true},
    {"SplitToSequence", split, "axis keepdims", "split known", true},
    {"ConcatFromSequence", concat, "axis new_axis", "", true},
    {"Identity", identity, "", "", true},
    {"Optional", optional, "", "", true},
    {"OptionalGetElement", get_element, "", "", true},
    {"OptionalHasElement", has_element, "", "", true},
};

}  // namespace

std::span<const OnnxOp> sequence_imports() { return kOps; }

}  // namespace mcc::frontend
