// The meaning of each operation of loop.h on LLVM values of one dtype; scalars and vectors alike, because every
// instruction used here works on both. What must hold: nothing is undefined (division by zero, shifts beyond the width,
// casts out of range give what loop/scalar.cc gives), and NaN goes through min and max.
#include "codegen/emitter.h"

namespace mcc::codegen {

using llvm::IRBuilder;
using llvm::Type;
using loop::ExprOp;

Type* value_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::f64) return Type::getDoubleTy(context);
  if (is_float(dtype)) return Type::getFloatTy(context);
  if (dtype == DType::boolean) return Type::getInt1Ty(context);
  return Type::getIntNTy(context, static_cast<unsigned>(8 * size_of(dtype)));
}

Type* widened(Type* scalar, const Value* like) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return vector ? llvm::FixedVectorType::get(scalar, vector->getNumElements()) : scalar;
}

Value* float_constant(Type* type, double value) { return llvm::ConstantFP::get(type, value); }
Value* int_constant(Type* type, i64 value) { return llvm::ConstantInt::get(type, static_cast<u64>(value), true); }

Value* round_narrow(IRBuilder<>& b, const Isa& isa, DType dtype, Value* value) {
  if (dtype == DType::f16) return half_to_float(b, isa, float_to_half(b, isa, value));
  if (dtype == DType::bf16) return bf16_to_float(b, float_to_bf16(b, value));
  return value;
}

// min and max that hand NaN on; which zero of two they give is open. x86's instruction gives its second operand when
// either is NaN, and LLVM selects it for `select(a < c, a, c)`: with a constant c, that in the first place is all it
// takes.
Value* minimum_maximum(IRBuilder<>& b, DType dtype, Value* x, Value* y, bool maximum) {
  if (dtype == DType::boolean) return maximum ? b.CreateOr(x, y) : b.CreateAnd(x, y);
  if (!is_float(dtype)) {
    const llvm::Intrinsic::ID id = is_unsigned(dtype) ? (maximum ? llvm::Intrinsic::umax : llvm::Intrinsic::umin)
                                                      : (maximum ? llvm::Intrinsic::smax : llvm::Intrinsic::smin);
    return b.CreateBinaryIntrinsic(id, x, y);
  }
  if (llvm::isa<llvm::Constant>(x)) std::swap(x, y);
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(y); constant && !constant->isNaN()) {
    return b.CreateSelect(maximum ? b.CreateFCmpOGT(y, x) : b.CreateFCmpOLT(y, x), y, x);
  }
  Value* result = b.CreateBinaryIntrinsic(maximum ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, x, y);
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(result)) call->setHasNoSignedZeros(true);
  return result;
}

