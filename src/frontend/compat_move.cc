// Data movement: Slice, Split, Pad, Expand, Tile, Transpose and relatives. Their parameters, attributes in old opsets
// and inputs in new ones, become full lists in attributes.
#include <algorithm>
#include <limits>

#include "frontend/importer.h"

namespace mcc::frontend {
namespace {

Outputs transpose(OnnxCall& call) {
  const i64 rank = call.rank(0);
  std::vector<i64> reversed = range(rank);
  std::reverse(reversed.begin(), reversed.end());
  return {call.transpose(call.need(0, "input"), call.attrs.get_ints("perm", reversed))};
}

Outputs concat(OnnxCall& call) {
  const i64 axis = call.attrs.get_int("axis", 1);
  if (call.in.size() == 1) return {call.need(0, "input")};
  return call.emit("Concat", call.in, make_attrs({{"axis", normalize_axis(axis, call.rank(0))}}));
}

Outputs slice(OnnxCall& call) {
  if (!call.gives(1, "starts") || !call.gives(2, "ends")) fail("input 'starts' or 'ends' is missing");
  const std::vector<i64> starts = call.ints_from(1, "starts"), ends = call.ints_from(2, "ends");
  const i64 count = static_cast<i64>(starts.size());
  std::vector<i64> axes = call.ints_from(3, "axes", range(count));
  const std::vector<i64> steps = call.has(4) ? call.known_ints(4, "steps") : std::vector<i64>(starts.size(), 1);
  for (i64& axis : axes) axis = normalize_axis(axis, call.rank(0));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    fail("starts, ends, axes and steps have {}, {}, {} and {} entries", count, ends.size(), axes.size(), steps.size());
  if (std::find(steps.begin(), steps.end(), 0) != steps.end()) fail("a step is 0");
  return call.emit("Slice", {call.need(0, "input")},
                   make_attrs({{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}}));
}

// Sizes of the parts: given, or equal ones (the last may be smaller from opset 18 on).
Outputs split(OnnxCall& call) {
  const i64 axis = normalize_axis(call.attrs.get_int("axis", 0), call.rank(0));
  const i64 extent = call.shape(0)[at(axis)], parts = static_cast<i64>(call.outputs());
  std::vector<i64> sizes = call.ints_from(1, "split");
  if (!call.gives(1, "split")) {
    if (call.attrs.get_int("num_outputs", parts) != parts) fail("num_outputs is not the number of outputs, {}", parts);
    const i64 part = ceil_div(extent, parts);
    if (call.opset < 18 && extent % parts != 0) fail("extent {} cannot be split into {} equal parts", extent, parts);
    for (i64 i = 0; i < parts; i++) sizes.push_back(std::clamp(extent - i * part, i64{0}, part));
  }
  i64 sum = 0;
  for (const i64 size : sizes) {
    if (size < 0 || size > extent) fail("a part has size {}", size);
    sum += size;
  }
  if (sum != extent || static_cast<i64>(sizes.size()) != parts)
    fail("parts of sizes [{}] do not make up {} outputs of extent {}", fmt::join(sizes, ", "), parts, extent);
  if (parts == 1) return {call.need(0, "input")};
  return call.emit("Split", {call.need(0, "input")}, make_attrs({{"axis", axis}, {"split", sizes}}),
                   static_cast<int>(parts));
}

constexpr i64 kMostPad = i64{1} << 40;

// Pads in full rank; ONNX allows negative ones, which cut and become a Slice.
Outputs pad(OnnxCall& call) {
  const i64 rank = call.rank(0);
  const std::string mode = call.attrs.get_string("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") fail("mode '{}' is not known", mode);
  const std::string key = call.attrs.has("paddings") ? "paddings" : "pads";
  if (!call.gives(1, key)) fail("input 'pads' is missing");
  const std::vector<i64> given = call.ints_from(1, key);
  const std::vector<i64> axes = call.has(3) ? call.known_ints(3, "axes") : range(rank);
  if (given.size() != 2 * axes.size()) fail("{} pads are given for {} axes", given.size(), axes.size());
  std::vector<i64> pads(at(2 * rank), 0), starts(at(rank), 0), ends(at(rank), std::numeric_limits<i64>::max());
  bool cuts = false;
  for (size_t i = 0; i < axes.size(); i++) {
    const i64 axis = normalize_axis(axes[i], rank);
    const i64 before = given[i], after = given[i + axes.size()], extent = call.shape(0)[at(axis)];
    for (const i64 pad : {before, after})
      if (pad < -kMostPad || pad > kMostPad) fail("a pad is {}", pad);
    pads[at(axis)] = std::max<i64>(0, before);
    pads[at(axis + rank)] = std::max<i64>(0, after);
    starts[at(axis)] = std::max<i64>(0, -before);
    ends[at(axis)] = extent + std::min<i64>(0, after);
    cuts |= before < 0 || after < 0;
    if (starts[at(axis)] > ends[at(axis)]) fail("pads [{}] cut more than there is", fmt::join(given, ", "));
  }
  double value = call.attrs.get_float("value", 0);
  if (call.has(2) && call.known(2, "constant_value").size() > 0) value = call.known_number(2, "constant_value");
  ValueId x = call.need(0, "input");
  if (cuts)
    x = call.emit1(
        "Slice", {x},
        make_attrs(
            {{"starts", starts}, {"ends", ends}, {"axes", range(rank)}, {"steps", std::vector<i64>(at(rank), 1)}}));
  if (std::all_of(pads.begin(), pads.end(), [](i64 p) { return p == 0; })) return {x};
  return call.emit("Pad", {x}, make_attrs({{"pads", pads}, {"mode", mode}, {"value", value}}));
}

Outputs expand(OnnxCall& call) {
  const Shape shape = broadcast(call.shape(0), call.known_ints(1, "shape"));
  if (shape == call.shape(0)) return {call.need(0, "input")};
  return call.emit("Expand", {call.need(0, "input")}, make_attrs({{"shape", shape}}));
}

Outputs tile(OnnxCall& call) {
  if (call.opset < 6) fail("Tile of opset {} is not supported", call.opset);
  const std::vector<i64> repeats = call.known_ints(1, "repeats");
  if (static_cast<i64>(repeats.size()) != call.rank(0)) fail("{} repeats for rank {}", repeats.size(), call.rank(0));
  if (std::any_of(repeats.begin(), repeats.end(), [](i64 r) { return r < 0; })) fail("a repeat is negative");
  return call.emit("Tile", {call.need(0, "input")}, make_attrs({{"repeats", repeats}}));
}

Outputs trilu(OnnxCall& call) {
  const i64 k = call.has(1) ? call.known_int(1, "k") : 0;
  return call.emit("Trilu", {call.need(0, "input")}, make_attrs({{"upper", call.attrs.get_int("upper", 1)}, {"k", k}}));
}

Outputs reverse_sequence(OnnxCall& call) {
  return call.emit("ReverseSequence", {call.need(0, "input")},
                   make_attrs({{"sequence_lens", call.known_ints(1, "sequence_lens")},
                               {"batch_axis", call.attrs.get_int("batch_axis", 1)},
                               {"time_axis", call.attrs.get_int("time_axis", 0)}}));
}

constexpr OnnxOp kOps[] = {
    {"Transpose", transpose, "perm"},
    {"Concat", concat, "axis"},
    {"Slice", slice, "starts ends axes", "starts, ends, axes, steps known"},
    {"Split", split, "axis split num_outputs", "sizes known"},
    {"Pad", pad, "pads paddings mode value", "pads, axes, value known"},
    {"Expand", expand, "", "shape known"},
    {"Tile", tile, "", "repeats known; from opset 6"},
    {"DepthToSpace", import_plain, "blocksize mode"},
    {"SpaceToDepth", import_plain, "blocksize"},
    {"Trilu", trilu, "upper", "k known"},
    {"ReverseSequence", reverse_sequence, "batch_axis time_axis", "sequence_lens known"},
};

}  // namespace

std::span<const OnnxOp> move_imports() { return kOps; }

}  // namespace mcc::frontend
