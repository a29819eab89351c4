// The arithmetic of quantised numbers, in f32 on both sides: q = saturate(round_even(x / scale) + zero_point).
#pragma once
#include "ops/lib.h"

namespace mcc::ops {

// x in f32, zero_point of any integer type; the sum saturates in the cast to `to`.
Expr quantized(DType to, Expr x_over_scale, Expr zero_point);
void set_quantized(Tensor& to, i64 i, float x_over_scale, i64 zero_point);

std::span<const OpDef> integer_product_ops();  // MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv

}  // namespace mcc::ops
