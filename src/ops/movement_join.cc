// Movement operators with several inputs or outputs, or with elements that come from nowhere.
//   Concat (axis): one block per input, each storing at its offset
//   Split (axis, split = sizes): one block per output, each loading from its offset
//   Pad (pads = all begins, then all ends, negative ones crop; mode constant | reflect | edge | wrap; value)
//   Trilu (upper, k): the rest is zero
#include <algorithm>

#include "ops/movement.h"

namespace mcc::ops {

namespace {

using namespace loop;

// --- Concat ----------------------------------------------------------------------------------------------------------

std::vector<TensorType> infer_concat(const Node& node, Types in) {
  TensorType out = in[0];
  size_t axis = at(axis_of(node, rank(out), 0));
  for (size_t i = 1; i < in.size(); i++) {
    require_same_dtype(in[0], in[i]);
    Shape rest = in[i].shape;
    if (rest.size() == out.shape.size()) rest[axis] = in[0].shape[axis];
    if (rest != in[0].shape)
      fail("cannot join {} and {} along axis {}", to_string(in[0].shape), to_string(in[i].shape), axis);
    out.shape[axis] += in[i].shape[axis];
  }
  return {out};
}

Func lower_concat(const Node& node, Types in, Types out) {
  size_t axis = at(axis_of(node, rank(out[0]), 0));
  FuncBuilder b("concat");
  std::vector<int> xs = add_inputs(b, in);
  int y = b.output("y", out[0].dtype, out[0].shape);
  i64 offset = 0;
  for (size_t i = 0; i < in.size(); i++) {
    auto place = [&](Vars v) {
      if (offset != 0) v[axis] = v[axis] + offset;
      return v;
    };
    b.block_at("concat" + std::to_string(i), in[i].shape, y, place, [&](const Vars& v) { return b.load(xs[i], v); });
    offset += in[i].shape[axis];
  }
  return b.take();
}

void concat(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  size_t axis = at(axis_of(node, rank(out[0].type), 0));
  i64 offset = 0;
  for (const Tensor* x : in) {
    for_each_index(x->type.shape, [&](Index index, i64 flat) {
      index[axis] += offset;
      copy_element(out[0], flat_index(out[0].type.shape, index), *x, flat);
    });
    offset += x->type.shape[axis];
  }
}

// --- Split -----------------------------------------------------------------------------------------------------------

std::vector<TensorType> infer_split(const Node& node, Types in) {
  size_t axis = at(axis_of(node, rank(in[0]), 0));
  std::vector<TensorType> out;
  i64 total = 0;
  for (i64 size : node.attrs.get_ints("split")) {
    if (size < 0) fail("a part of {} is negative", size);
    out.push_back(in[0]);
    out.back().shape[axis] = size;
    total += size;
  }
  if (total != in[0].shape[axis]) fail("the parts add up to {}, not {}", total, in[0].shape[axis]);
  return out;
}

Func lower_split(const Node& node, Types in, Types out) {
  size_t axis = at(axis_of(node, rank(in[0]), 0));
  std::vector<i64> sizes = node.attrs.get_ints("split");
  FuncBuilder b("split");
  int x = b.input("x", in[0].dtype, in[0].shape);
  std::vector<int> ys = add_outputs(b, out);
  i64 offset = 0;
  for (size_t i = 0; i < out.size(); offset += sizes[i++]) {
    if (ys[i] < 0) continue;
    b.block("split" + std::to_string(i), out[i].shape, ys[i], [&](Vars v) {
      if (offset != 0) v[axis] = v[axis] + offset;
      return b.load(x, v);
    });
  }
  return b.take();
}

void split(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  size_t axis = at(axis_of(node, rank(in[0]->type), 0));
  i64 offset = 0;
  for (Tensor& y : out) {
    move_elements(*in[0], y, [&](Index index) {
      index[axis] += offset;
      return index;
    });
    offset += y.type.shape[axis];
  }
}

// --- Pad -------------------------------------------------------------------------------------------------------------

std::string pad_mode(const Node& node) {
  std::string mode = node.attrs.get_string("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    fail("pad mode '{}' is unknown", mode);
  return mode;
}

std::vector<TensorType> infer_pad(const Node& node, Types in) {
  std::vector<i64> pads = node.attrs.get_ints("pads");
  size_t dims = in[0].shape.size();
  if (pads.size() != 2 * dims) fail("{} pads for rank {}", pads.size(), dims);
  TensorType out = in[0];
  for (size_t d = 0; d < dims; d++) {
    out.shape[d] += pads[d] + pads[dims + d];
    if (out.shape[d] < 0) fail("the pads of axis {} remove more than its {} elements", d, in[0].shape[d]);
    if (in[0].shape[d] == 0 && out.shape[d] > 0 && pad_mode(node) != "constant")
      fail("axis {} is empty: nothing to repeat", d);
  }
  pad_mode(node);
  return {out};
}

Expr reflected(Expr i, i64 n) {
  if (n == 1) return const_int(0);
  Expr period = floormod(std::move(i), 2 * (n - 1));
  return select(period < const_int(n), period, const_int(2 * (n - 1)) - period);
}

Func lower_pad(const Node& node, Types in, Types out) {
  std::vector<i64> pads = node.attrs.get_ints("pads");
  std::string mode = pad_mode(node);
  FuncBuilder b("pad");
  int x = b.input("x", in[0].dtype, in[0].shape), y = b.output("y", out[0].dtype, out[0].shape);
  b.block("pad", out[0].shape, y, [&](const Vars& v) {
    Vars index = v;
    Expr inside = const_int(1, DType::boolean);
    for (size_t d = 0; d < v.size(); d++) {
      i64 n = in[0].shape[d], begin = pads[d], end = pads[v.size() + d];
      if (begin != 0) index[d] = v[d] - begin;
      if (begin <= 0 && end <= 0) continue;
      if (mode == "reflect") index[d] = reflected(index[d], n);
      if (mode == "edge") index[d] = max(min(index[d], const_int(n - 1)), const_int(0));
      if (mode == "wrap") index[d] = floormod(index[d], n);
      if (mode == "constant" && begin > 0) inside = inside && const_int(-1) < index[d];
      if (mode == "constant" && end > 0) inside = inside && index[d] < const_int(n);
    }
    return select(inside, b.load(x, index), constant(in[0].dtype, node.attrs.get_float("value", 0)));
  });
  return b.take();
}

// The input index that pads axis position i (counted from the input's start) repeats; -1: none.
i64 pad_source(std::string_view mode, i64 i, i64 n) {
  if (mode == "edge") return std::clamp(i, i64{0}, n - 1);
  if (mode == "reflect" && n == 1) return 0;
  while (mode != "constant" && (i < 0 || i >= n)) {
    if (mode == "wrap")
      i += i < 0 ? n : -n;
    else
      i = i < 0 ? -i : 2 * (n - 1) - i;
  }
  return i >= 0 && i < n ? i : -1;
}

void pad(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  std::vector<i64> pads = node.attrs.get_ints("pads");
  std::string mode = pad_mode(node);
  const Shape& from = in[0]->type.shape;
  for_each_index(out[0].type.shape, [&](Index index, i64 flat) {
    bool inside = true;
    for (size_t d = 0; d < from.size(); d++) {
      index[d] = pad_source(mode, index[d] - pads[d], from[d]);
      inside = inside && index[d] >= 0;
    }
    if (inside)
      copy_element(out[0], flat, *in[0], flat_index(from, index));
    else
      set_saturated(out[0], flat, node.attrs.get_float("value", 0));
  });
}

// --- Trilu -----------------------------------------------------------------------------------------------------------

// Which diagonal; one so far out that no element reaches it is any such.
i64 diagonal_of(const Node& node) {
  constexpr i64 kFar = i64{1} << 60;
  return std::clamp(node.attrs.get_int("k", 0), -kFar, kFar);
}

std::vector<TensorType> infer_trilu(const Node&, Types in) {
  if (rank(in[0]) < 2) fail("the input has rank {}, below 2", rank(in[0]));
  return {in[0]};
}

Func lower_trilu(const Node& node, Types in, Types out) {
  bool upper = node.attrs.get_int("upper", 1) != 0;
  i64 k = diagonal_of(node);
  FuncBuilder b("trilu");
  int x = b.input("x", in[0].dtype, in[0].shape), y = b.output("y", out[0].dtype, out[0].shape);
  b.block("trilu", out[0].shape, y, [&](const Vars& v) {
    const Expr &row = v[v.size() - 2], &column = v.back();
    Expr keep = upper ? row + (k - 1) < column : column < row + (k + 1);
    return select(keep, b.load(x, v), constant(in[0].dtype, 0));
  });
  return b.take();
}

void trilu(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  bool upper = node.attrs.get_int("upper", 1) != 0;
  i64 k = diagonal_of(node);
  for_each_index(out[0].type.shape, [&](const Index& v, i64 flat) {
    i64 above = v.back() - v[v.size() - 2];
    if (upper ? above >= k : above <= k) copy_element(out[0], flat, *in[0], flat);
  });
}

const OpDef kOps[] = {
    {"Concat", FuseKind::movement, 1, -1, infer_concat, lower_concat, concat},
    {"Pad", FuseKind::movement, 1, 1, infer_pad, lower_pad, pad},
    {"Split", FuseKind::movement, 1, 1, infer_split, lower_split, split},
    {"Trilu", FuseKind::movement, 1, 1, infer_trilu, lower_trilu, trilu},
};

}  // namespace

std::span<const OpDef> join_ops() { return kOps; }

}  // namespace mcc::ops
