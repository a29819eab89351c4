// 16-bit floats. Values are kept as float; memory holds their 16 bits. Where the machine converts half precision itself
// (F16C, AArch64) that is used; everywhere else, and for bf16, the conversions are integer arithmetic: no library
// calls. Rounding is to nearest even, overflow gives infinity, NaN stays NaN, subnormals are exact both ways.
#include "codegen/emitter.h"

namespace mcc::codegen {

using llvm::IRBuilder;
using llvm::Type;

namespace {

Type* words(IRBuilder<>& b, unsigned bits, const Value* like) { return widened(b.getIntNTy(bits), like); }
Type* floats(IRBuilder<>& b, const Value* like) { return widened(b.getFloatTy(), like); }
Value* number(Value* like, i64 value) { return int_constant(like->getType(), value); }

}  // namespace

Value* half_to_float(IRBuilder<>& b, const Isa& isa, Value* bits) {
  if (isa.half_conversions) return b.CreateFPExt(b.CreateBitCast(bits, widened(b.getHalfTy(), bits)), floats(b, bits));
  Value* wide = b.CreateZExt(bits, words(b, 32, bits));
  Value* sign = b.CreateShl(b.CreateAnd(wide, number(wide, 0x8000)), 16);
  Value* magnitude = b.CreateShl(b.CreateAnd(wide, number(wide, 0x7fff)), 13);
  // As a float the exponent is too small by 112; multiplying also normalises subnormals. Infinity and NaN need 112
  // more.
  Value* scaled = b.CreateFMul(b.CreateBitCast(magnitude, floats(b, bits)), float_constant(floats(b, bits), 0x1p112));
  Value* special = b.CreateICmpUGE(magnitude, number(wide, 0x7c00 << 13));
  Value* value = b.CreateSelect(special, b.CreateOr(magnitude, number(wide, 0x7f800000)),
                                b.CreateBitCast(scaled, wide->getType()));
  return b.CreateBitCast(b.CreateOr(value, sign), floats(b, bits));
}

Value* float_to_half(IRBuilder<>& b, const Isa& isa, Value* value) {
  if (isa.half_conversions)
    return b.CreateBitCast(b.CreateFPTrunc(value, widened(b.getHalfTy(), value)), words(b, 16, value));
  Value* bits = b.CreateBitCast(value, words(b, 32, value));
  Value* sign = b.CreateAnd(b.CreateLShr(bits, 16), number(bits, 0x8000));
  Value* magnitude = b.CreateAnd(bits, number(bits, 0x7fffffff));
  // Normal results: add half an ulp (less one, plus the last kept bit: ties to even) and move the exponent.
  Value* odd = b.CreateAnd(b.CreateLShr(magnitude, 13), number(bits, 1));
  Value* rounded = b.CreateAdd(b.CreateAdd(magnitude, number(bits, 0xfff - (i64{112} << 23))), odd);
  Value* normal = b.CreateLShr(rounded, 13);
  // Subnormal results: adding 0.5 lets the float adder round at the right bit (the sum's last bit is 2^-24).
  Value* sum = b.CreateFAdd(b.CreateBitCast(magnitude, value->getType()), float_constant(value->getType(), 0.5));
  Value* subnormal = b.CreateSub(b.CreateBitCast(sum, bits->getType()), number(bits, 0x3f000000));
  Value* half = b.CreateSelect(b.CreateICmpULT(magnitude, number(bits, i64{113} << 23)), subnormal, normal);
  half = b.CreateSelect(b.CreateICmpUGE(magnitude, number(bits, 0x477ff000)), number(bits, 0x7c00), half);
  half = b.CreateSelect(b.CreateICmpUGT(magnitude, number(bits, 0x7f800000)), number(bits, 0x7e00), half);
  return b.CreateTrunc(b.CreateOr(half, sign), words(b, 16, value));
}

Value* bf16_to_float(IRBuilder<>& b, Value* bits) {
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, words(b, 32, bits)), 16), floats(b, bits));
}

Value* float_to_bf16(IRBuilder<>& b, Value* value) {
  Value* bits = b.CreateBitCast(value, words(b, 32, value));
  Value* odd = b.CreateAnd(b.CreateLShr(bits, 16), number(bits, 1));
  Value* rounded = b.CreateAdd(b.CreateAdd(bits, number(bits, 0x7fff)), odd);
  Value* quiet = b.CreateOr(bits, number(bits, 0x400000));
  Value* chosen = b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded);
  return b.CreateTrunc(b.CreateLShr(chosen, 16), words(b, 16, value));
}

}  // namespace mcc::codegen
