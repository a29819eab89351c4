// Pools as loop programs: a block "pad" when there is padding (the lowest value for maxima, zero for sums), a perfect
// nest "pool" that reduces over the kernel, and an elementwise block for the divisor or the root. Spatial loops follow
// the layout.
//
// MaxPool's Indices take a second reduction, over the flat numbers of those taps that equal the maximum: the least one
// is the first in row-major order.
#include <limits>

#include "ops/pool.h"

namespace mcc::ops {

using loop::ExprOp;
using loop::StoreOp;

namespace {

// One pool's buffers and where its main nest reads.
struct Walk {
  const PoolShape& pool;
  int source;  // the input, padded

  Expr tap(const FuncBuilder& b, const Vars& s, const Vars& k) const {
    bool last = pool.window.channels_last;
    Parts<Expr> at = split(last, s);
    at.at = window_index(pool.window, at.at, k);
    return b.load(source, arrange(last, at));
  }
};

// Names the loops of the next nest, over outputs and perhaps the kernel.
void name_axes(FuncBuilder& b, const Window& w, bool with_kernel) {
  std::vector<std::string> names = arrange(w.channels_last, Parts<std::string>{"n", "c", axis_names("o", w.rank())});
  std::vector<std::string> kernel = axis_names("k", w.rank());
  if (with_kernel) names.insert(names.end(), kernel.begin(), kernel.end());
  b.axes(std::move(names));
}

// For how many kernel elements k of the axis start + k * dilation lies in the counted range; start = o * stride -
// begin.
Expr count_expr(const PoolShape& pool, size_t axis, const Expr& o) {
  const Window& w = pool.window;
  i64 d = w.dilations[axis], k = w.kernel[axis];
  Counted range = counted(pool, axis);
  Expr start = o * w.strides[axis] - w.begin[axis];
  Expr high = loop::min(loop::const_int(k - 1), floordiv(loop::const_int(range.high - 1) - start, d));
  Expr low = loop::max(loop::const_int(0), floordiv(loop::const_int(range.low + d - 1) - start, d));
  return high - low + 1;
}

bool always_full(const PoolShape& pool, size_t axis) {
  const Window& w = pool.window;
  Counted range = counted(pool, axis);
  return -w.begin[axis] >= range.low && touched_extents(w)[axis] - w.begin[axis] <= range.high;
}

// sum / how many taps count; the factors that are the same everywhere become one constant.
Expr average(const PoolShape& pool, const Expr& sum, const Vars& v) {
  Vars o = split(pool.window.channels_last, v).at;
  double full = 1;
  Expr varying = loop::const_int(1);
  for (size_t i = 0; i < o.size(); i++) {
    if (always_full(pool, i))
      full *= static_cast<double>(pool.window.kernel[i]);
    else
      varying = varying * count_expr(pool, i, o[i]);
  }
  Expr scaled = sum * loop::constant(sum.dtype, 1 / full);
  return loop::is_const(varying, 1) ? scaled : scaled / loop::cast(sum.dtype, varying);
}

Expr power(const PoolShape& pool, const Expr& x) {
  if (pool.p == 1) return loop::unary(ExprOp::abs, x);
  if (pool.p == 2) return x * x;
  return loop::binary(ExprOp::pow, loop::unary(ExprOp::abs, x), loop::constant(x.dtype, static_cast<double>(pool.p)));
}

Expr root(const PoolShape& pool, const Expr& sum) {
  if (pool.p == 1) return sum;
  if (pool.p == 2) return loop::unary(ExprOp::sqrt, sum);
  return loop::binary(ExprOp::pow, sum, loop::constant(sum.dtype, 1.0 / static_cast<double>(pool.p)));
}

// The row-major number of the tap's pixel in the whole N C spatial... input; the largest integer for taps in the
// padding and those that are not the maximum.
Expr tap_number(const PoolShape& pool, const Expr& is_largest, const Vars& s, const Vars& k) {
  const Window& w = pool.window;
  Parts<Expr> p = split(w.channels_last, s);
  Vars at = window_index(w, p.at, k);
  Shape touched = touched_extents(w);
  Expr counts = is_largest, flat = p.batch * pool.channels + p.channel;
  for (size_t i = 0; i < w.rank(); i++) {
    Expr image = at[i] - w.begin[i];
    counts = within(image, w.in[i], -w.begin[i], touched[i] - 1 - w.begin[i]) && counts;
    flat = flat * w.in[i] + image;
  }
  return loop::select(counts, flat, loop::const_int(std::numeric_limits<i64>::max()));
}

// A row-major number with its spatial part renumbered column-major.
Expr column_major(const PoolShape& pool, const Expr& flat) {
  const Shape& in = pool.window.in;
  i64 pixels = elements(in), row_stride = pixels, column_stride = 1;
  Expr pixel = floormod(flat, pixels), renumbered = flat - pixel;
  for (i64 extent : in) {
    row_stride /= extent;
    renumbered = renumbered + floormod(floordiv(pixel, row_stride), extent) * column_stride;
    column_stride *= extent;
  }
  return renumbered;
}

void lower_max(FuncBuilder& b, const Walk& walk, const Shape& shape, DType dtype, int y, int indices) {
  const Shape& kernel = walk.pool.window.kernel;
  int maxima = y >= 0 ? y : b.temp("largest", dtype, shape);
  name_axes(b, walk.pool.window, true);
  b.reduce("pool", shape, kernel, maxima, StoreOp::max, loop::identity(StoreOp::max, dtype),
           [&](const Vars& s, const Vars& k) { return walk.tap(b, s, k); });
  if (indices < 0) return;
  int first = walk.pool.column_major ? b.temp("first", DType::i64, shape) : indices;
  name_axes(b, walk.pool.window, true);
  b.reduce("index", shape, kernel, first, StoreOp::min, loop::const_int(std::numeric_limits<i64>::max()),
           [&](const Vars& s, const Vars& k) {
             Expr is_largest = loop::binary(ExprOp::eq, walk.tap(b, s, k), b.load(maxima, s));
             return tap_number(walk.pool, is_largest, s, k);
           });
  if (first == indices) return;
  name_axes(b, walk.pool.window, false);
  b.block("renumber", shape, indices, [&](const Vars& v) { return column_major(walk.pool, b.load(first, v)); });
}

void lower_sum(FuncBuilder& b, const Walk& walk, const TensorType& type, int y) {
  const PoolShape& pool = walk.pool;
  DType acc = compute_type(type.dtype);
  bool is_lp = pool.kind == PoolKind::lp;
  int sums = b.temp("sums", acc, type.shape);
  name_axes(b, walk.pool.window, true);
  b.reduce("pool", type.shape, pool.window.kernel, sums, StoreOp::add, loop::constant(acc, 0),
           [&](const Vars& s, const Vars& k) {
             Expr value = loop::cast(acc, walk.tap(b, s, k));
             return is_lp ? power(pool, value) : value;
           });
  name_axes(b, pool.window, false);
  b.block(is_lp ? "root" : "average", type.shape, y, [&](const Vars& v) {
    Expr sum = b.load(sums, v);
    return loop::cast(type.dtype, is_lp ? root(pool, sum) : average(pool, sum, v));
  });
}

}  // namespace

loop::Func lower_pool(const Node& node, Types in, Types out) {
  PoolShape pool = pool_shape(node, in);
  DType dtype = in[0].dtype;
  FuncBuilder b(node.op);
  int x = b.input("x", dtype, in[0].shape);
  std::vector<int> y = add_outputs(b, out, {"y", "indices"});
  Expr fill = pool.kind == PoolKind::max ? loop::identity(StoreOp::max, dtype) : loop::constant(dtype, 0);
  Walk walk{pool, pad_input(b, x, in[0], pool.window, fill)};
  if (pool.kind != PoolKind::max)
    lower_sum(b, walk, out[0], y[0]);
  else
    lower_max(b, walk, arrange(pool.window.channels_last, Parts<i64>{pool.batch, pool.channels, pool.window.out}),
              dtype, y[0], y.size() > 1 ? y[1] : -1);
  return b.take();
}

}  // namespace mcc::ops
