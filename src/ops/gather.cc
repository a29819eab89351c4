// Reading by index: Gather, GatherElements, GatherND, OneHot and TopK. Writing by index is in gather_scatter.cc.
//
// Indices are data: negative ones count from the end of their axis, and every one is clamped, so that a bad index can
// read the wrong element but never outside a buffer. TopK ranks each element by counting those that come before it,
// which needs no sort and gives ties to the lower index; the elements then go to the place that their rank says.
#include "ops/gather.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mcc::ops {

void require_indices(const TensorType& type) {
  if (type.dtype != DType::i32 && type.dtype != DType::i64) fail("indices are {}, not i32 or i64", name(type.dtype));
}

namespace {

using namespace loop;

// --- Gather (axis) ---------------------------------------------------------------------------------------------------

std::vector<TensorType> infer_gather(const Node& node, Types in) {
  i64 axis = axis_of(node, rank(in[0]), 0);
  require_indices(in[1]);
  TensorType out{in[0].dtype, Shape(in[0].shape.begin(), in[0].shape.begin() + axis)};
  out.shape.insert(out.shape.end(), in[1].shape.begin(), in[1].shape.end());
  out.shape.insert(out.shape.end(), in[0].shape.begin() + axis + 1, in[0].shape.end());
  if (in[0].shape[at(axis)] == 0 && elements(out.shape) > 0) fail("axis {} is empty", axis);
  return {out};
}

template <typename T>
std::vector<T> part(const std::vector<T>& v, i64 first, i64 count) {
  return {v.begin() + first, v.begin() + first + count};
}

Func lower_gather(const Node& node, Types in, Types out) {
  i64 axis = axis_of(node, rank(in[0]), 0);
  FuncBuilder b("gather");
  int x = b.input("x", in[0].dtype, in[0].shape), i = b.input("i", in[1].dtype, in[1].shape);
  int y = b.output("y", out[0].dtype, out[0].shape);
  b.block("gather", out[0].shape, y, [&](const Vars& v) {
    Vars index = part(v, 0, axis);
    index.push_back(safe_index(b.load(i, part(v, axis, rank(in[1]))), in[0].shape[at(axis)]));
    index.insert(index.end(), v.begin() + axis + rank(in[1]), v.end());
    return b.load(x, index);
  });
  return b.take();
}

void gather(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor &x = *in[0], &indices = *in[1];
  i64 axis = axis_of(node, rank(x.type), 0), index_rank = rank(indices.type);
  move_elements(x, out[0], [&](const Index& v) {
    Index index = part(v, 0, axis);
    i64 chosen = indices.get_int(flat_index(indices.type.shape, part(v, axis, index_rank)));
    index.push_back(wrap_index(chosen, x.type.shape[at(axis)]));
    index.insert(index.end(), v.begin() + axis + index_rank, v.end());
    return index;
  });
}

// --- GatherElements (axis) -------------------------------------------------------------------------------------------

std::vector<TensorType> infer_gather_elements(const Node& node, Types in) {
  i64 axis = axis_of(node, rank(in[0]), 0);
  require_indices(in[1]);
  require_rank(in[1], rank(in[0]), "the index tensor");
  for (size_t d = 0; d < in[0].shape.size(); d++)
    if (static_cast<i64>(d) != axis && in[1].shape[d] > in[0].shape[d])
      fail("indices {} do not fit in {}", to_string(in[1].shape), to_string(in[0].shape));
  if (in[0].shape[at(axis)] == 0 && elements(in[1].shape) > 0) fail("axis {} is empty", axis);
  return {{in[0].dtype, in[1].shape}};
}

Func lower_gather_elements(const Node& node, Types in, Types out) {
  size_t axis = at(axis_of(node, rank(in[0]), 0));
  FuncBuilder b("gatherelements");
  int x = b.input("x", in[0].dtype, in[0].shape), i = b.input("i", in[1].dtype, in[1].shape);
  int y = b.output("y", out[0].dtype, out[0].shape);
  b.block("gather", out[0].shape, y, [&](const Vars& v) {
    Vars index = v;
    index[axis] = safe_index(b.load(i, v), in[0].shape[axis]);
    return b.load(x, index);
  });
  return b.take();
}

void gather_elements(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  size_t axis = at(axis_of(node, rank(in[0]->type), 0));
  move_elements(*in[0], out[0], [&](Index v) {
    v[axis] = wrap_index(in[1]->get_int(flat_index(in[1]->type.shape, v)), in[0]->type.shape[axis]);
    return v;
  });
}

// --- GatherND (batch_dims) -------------------------------------------------------------------------------------------

std::vector<TensorType> infer_gather_nd(const Node& node, Types in) {
  i64 batch = node.attrs.get_int("batch_dims", 0);
  require_indices(in[1]);
  if (in[1].shape.empty()) fail("indices have no dimension");
  i64 depth = in[1].shape.back();
  if (batch < 0 || batch > rank(in[0]) - depth || batch >= rank(in[1]))
    fail("index tuples of {} after {} batch dimensions do not fit {}", depth, batch, to_string(in[0].shape));
  Shape shape(in[1].shape.begin(), in[1].shape.end() - 1);
  shape.insert(shape.end(), in[0].shape.begin() + batch + depth, in[0].shape.end());
  if (elements(in[0].shape) == 0 && elements(shape) > 0) fail("there is nothing to gather in {}", to_string(in[0]));
  return {{in[0].dtype, shape}};
}

Func lower_gather_nd(const Node& node, Types in, Types out) {
  i64 batch = node.attrs.get_int("batch_dims", 0), depth = in[1].shape.back(), tuples = rank(in[1]) - 1;
  FuncBuilder b("gathernd");
  int x = b.input("x", in[0].dtype, in[0].shape), i = b.input("i", in[1].dtype, in[1].shape);
  int y = b.output("y", out[0].dtype, out[0].shape);
  b.block("gather", out[0].shape, y, [&](const Vars& v) {
    Vars index = part(v, 0, batch), tuple = part(v, 0, tuples);
    tuple.push_back(const_int(0));
    for (i64 k = 0; k < depth; k++) {
      tuple.back() = const_int(k);
      index.push_back(safe_index(b.load(i, tuple), in[0].shape[at(batch + k)]));
    }
    index.insert(index.end(), v.begin() + tuples, v.end());
    return b.load(x, index);
  });
  return b.take();
}

void gather_nd(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor &x = *in[0], &indices = *in[1];
  i64 batch = node.attrs.get_int("batch_dims", 0), depth = indices.type.shape.back(), tuples = rank(indices.type) - 1;
  move_elements(x, out[0], [&](const Index& v) {
    Index index = part(v, 0, batch), tuple = part(v, 0, tuples);
    tuple.push_back(0);
    for (i64 k = 0; k < depth; k++, tuple.back()++)
      index.push_back(wrap_index(indices.get_int(flat_index(indices.type.shape, tuple)), x.type.shape[at(batch + k)]));
    index.insert(index.end(), v.begin() + tuples, v.end());
    return index;
  });
}

// --- OneHot (axis, depth): inputs indices, values = [off, on] --------------------------------------------------------

std::vector<TensorType> infer_one_hot(const Node& node, Types in) {
  i64 axis = axis_of(node, rank(in[0]) + 1, -1), depth = node.attrs.get_int("depth");
  if (depth < 0) fail("depth {} is negative", depth);
  if (in[1].shape != Shape{2}) fail("values have shape {}, not 2", to_string(in[1].shape));
  TensorType out{in[1].dtype, in[0].shape};
  out.shape.insert(out.shape.begin() + axis, depth);
  return {out};
}

Func lower_one_hot(const Node& node, Types in, Types out) {
  i64 axis = axis_of(node, rank(out[0]), -1), depth = node.attrs.get_int("depth");
  FuncBuilder b("onehot");
  int i = b.input("i", in[0].dtype, in[0].shape), values = b.input("values", in[1].dtype, in[1].shape);
  int y = b.output("y", out[0].dtype, out[0].shape);
  b.block("onehot", out[0].shape, y, [&](const Vars& v) {
    Vars where = v;
    where.erase(where.begin() + axis);
    Expr hot = loop::cast(DType::i64, b.load(i, where));
    hot = select(hot < const_int(0), hot + depth, hot);
    return select(binary(ExprOp::eq, hot, v[at(axis)]), b.load(values, {const_int(1)}), b.load(values, {const_int(0)}));
  });
  return b.take();
}

void one_hot(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  i64 axis = axis_of(node, rank(out[0].type), -1), depth = node.attrs.get_int("depth");
  for_each_index(out[0].type.shape, [&](const Index& v, i64 flat) {
    Index where = v;
    where.erase(where.begin() + axis);
    i64 hot = in[0]->get_int(flat_index(in[0]->type.shape, where));
    copy_element(out[0], flat, *in[1], (hot < 0 ? hot + depth : hot) == v[at(axis)]);
  });
}

// --- TopK (axis, k, largest, sorted): outputs values, indices --------------------------------------------------------

struct Top {
  size_t axis;
  i64 n, k;
  bool largest;

