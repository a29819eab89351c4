// Pools: MaxPool (with Indices), AveragePool, LpPool and their global forms, in any number of spatial axes and both
// layouts.
#include "ops/pool.h"

namespace mcc::ops {
namespace {

PoolKind kind_of(std::string_view op) {
  if (op.find("Max") != std::string_view::npos) return PoolKind::max;
  return op.find("Average") != std::string_view::npos ? PoolKind::average : PoolKind::lp;
}

void require_dtype(const PoolShape& pool, DType dtype) {
  if (!is_float(dtype) && (pool.kind != PoolKind::max || dtype == DType::boolean))
    fail("elements of type {} cannot be pooled", name(dtype));
}

std::vector<TensorType> infer_pool(const Node& node, Types in) {
  PoolShape pool = pool_shape(node, in);
  Shape shape = arrange(pool.window.channels_last, Parts<i64>{pool.batch, pool.channels, pool.window.out});
  std::vector<TensorType> out{{in[0].dtype, shape}};
  if (node.op == "MaxPool") out.push_back({DType::i64, shape});
  return out;
}

constexpr OpDef kOps[] = {
    {"AveragePool", FuseKind::anchor, 1, 1, infer_pool, lower_pool, pool_reference},
    {"GlobalAveragePool", FuseKind::anchor, 1, 1, infer_pool, lower_pool, pool_reference},
    {"GlobalLpPool", FuseKind::anchor, 1, 1, infer_pool, lower_pool, pool_reference},
    {"GlobalMaxPool", FuseKind::anchor, 1, 1, infer_pool, lower_pool, pool_reference},
    {"LpPool", FuseKind::anchor, 1, 1, infer_pool, lower_pool, pool_reference},
    {"MaxPool", FuseKind::anchor, 1, 1, infer_pool, lower_pool, pool_reference},
};

}  // namespace

PoolShape pool_shape(const Node& node, Types in) {
  const Shape& x = in[0].shape;
  if (x.size() < 3) fail("input {} needs at least one spatial dimension", to_string(x));
  PoolShape pool;
  pool.kind = kind_of(node.op);
  pool.global = node.op.starts_with("Global");
  require_dtype(pool, in[0].dtype);
  Parts<i64> parts = split(is_channels_last(node), x);
  pool.window = read_window(node, x, pool.global ? parts.at : node.attrs.get_ints("kernel_shape"));
  pool.window.out = pool_extents(pool.window, node.attrs.get_int("ceil_mode", 0) != 0);
  require_pixels_in_windows(pool.window);
  pool.batch = parts.batch;
  pool.channels = parts.channel;
  pool.count_pads = node.attrs.get_int("count_include_pad", 0) != 0;
  pool.column_major = node.attrs.get_int("storage_order", 0) != 0;
  pool.p = node.attrs.get_int("p", 2);
  if (pool.p < 1) fail("p must be positive, not {}", pool.p);
  return pool;
}

Counted counted(const PoolShape& pool, size_t axis) {
  const Window& w = pool.window;
  if (!pool.count_pads) return {0, w.in[axis]};
  return {-w.begin[axis], w.in[axis] + w.end[axis]};
}

}  // namespace mcc::ops

std::span<const mcc::OpDef> mcc::pool_ops() { return ops::kOps; }
