// Movement rules: nothing moved, two moves that are one, a gather that is a slice, padding that the window op can do, a
// transposed operand that the product can read as it is.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "passes/simplify.h"

namespace mcc {
namespace {

bool moves_nothing(Rewriter& rw, const Node& node) {
  if (rw.type(node.in[0]) != rw.type(node.out[0])) return false;
  if (node.op == "Slice") {
    const std::vector<i64> steps = node.attrs.get_ints("steps", {});
    return std::all_of(steps.begin(), steps.end(), [](i64 step) { return step > 0; });
  }
  if (node.op == "Pad") {
    const std::vector<i64> pads = node.attrs.get_ints("pads");
    return std::all_of(pads.begin(), pads.end(), [](i64 pad) { return pad == 0; });
  }
  if (node.op == "Resize") {
    const std::vector<double> scales = node.attrs.get_floats("scales", {});
    return std::all_of(scales.begin(), scales.end(), [](double scale) { return scale == 1; }) &&
           node.attrs.get_string("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize";
  }
  if (is_op(node, {"DepthToSpace", "SpaceToDepth"})) return node.attrs.get_int("blocksize", 1) == 1;
  return is_op(node, {"Reshape", "Expand", "Tile", "Split", "GlobalAveragePool", "GlobalMaxPool"}) &&
         node.out.size() == 1;
}

bool reduce_of_units(Rewriter& rw, const Node& node) {
  if (!is_op(node, {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"})) return false;
  for (const i64 axis : node.attrs.get_ints("axes", {}))
    if (rw.shape(node.in[0])[at(axis)] != 1) return false;
  if (!node.attrs.has("axes") || rw.type(node.in[0]).dtype != rw.type(node.out[0]).dtype) return false;
  rw.replace(node.out[0], reshape(rw, node.in[0], rw.shape(node.out[0])));
  return true;
}

// Joins whose inputs are joins along the same axis or empty.
bool concat(Rewriter& rw, const Node& node) {
  const i64 axis = normalize_axis(node.attrs.get_int("axis"), rw.rank(node.out[0]));
  std::vector<ValueId> flat;
  for (const ValueId v : node.in) {
    const Node* inner = rw.maker(v, "Concat");
    const bool merge = inner && rw.uses(v) == 1 && flat.size() + inner->in.size() + node.in.size() <= kMaxJoined &&
                       normalize_axis(inner->attrs.get_int("axis"), rw.rank(v)) == axis;
    if (merge)
      flat.insert(flat.end(), inner->in.begin(), inner->in.end());
    else if (elements(rw.shape(v)) > 0)
      flat.push_back(v);
  }
  if (flat.size() == 1) return become(rw, node, flat[0]);
  if (flat == node.in || flat.empty()) return false;
  rw.replace(node.out[0], rw.emit("Concat", flat, node.attrs));
  return true;
}

// Constant indices that count up by one take a slice.
bool gather(Rewriter& rw, const Node& node) {
  const Tensor* index = rw.constant(node.in[1]);
  const Shape& shape = rw.shape(node.in[0]);
  if (!index || index->type.shape.size() > 1 || index->size() == 0) return false;
  const i64 axis = normalize_axis(node.attrs.get_int("axis", 0), static_cast<i64>(shape.size()));
  const i64 extent = shape[static_cast<size_t>(axis)];
  const std::vector<i64> at = to_ints(*index);
  const i64 start = at[0] < 0 ? at[0] + extent : at[0];
  for (size_t i = 0; i < at.size(); i++)
    if ((at[i] < 0 ? at[i] + extent : at[i]) != start + static_cast<i64>(i)) return false;
  const i64 end = start + static_cast<i64>(at.size());
  if (start < 0 || end > extent) return false;
  using Ints = std::vector<i64>;
  const ValueId part =
      rw.emit("Slice", {node.in[0]},
              attrs({{"axes", Ints{axis}}, {"ends", Ints{end}}, {"starts", Ints{start}}, {"steps", Ints{1}}}));
  rw.replace(node.out[0], reshape(rw, part, rw.shape(node.out[0])));
  return true;
}

bool never_negative(const Node* node) {
  return node && (is_op(*node, {"Relu", "Sigmoid", "HardSigmoid", "Abs"}) ||
                  (node->op == "Clip" && node->attrs.get_float("min", -1) >= 0));
}

// May this window op take over the padding? It must not see the difference between the pad's value and its own, and a
// pool must not come to lie wholly in its padding.
bool can_pad(Rewriter& rw, const Node& node, const Node& pad, const std::vector<i64>& pads) {
  const double value = pad.attrs.get_float("value", 0);
  const size_t spatial = pads.size() / 2;
  if (node.op == "Conv") return value == 0;
  if (node.attrs.get_int("ceil_mode", 0) != 0 || node.out.size() != 1) return false;
  const std::vector<i64> kernel = node.attrs.get_ints("kernel_shape"),
                         dilations = node.attrs.get_ints("dilations", std::vector<i64>(spatial, 1));
  for (size_t d = 0; d < spatial; d++)
    if (std::max(pads[d], pads[spatial + d]) >= kernel[d] || dilations[d] != 1) return false;
  const std::vector<i64> own = node.attrs.get_ints("pads", {});
  const bool unpadded = std::all_of(own.begin(), own.end(), [](i64 p) { return p == 0; });
  if (node.op == "AveragePool") return value == 0 && (unpadded || node.attrs.get_int("count_include_pad", 0) == 1);
  return (std::isinf(value) && value < 0) || (value == 0 && never_negative(rw.maker(pad.in[0])));
}

bool take_padding(Rewriter& rw, const Node& node) {
  const Node* pad = rw.maker(node.in[0], "Pad");
  if (!pad || pad->attrs.get_string("mode", "constant") != "constant" ||
      node.attrs.get_string("layout", "NCHW") != "NCHW")
    return false;
  const std::vector<i64> all = pad->attrs.get_ints("pads");
  const size_t rank = all.size() / 2;
  if (std::any_of(all.begin(), all.end(), [](i64 p) { return p < 0; }) || all[0] || all[1] || all[rank] ||
      all[rank + 1])
    return false;
  std::vector<i64> pads = node.attrs.get_ints("pads", std::vector<i64>(2 * (rank - 2), 0));
  for (size_t d = 0; d < rank - 2; d++) {
    pads[d] += all[d + 2];
    pads[rank - 2 + d] += all[rank + d + 2];
  }
  if (!can_pad(rw, node, *pad, pads)) return false;
  Node padded = node;
  padded.in[0] = pad->in[0];
  padded.attrs.set("pads", pads);
  if (node.op == "AveragePool") padded.attrs.set("count_include_pad", i64{1});
  rw.keep(std::move(padded));
  return true;
}

bool swaps_last_two(const Perm& perm) {
  Perm want(perm.size());
  std::iota(want.begin(), want.end(), 0);
  if (perm.size() < 2) return false;
  std::swap(want[perm.size() - 1], want[perm.size() - 2]);
  return perm == want;
}

bool matmul_of_transposed(Rewriter& rw, const Node& node) {
  Node direct = node;
  for (size_t side = 0; side < 2; side++) {
    const Node* moved = rw.maker(node.in[side], "Transpose");
    if (!moved || !swaps_last_two(moved->attrs.get_ints("perm"))) continue;
    const std::string_view flag = side == 0 ? "transA" : "transB";
    direct.in[side] = moved->in[0];
    if (node.attrs.get_int(flag, 0))
      direct.attrs.erase(flag);
    else
      direct.attrs.set(flag, i64{1});
  }
  if (direct.in == node.in) return false;
  rw.keep(std::move(direct));
  return true;
}

}  // namespace

ValueId reshape(Rewriter& rw, ValueId x, Shape shape) {
  if (const Node* inner = rw.maker(x, "Reshape")) return reshape(rw, inner->in[0], std::move(shape));
  if (rw.shape(x) == shape) return x;
  return rw.emit("Reshape", {x}, attrs({{"shape", shape}}));
}

ValueId transpose(Rewriter& rw, ValueId x, const Perm& perm) {
  if (is_identity(perm)) return x;
  if (const Node* inner = rw.maker(x, "Transpose"))
    return transpose(rw, inner->in[0], compose(inner->attrs.get_ints("perm"), perm));
  if (moves_only_units(rw.shape(x), perm)) return reshape(rw, x, permuted(rw.shape(x), perm));
  return rw.emit("Transpose", {x}, attrs({{"perm", perm}}));
}

bool simplify_movement(Rewriter& rw, const Node& node) {
  if (node.in.empty() || node.in[0] == kNone || node.out[0] == kNone) return false;
  if (moves_nothing(rw, node)) return become(rw, node, node.in[0]);
  if (node.op == "Reshape" && rw.maker(node.in[0], "Reshape"))
    return become(rw, node, reshape(rw, node.in[0], rw.shape(node.out[0])));
  if (node.op == "Transpose") {
    const Perm perm = node.attrs.get_ints("perm");
    const bool simple = !rw.maker(node.in[0], "Transpose") && !moves_only_units(rw.shape(node.in[0]), perm);
    return !simple && become(rw, node, transpose(rw, node.in[0], perm));
  }
  if (node.op == "Concat") return concat(rw, node);
  if (node.op == "Gather") return gather(rw, node);
  if (node.op == "MatMul") return matmul_of_transposed(rw, node);
  if (is_op(node, {"Conv", "MaxPool", "AveragePool"})) return take_padding(rw, node);
  return reduce_of_units(rw, node);
}

}  // namespace mcc
