// What the pool files share: one pool operator's window and options, read and checked once.
#pragma once
#include "ops/window.h"

namespace mcc::ops {

enum class PoolKind : u8 { max, average, lp };

struct PoolShape {
  PoolKind kind = PoolKind::max;
  bool global = false;
  Window window;  // `out` filled; a global pool's window is the whole image
  i64 batch = 0, channels = 0;
  bool count_pads = false;    // AveragePool: padding counts in the divisor
  bool column_major = false;  // MaxPool Indices: storage_order 1
  i64 p = 2;                  // LpPool
};

PoolShape pool_shape(const Node& node, Types in);

// Along one axis, the kernel elements k in 0 .. K-1 for which start + k * dilation lies in low .. high-1 are counted
// for the divisor.
struct Counted {
  i64 low = 0, high = 0;
};
Counted counted(const PoolShape& pool, size_t axis);

loop::Func lower_pool(const Node& node, Types in, Types out);
void pool_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);

}  // namespace mcc::ops
