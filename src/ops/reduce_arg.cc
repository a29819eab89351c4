// ArgMax and ArgMin (axis, keepdims, select_last_index), and CumSum (axis, exclusive, reverse).
//
// The position of an extreme is found in two reductions: the extreme itself, then the first (smallest) or last
// (largest) position that holds it. NaN counts as the extreme, as in numpy. CumSum is a scan: its nest reads the
// element it stored just before, so its innermost loop stays serial.
#include "base/text.h"
#include "ops/reduce.h"

namespace mcc::ops {

namespace {

using namespace loop;

// --- ArgMax, ArgMin --------------------------------------------------------------------------------------------------

struct Arg {
  std::vector<bool> reduced;
  size_t axis;
  bool keep, last, largest;
  Shape spatial;

  Arg(const Node& node, const TensorType& in)
      : reduced(in.shape.size(), false),
        axis(at(axis_of(node, rank(in), 0))),
        keep(node.attrs.get_int("keepdims", 1) != 0),
        last(node.attrs.get_int("select_last_index", 0) != 0),
        largest(node.op == "ArgMax") {
    reduced[axis] = true;
    spatial = reduced_shape(in.shape, reduced, keep);
  }
};

std::vector<TensorType> infer_arg(const Node& node, Types in) {
  Arg arg(node, in[0]);
  if (in[0].dtype == DType::boolean) fail("takes numbers, not bool");
  if (in[0].shape[arg.axis] == 0) fail("axis {} is empty: there is no extreme", arg.axis);
  return {{DType::i64, arg.spatial}};
}

Func lower_arg(const Node& node, Types in, Types) {
  Arg arg(node, in[0]);
  DType dtype = in[0].dtype;
  i64 n = in[0].shape[arg.axis];
  FuncBuilder b(lower_case(node.op));
  int x = b.input("x", dtype, in[0].shape), y = b.output("y", DType::i64, arg.spatial);
  int extreme = b.temp("extreme", dtype, arg.spatial);
  auto element = [&](const Vars& s, const Vars& r) { return b.load(x, reduce_source(arg.reduced, arg.keep, s, r)); };
  StoreOp op = arg.largest ? StoreOp::max : StoreOp::min;
  b.reduce("extreme", arg.spatial, {n}, extreme, op, identity(op, dtype), element);
  b.reduce("arg", arg.spatial, {n}, y, arg.last ? StoreOp::max : StoreOp::min, const_int(arg.last ? 0 : n - 1),
           [&](const Vars& s, const Vars& r) {
             Expr value = element(s, r);
             Expr hit = binary(ExprOp::eq, value, b.load(extreme, s));
             if (is_float(dtype)) hit = hit || unary(ExprOp::is_nan, value);
             return select(hit, r[0], const_int(arg.last ? 0 : n - 1));
           });
  return b.take();
}

void arg_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor& x = *in[0];
  Arg arg(node, x.type);
  Shape kept = reduced_shape(x.type.shape, arg.reduced, true);
  i64 stride = row_major_strides(x.type.shape)[arg.axis];
  for_each_index(kept, [&](const Index& index, i64 flat) {
    i64 first = flat_index(x.type.shape, index), best = 0;
    for (i64 i = 1; i < x.type.shape[arg.axis]; i++) {
      i64 here = first + i * stride, champion = first + best * stride;
      if (beats(x, here, champion, arg.largest) || (arg.last && !beats(x, champion, here, arg.largest))) best = i;
    }
    out[0].set_int(flat, best);
  });
}

// --- CumSum ----------------------------------------------------------------------------------------------------------

struct Scan {
  size_t axis;
  bool exclusive, reverse;

  Scan(const Node& node, i64 rank)
      : axis(at(axis_of(node, rank, 0))),
        exclusive(node.attrs.get_int("exclusive", 0) != 0),
        reverse(node.attrs.get_int("reverse", 0) != 0) {}
};

std::vector<TensorType> infer_cumsum(const Node& node, Types in) {
  Scan scan(node, rank(in[0]));
  if (in[0].dtype == DType::boolean) fail("takes numbers, not bool");
  return {in[0]};
}

// The scan runs over the innermost loop t; position t of the scan is element t, or n-1-t in reverse.
Func lower_cumsum(const Node& node, Types in, Types out) {
  Scan scan(node, rank(in[0]));
  DType dtype = in[0].dtype, total = compute_type(dtype);
  i64 n = in[0].shape[scan.axis];
  FuncBuilder b("cumsum");
  int x = b.input("x", dtype, in[0].shape), y = b.output("y", dtype, out[0].shape);
  int sums = total == dtype ? y : b.temp("total", total, out[0].shape);
  Shape extents = in[0].shape;
  extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(scan.axis));
  extents.push_back(n);
  auto place = [&](Vars v, i64 step) {  // the element `step` before the scan's position
    Expr t = v.back() - step;
    v.pop_back();
    v.insert(v.begin() + static_cast<std::ptrdiff_t>(scan.axis), scan.reverse ? const_int(n - 1) - t : t);
    return v;
  };
  b.block_at(
      "cumsum", extents, sums, [&](const Vars& v) { return place(v, 0); },
      [&](const Vars& v) {
        Expr x_here = loop::cast(total, b.load(x, place(v, 0))), zero = constant(total, 0);
        Expr x_before = loop::cast(total, b.load(x, place(v, 1))), before = b.load(sums, place(v, 1));
        return select(v.back() < const_int(1), scan.exclusive ? zero : x_here,
                      before + (scan.exclusive ? x_before : x_here));
      });
  if (sums != y) b.block("cast", out[0].shape, y, [&](const Vars& v) { return loop::cast(dtype, b.load(sums, v)); });
  return b.take();
}

void cumsum(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor& x = *in[0];
  Scan scan(node, rank(x.type));
  i64 n = x.type.shape[scan.axis], stride = row_major_strides(x.type.shape)[scan.axis];
  for_each_index(x.type.shape, [&](const Index& index, i64 flat) {
    i64 here = index[scan.axis], start = flat - here * stride;
    i64 first = scan.reverse ? here + scan.exclusive : 0, end = scan.reverse ? n : here + !scan.exclusive;
    double total = 0;
    u64 exact = 0;
    for (i64 i = first; i < end; i++) {
      total += x.get(start + i * stride);
      exact += static_cast<u64>(x.get_int(start + i * stride));
    }
    if (is_float(x.type.dtype))
      out[0].set(flat, total);
    else
      out[0].set_int(flat, static_cast<i64>(exact));
  });
}

const OpDef kOps[] = {
    {"ArgMax", FuseKind::anchor, 1, 1, infer_arg, lower_arg, arg_reference},
    {"ArgMin", FuseKind::anchor, 1, 1, infer_arg, lower_arg, arg_reference},
    {"CumSum", FuseKind::opaque, 1, 1, infer_cumsum, lower_cumsum, cumsum},
};

}  // namespace

std::span<const OpDef> arg_ops() { return kOps; }

}  // namespace mcc::ops