  Top(const Node& node, const TensorType& in)
      : axis(at(axis_of(node, rank(in), -1))),
        n(in.shape[axis]),
        k(node.attrs.get_int("k")),
        largest(node.attrs.get_int("largest", 1) != 0) {}
};

std::vector<TensorType> infer_top_k(const Node& node, Types in) {
  Top top(node, in[0]);
  if (top.k < 0 || top.k > top.n) fail("k = {} is outside 0..{}", top.k, top.n);
  Shape shape = in[0].shape;
  shape[top.axis] = top.k;
  return {{in[0].dtype, shape}, {DType::i64, shape}};
}

// a comes before b whatever their indices; NaN comes before all numbers.
Expr comes_before(const Expr& a, const Expr& b, bool largest) {
  Expr before = largest ? b < a : a < b;
  if (!is_float(a.dtype)) return before;
  return before || (unary(ExprOp::is_nan, a) && unary(ExprOp::logical_not, unary(ExprOp::is_nan, b)));
}

Func lower_top_k(const Node& node, Types in, Types out) {
  Top top(node, in[0]);
  DType dtype = in[0].dtype;
  const Shape& shape = in[0].shape;
  FuncBuilder b("topk");
  int x = b.input("x", dtype, shape);
  std::vector<int> ys = add_outputs(b, out, {"values", "indices"});
  int ranks = b.temp("rank", DType::i32, shape), order = b.temp("order", DType::i64, shape);
  auto on_axis = [&](Vars v, Expr i) {
    v[top.axis] = std::move(i);
    return v;
  };
  b.reduce("rank", shape, {top.n}, ranks, StoreOp::add, const_int(0, DType::i32), [&](const Vars& s, const Vars& r) {
    Expr here = b.load(x, s), other = b.load(x, on_axis(s, r[0]));
    Expr not_after = unary(ExprOp::logical_not, comes_before(here, other, top.largest));
    Expr before = comes_before(other, here, top.largest) || (r[0] < s[top.axis] && not_after);
    return select(before, const_int(1, DType::i32), const_int(0, DType::i32));
  });
  b.block_at(
      "order", shape, order, [&](const Vars& v) { return on_axis(v, safe_index(b.load(ranks, v), top.n)); },
      [&](const Vars& v) { return v[top.axis]; });
  if (ys[0] >= 0)
    b.block("values", out[0].shape, ys[0],
            [&](const Vars& v) { return b.load(x, on_axis(v, safe_index(b.load(order, v), top.n))); });
  if (ys.size() > 1 && ys[1] >= 0)
    b.block("indices", out[1].shape, ys[1], [&](const Vars& v) { return b.load(order, v); });
  return b.take();
}

void top_k(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor& x = *in[0];
  Top top(node, x.type);
  i64 stride = row_major_strides(x.type.shape)[top.axis];
  Shape rows = x.type.shape;
  rows[top.axis] = 1;
  std::vector<i64> order(at(top.n));
  for_each_index(rows, [&](const Index& row, i64) {
    i64 first = flat_index(x.type.shape, row), to = flat_index(out[0].type.shape, row);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](i64 a, i64 b) { return beats(x, first + a * stride, first + b * stride, top.largest); });
    for (i64 i = 0; i < top.k; i++) {
      copy_element(out[0], to + i * stride, x, first + order[at(i)] * stride);
      if (out.size() > 1) out[1].set_int(to + i * stride, order[at(i)]);
    }
  });
}

const OpDef kOps[] = {
    {"Gather", FuseKind::movement, 2, 2, infer_gather, lower_gather, gather},
    {"GatherElements", FuseKind::movement, 2, 2, infer_gather_elements, lower_gather_elements, gather_elements},
    {"GatherND", FuseKind::movement, 2, 2, infer_gather_nd, lower_gather_nd, gather_nd},
    {"OneHot", FuseKind::opaque, 2, 2, infer_one_hot, lower_one_hot, one_hot},
    {"TopK", FuseKind::opaque, 1, 1, infer_top_k, lower_top_k, top_k},
};

}  // namespace

}  // namespace mcc::ops

namespace mcc {

std::span<const OpDef> gather_ops() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> made(std::begin(ops::kOps), std::end(ops::kOps));
    made.insert(made.end(), ops::scatter_ops().begin(), ops::scatter_ops().end());
    return made;
  }();
  return ops;
}

}  // namespace mcc