namespace {

bool is_plain_divisor(const Value* y) {  // a constant other than 0 and -1: nothing can go wrong
  const auto* constant = llvm::dyn_cast<llvm::Constant>(y);
  if (!constant) return false;
  const auto* number =
      llvm::dyn_cast_or_null<llvm::ConstantInt>(y->getType()->isVectorTy() ? constant->getSplatValue() : constant);
  return number && !number->isZero() && !number->isMinusOne();
}

Value* plain_divide(IRBuilder<>& b, ExprOp op, bool is_signed, Value* x, Value* y) {
  const bool rest = op == ExprOp::mod || op == ExprOp::floormod;
  if (!is_signed) return rest ? b.CreateURem(x, y) : b.CreateUDiv(x, y);
  if (op == ExprOp::div) return b.CreateSDiv(x, y);
  Value* remainder = b.CreateSRem(x, y);
  if (op == ExprOp::mod) return remainder;
  Value* zero = int_constant(x->getType(), 0);
  Value* opposite = b.CreateICmpSLT(b.CreateXor(x, y), zero);
  Value* adjust = b.CreateAnd(b.CreateICmpNE(remainder, zero), opposite);
  return rest ? b.CreateAdd(remainder, b.CreateSelect(adjust, y, zero))
              : b.CreateAdd(b.CreateSDiv(x, y), b.CreateSExt(adjust, x->getType()));
}

// The divisor becomes 1 where it is 0 or where the quotient would overflow; a 0 is patched afterwards.
Value* divide(IRBuilder<>& b, ExprOp op, bool is_signed, Value* x, Value* y) {
  if (is_plain_divisor(y)) return plain_divide(b, op, is_signed, x, y);
  Type* type = x->getType();
  x = b.CreateFreeze(x);
  y = b.CreateFreeze(y);  // inactive lanes may hold poison, and dividing by it is undefined
  Value* zero = b.CreateICmpEQ(y, int_constant(type, 0));
  Value* unsafe = zero;
  if (is_signed) {
    Value* smallest = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(type->getScalarSizeInBits()));
    unsafe = b.CreateOr(zero, b.CreateAnd(b.CreateICmpEQ(y, int_constant(type, -1)), b.CreateICmpEQ(x, smallest)));
  }
  Value* result = plain_divide(b, op, is_signed, x, b.CreateSelect(unsafe, int_constant(type, 1), y));
  const bool rest = op == ExprOp::mod || op == ExprOp::floormod;
  return b.CreateSelect(zero, rest ? x : int_constant(type, 0), result);
}

Value* shift(IRBuilder<>& b, ExprOp op, bool is_signed, Value* x, Value* y) {
  Type* type = x->getType();
  Value* width = int_constant(type, static_cast<i64>(type->getScalarSizeInBits()));
  Value* inside = b.CreateICmpULT(y, width);
  Value* amount = b.CreateSelect(inside, y, int_constant(type, 0));
  if (op == ExprOp::shl) return b.CreateSelect(inside, b.CreateShl(x, amount), int_constant(type, 0));
  if (!is_signed) return b.CreateSelect(inside, b.CreateLShr(x, amount), int_constant(type, 0));
  Value* last = int_constant(type, static_cast<i64>(type->getScalarSizeInBits()) - 1);
  return b.CreateAShr(x, b.CreateSelect(inside, y, last));
}

// Square and multiply over all bits of the exponent, written out; negative exponents give 0, except for 1 and -1.
Value* integer_power(IRBuilder<>& b, bool is_signed, Value* x, Value* y) {
  Type* type = x->getType();
  Value *one = int_constant(type, 1), *zero = int_constant(type, 0);
  Value *result = one, *square = x, *bits = y;
  for (unsigned bit = 0; bit < type->getScalarSizeInBits(); bit++) {
    Value* odd = b.CreateICmpNE(b.CreateAnd(bits, one), zero);
    result = b.CreateSelect(odd, b.CreateMul(result, square), result);
    square = b.CreateMul(square, square);
    bits = b.CreateLShr(bits, one);
  }
  if (!is_signed) return result;
  Value* unit = b.CreateICmpULE(b.CreateAdd(x, one), int_constant(type, 2));  // -1, 0, 1
  Value* inverse = b.CreateSelect(b.CreateAnd(unit, b.CreateICmpNE(x, zero)), result, zero);
  return b.CreateSelect(b.CreateICmpSLT(y, zero), inverse, result);
}

Value* float_power(IRBuilder<>& b, DType dtype, Value* x, Value* y) {
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(y)) {
    const auto* lane =
        llvm::dyn_cast_or_null<llvm::ConstantFP>(y->getType()->isVectorTy() ? constant->getSplatValue() : constant);
    if (lane && lane->isExactlyValue(2.0)) return b.CreateFMul(x, x);
    if (lane && lane->isExactlyValue(1.0)) return x;
  }
  return call_libm(b, dtype == DType::f64 ? "pow" : "powf", x, y);
}

