// Writing by index: ScatterElements (axis, reduction) and ScatterND (reduction), reduction none | add | mul | min |
// max; MaxUnpool (shape), whose indices are row-major numbers of the output, zero elsewhere.
//
// A copy of the data (or zeros), then a serial nest that stores each update where the indices say; updates of one
// element happen in order. Indices are made safe as in gather.cc.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ops/gather.h"

namespace mcc::ops {

namespace {

using namespace loop;

StoreOp reduction_of(const Node& node) {
  std::string reduction = node.attrs.get_string("reduction", "none");
  if (reduction == "none") return StoreOp::assign;
  if (reduction == "add") return StoreOp::add;
  if (reduction == "mul") return StoreOp::mul;
  if (reduction == "min") return StoreOp::min;
  if (reduction == "max") return StoreOp::max;
  fail("reduction '{}' is unknown", reduction);
}

void check_common(const Node& node, Types in) {
  require_same_dtype(in[0], in[2]);
  require_indices(in[1]);
  if (reduction_of(node) != StoreOp::assign && in[0].dtype == DType::boolean) fail("bool cannot be reduced");
}

// Copies the data, then adds the nest over `extents` that stores update(v) at place(v).
Func scatter(const Node& node, Types in, Types out,
             const std::function<Vars(const FuncBuilder&, int i, const Vars&)>& place) {
  FuncBuilder b(lower_case(node.op));
  int x = b.input("x", in[0].dtype, in[0].shape), i = b.input("i", in[1].dtype, in[1].shape);
  int updates = b.input("updates", in[2].dtype, in[2].shape), y = b.output("y", out[0].dtype, out[0].shape);
  b.block("copy", out[0].shape, y, [&](const Vars& v) { return b.load(x, v); });
  b.block_at(
      "scatter", in[2].shape, y, [&](const Vars& v) { return place(b, i, v); },
      [&](const Vars& v) { return b.load(updates, v); }, reduction_of(node));
  return b.take();
}

// to[i] = to[i] OP update[j]
void combine(StoreOp op, Tensor& to, i64 i, const Tensor& updates, i64 j) {
  if (op == StoreOp::assign) return copy_element(to, i, updates, j);
  if (is_float(to.type.dtype)) {
    double old = to.get(i), update = updates.get(j);
    if (op == StoreOp::add) return to.set(i, old + update);
    if (op == StoreOp::mul) return to.set(i, old * update);
    bool takes = std::isnan(update) || (op == StoreOp::min ? update < old : update > old);
    return to.set(i, takes && !std::isnan(old) ? update : old);
  }
  u64 old = static_cast<u64>(to.get_int(i)), update = static_cast<u64>(updates.get_int(j));
  if (op == StoreOp::add) return to.set_int(i, static_cast<i64>(old + update));
  if (op == StoreOp::mul) return to.set_int(i, static_cast<i64>(old * update));
  bool less = to.type.dtype == DType::u64 ? update < old : static_cast<i64>(update) < static_cast<i64>(old);
  if (less == (op == StoreOp::min)) to.set_int(i, static_cast<i64>(update));
}

// --- ScatterElements -------------------------------------------------------------------------------------------------

std::vector<TensorType> infer_elements(const Node& node, Types in) {
  i64 axis = axis_of(node, rank(in[0]), 0);
  check_common(node, in);
  if (in[1].shape != in[2].shape)
    fail("indices {} and updates {} differ", to_string(in[1].shape), to_string(in[2].shape));
  require_rank(in[1], rank(in[0]), "the index tensor");
  for (size_t d = 0; d < in[0].shape.size(); d++)
    if (static_cast<i64>(d) != axis && in[1].shape[d] > in[0].shape[d])
      fail("indices {} do not fit in {}", to_string(in[1].shape), to_string(in[0].shape));
  return {in[0]};
}

Func lower_elements(const Node& node, Types in, Types out) {
  size_t axis = at(axis_of(node, rank(in[0]), 0));
  return scatter(node, in, out, [&](const FuncBuilder& b, int i, const Vars& v) {
    Vars place = v;
    place[axis] = safe_index(b.load(i, v), in[0].shape[axis]);
    return place;
  });
}

void scatter_elements(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  size_t axis = at(axis_of(node, rank(in[0]->type), 0));
  const Shape& shape = out[0].type.shape;
  StoreOp op = reduction_of(node);
  out[0] = in[0]->clone();
  for_each_index(in[2]->type.shape, [&](Index v, i64 flat) {
    v[axis] = wrap_index(in[1]->get_int(flat), shape[axis]);
    combine(op, out[0], flat_index(shape, v), *in[2], flat);
  });
}

// --- ScatterND -------------------------------------------------------------------------------------------------------

std::vector<TensorType> infer_nd(const Node& node, Types in) {
  check_common(node, in);
  if (in[1].shape.empty() || in[1].shape.back() > rank(in[0]))
    fail("index tuples do not fit {}", to_string(in[0].shape));
  Shape wanted(in[1].shape.begin(), in[1].shape.end() - 1);
  wanted.insert(wanted.end(), in[0].shape.begin() + in[1].shape.back(), in[0].shape.end());
  if (in[2].shape != wanted) fail("updates have shape {}, not {}", to_string(in[2].shape), to_string(wanted));
  return {in[0]};
}

Func lower_nd(const Node& node, Types in, Types out) {
  i64 depth = in[1].shape.back(), tuples = rank(in[1]) - 1;
  return scatter(node, in, out, [&](const FuncBuilder& b, int i, const Vars& v) {
    Vars place, tuple(v.begin(), v.begin() + tuples);
    tuple.push_back(const_int(0));
    for (i64 k = 0; k < depth; k++) {
      tuple.back() = const_int(k);
      place.push_back(safe_index(b.load(i, tuple), in[0].shape[at(k)]));
    }
    place.insert(place.end(), v.begin() + tuples, v.end());
    return place;
  });
}

void scatter_nd(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor& indices = *in[1];
  const Shape& shape = out[0].type.shape;
  i64 depth = indices.type.shape.back(), tuples = rank(indices.type) - 1;
  StoreOp op = reduction_of(node);
  out[0] = in[0]->clone();
  for_each_index(in[2]->type.shape, [&](const Index& v, i64 flat) {
    Index place, tuple(v.begin(), v.begin() + tuples);
    tuple.push_back(0);
    for (i64 k = 0; k < depth; k++, tuple.back()++)
      place.push_back(wrap_index(indices.get_int(flat_index(indices.type.shape, tuple)), shape[at(k)]));
    place.insert(place.end(), v.begin() + tuples, v.end());
    combine(op, out[0], flat_index(shape, place), *in[2], flat);
  });
}

// --- MaxUnpool: inputs values, indices -------------------------------------------------------------------------------

std::vector<TensorType> infer_unpool(const Node& node, Types in) {
  require_indices(in[1]);
  if (in[0].shape != in[1].shape)
    fail("values {} and indices {} differ", to_string(in[0].shape), to_string(in[1].shape));
  const Shape shape = node.attrs.get_ints("shape");
  if (std::any_of(shape.begin(), shape.end(), [](i64 extent) { return extent < 0; })) fail("an extent is negative");
  if (elements(shape) == 0 && elements(in[0].shape) > 0) fail("the output {} has no elements", to_string(shape));
  return {{in[0].dtype, shape}};
}

Func lower_unpool(const Node&, Types in, Types out) {
  const Shape &shape = out[0].shape, strides = row_major_strides(shape);
  FuncBuilder b("maxunpool");
  const int x = b.input("x", in[0].dtype, in[0].shape), i = b.input("i", in[1].dtype, in[1].shape);
  const int y = b.output("y", out[0].dtype, shape);
  b.block("zero", shape, y, [&](const Vars&) { return constant(out[0].dtype, 0); });
  b.block_at(
      "unpool", in[0].shape, y,
      [&](const Vars& v) {
        const Expr flat = safe_index(b.load(i, v), elements(shape));
        Vars place;
        for (size_t d = 0; d < shape.size(); d++) place.push_back(floormod(floordiv(flat, strides[d]), shape[d]));
        return place;
      },
      [&](const Vars& v) { return b.load(x, v); });
  return b.take();
}

void unpool(const Node&, std::span<const Tensor* const> in, std::span<Tensor> out) {
  for (i64 i = 0; i < in[0]->size(); i++) copy_element(out[0], wrap_index(in[1]->get_int(i), out[0].size()), *in[0], i);
}

const OpDef kOps[] = {
    {"MaxUnpool", FuseKind::opaque, 2, 2, infer_unpool, lower_unpool, unpool},
    {"ScatterElements", FuseKind::opaque, 3, 3, infer_elements, lower_elements, scatter_elements},
    {"ScatterND", FuseKind::opaque, 3, 3, infer_nd, lower_nd, scatter_nd},
};

}  // namespace

std::span<const OpDef> scatter_ops() { return kOps; }

}  // namespace mcc::ops