Value* float_arithmetic(IRBuilder<>& b, ExprOp op, DType dtype, Value* x, Value* y) {
  switch (op) {
    case ExprOp::add: return b.CreateFAdd(x, y);
    case ExprOp::sub: return b.CreateFSub(x, y);
    case ExprOp::mul: return b.CreateFMul(x, y);
    case ExprOp::div: return b.CreateFDiv(x, y);
    case ExprOp::mod: return call_libm(b, dtype == DType::f64 ? "fmod" : "fmodf", x, y);
    default: MCC_CHECK(op == ExprOp::pow); return float_power(b, dtype, x, y);
  }
}

}  // namespace

Value* arithmetic(IRBuilder<>& b, const Isa& isa, ExprOp op, DType dtype, Value* x, Value* y, bool non_negative) {
  if (op == ExprOp::min || op == ExprOp::max) return minimum_maximum(b, dtype, x, y, op == ExprOp::max);
  if (is_float(dtype)) return round_narrow(b, isa, dtype, float_arithmetic(b, op, dtype, x, y));
  const bool is_signed = !is_unsigned(dtype) && dtype != DType::boolean;
  switch (op) {
    case ExprOp::add: return b.CreateAdd(x, y);
    case ExprOp::sub: return b.CreateSub(x, y);
    case ExprOp::mul: return b.CreateMul(x, y);
    case ExprOp::div:
    case ExprOp::mod:
    case ExprOp::floordiv:
    case ExprOp::floormod: return divide(b, op, is_signed && !non_negative, x, y);
    case ExprOp::pow: return integer_power(b, is_signed, x, y);
    case ExprOp::bit_and:
    case ExprOp::logical_and: return b.CreateAnd(x, y);
    case ExprOp::bit_or:
    case ExprOp::logical_or: return b.CreateOr(x, y);
    case ExprOp::bit_xor: return b.CreateXor(x, y);
    default: return shift(b, op, is_signed, x, y);
  }
}

Value* compare(IRBuilder<>& b, ExprOp op, DType dtype, Value* x, Value* y) {
  using P = llvm::CmpInst::Predicate;
  if (is_float(dtype)) {
    const P p = op == ExprOp::lt   ? P::FCMP_OLT
                : op == ExprOp::le ? P::FCMP_OLE
                : op == ExprOp::eq ? P::FCMP_OEQ
                                   : P::FCMP_UNE;
    return b.CreateFCmp(p, x, y);
  }
  const bool is_signed = !is_unsigned(dtype) && dtype != DType::boolean;
  const P less = is_signed ? P::ICMP_SLT : P::ICMP_ULT, not_above = is_signed ? P::ICMP_SLE : P::ICMP_ULE;
  return b.CreateICmp(op == ExprOp::lt   ? less
                      : op == ExprOp::le ? not_above
                      : op == ExprOp::eq ? P::ICMP_EQ
                                         : P::ICMP_NE,
                      x, y);
}

Value* convert(IRBuilder<>& b, const Isa& isa, DType from, DType to, Value* value) {
  if (from == to) return value;
  Type* type = widened(value_type(b.getContext(), to), value);
  const bool to_signed = is_int(to) && !is_unsigned(to), from_signed = is_int(from) && !is_unsigned(from);
  if (is_float(from) && is_float(to)) {
    return round_narrow(b, isa, to, b.CreateFPCast(value, type));
  }
  if (is_float(from)) {
    if (to == DType::boolean) return b.CreateFCmpUNE(value, float_constant(value->getType(), 0));
    const llvm::Intrinsic::ID id = to_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(id, {type, value->getType()}, {value});
  }
  if (is_float(to)) {
    return round_narrow(b, isa, to, from_signed ? b.CreateSIToFP(value, type) : b.CreateUIToFP(value, type));
  }
  if (to == DType::boolean) return b.CreateICmpNE(value, int_constant(value->getType(), 0));
  return b.CreateIntCast(value, type, from_signed);
}

}  // namespace mcc::codegen
