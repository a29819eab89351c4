// Unary functions. For float, exp, log, tanh, erf and sigmoid are polynomials written straight into the IR, the same
// for scalars and vectors; f16 and bf16 go through them too. Largest errors found by the sweep in
// tests/unit/codegen_math.cc, in units of the last place of the float result:
//   exp 1.0 (also for subnormal results)   log 0.8   tanh 4.3   erf 4.6 (absolute 1e-40 near 0)   sigmoid 2.0 (absolute
//   1e-37)
// All are right at infinities, zeros (the sign of zero is kept where the function is odd) and NaN. The rest, and all of
// f64, are calls of the C library, lane by lane.
//   exp, log: Cephes (S. Moshier). tanh, erf: the rational approximations of Eigen (MathFunctionsImpl.h, MPL-2).
#include "codegen/emitter.h"

namespace mcc::codegen {

using llvm::IRBuilder;
using llvm::Type;
using loop::ExprOp;

Value* call_libm(IRBuilder<>& b, llvm::StringRef name, Value* x, Value* y) {
  Type* scalar = x->getType()->getScalarType();
  llvm::SmallVector<Type*, 2> types(y ? 2 : 1, scalar);
  llvm::Module* module = b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module->getOrInsertFunction(name, llvm::FunctionType::get(scalar, types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();  // errno is of no interest
  function->setDoesNotThrow();
  function->setWillReturn();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (!vector) return y ? b.CreateCall(callee, {x, y}) : b.CreateCall(callee, {x});
  Value* result = llvm::PoisonValue::get(x->getType());
  for (unsigned lane = 0; lane < vector->getNumElements(); lane++) {
    llvm::SmallVector<Value*, 2> args = {b.CreateExtractElement(x, lane)};
    if (y) args.push_back(b.CreateExtractElement(y, lane));
    result = b.CreateInsertElement(result, b.CreateCall(callee, args), lane);
  }
  return result;
}

namespace {

// Arithmetic on float or vectors of it, with constants written as numbers.
struct F {
  IRBuilder<>& b;
  Type* type;
  Type* ints;

  F(IRBuilder<>& b, const Value* x) : b(b), type(x->getType()), ints(widened(b.getInt32Ty(), x)) {}
  Value* c(double value) const { return float_constant(type, value); }
  Value* n(i64 value) const { return int_constant(ints, value); }
  Value* mul_add(Value* x, Value* y, Value* z) const { return b.CreateFAdd(b.CreateFMul(x, y), z); }
  // coefficients from the highest power down
  Value* polynomial(Value* x, std::initializer_list<double> coefficients) const {
    Value* sum = c(*coefficients.begin());
    for (const double* k = coefficients.begin() + 1; k != coefficients.end(); k++) sum = mul_add(sum, x, c(*k));
    return sum;
  }
  Value* clamp(Value* x, double low, double high) const {  // NaN stays
    x = b.CreateSelect(b.CreateFCmpOGT(c(low), x), c(low), x);
    return b.CreateSelect(b.CreateFCmpOLT(c(high), x), c(high), x);
  }
  Value* bits(Value* x) const { return b.CreateBitCast(x, ints); }
  Value* floats(Value* x) const { return b.CreateBitCast(x, type); }
  Value* power_of_two(Value* exponent) const { return floats(b.CreateShl(b.CreateAdd(exponent, n(127)), n(23))); }
};

// exp(x) = 2^n * exp(r), |r| <= ln2 / 2. The scale is applied in two halves so that overflow and subnormals come out
// right.
Value* exp_f32(IRBuilder<>& b, Value* x) {
  const F f(b, x);
  x = f.clamp(x, -104.0, 89.0);
  Value* rounded = b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, b.CreateFMul(x, f.c(1.44269504088896341)));
  Value* r = f.mul_add(rounded, f.c(-0.693359375), x);
  r = f.mul_add(rounded, f.c(2.12194440e-4), r);
  Value* p = f.polynomial(
      r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  p = b.CreateFAdd(f.mul_add(p, b.CreateFMul(r, r), r), f.c(1));
  Value* n = b.CreateFreeze(b.CreateFPToSI(rounded, f.ints));  // any number will do for NaN: p is NaN already
  Value* half = b.CreateAShr(n, f.n(1));
  return b.CreateFMul(b.CreateFMul(p, f.power_of_two(half)), f.power_of_two(b.CreateSub(n, half)));
}

// x = m * 2^e with sqrt(1/2) <= m < sqrt(2); log(x) = log(m) + e * ln2.
Value* log_f32(IRBuilder<>& b, Value* x) {
  const F f(b, x);
  Value* small = b.CreateFCmpOLT(x, f.c(0x1p-126));
  Value* normal = b.CreateSelect(small, b.CreateFMul(x, f.c(0x1p23)), x);
  Value* bits = b.CreateSub(f.bits(normal), f.n(0x3f3504f3));  // sqrt(1/2)
  Value* exponent = b.CreateAShr(bits, f.n(23));
  Value* m = f.floats(b.CreateAdd(b.CreateAnd(bits, f.n(0x7fffff)), f.n(0x3f3504f3)));
  exponent = b.CreateSub(exponent, b.CreateSelect(small, f.n(23), f.n(0)));
  Value* e = b.CreateSIToFP(exponent, f.type);
  Value* t = b.CreateFSub(m, f.c(1));
  Value* square = b.CreateFMul(t, t);
  Value* p = f.polynomial(t, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                              -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  p = b.CreateFMul(b.CreateFMul(p, t), square);
  p = f.mul_add(e, f.c(-2.12194440e-4), p);
  p = f.mul_add(square, f.c(-0.5), p);
  Value* result = f.mul_add(e, f.c(0.693359375), b.CreateFAdd(t, p));
  const double inf = std::numeric_limits<double>::infinity();
  result = b.CreateSelect(b.CreateFCmpOEQ(x, f.c(0)), f.c(-inf), result);
  result = b.CreateSelect(b.CreateFCmpOEQ(x, f.c(inf)), x, result);
  return b.CreateSelect(b.CreateFCmpULT(x, f.c(0)), f.c(std::numeric_limits<double>::quiet_NaN()), result);
}

// x * P(x^2) / Q(x^2), clamped where the result is 1; tiny arguments are their own result.
Value* tanh_f32(IRBuilder<>& b, Value* x) {
  const F f(b, x);
  Value* clamped = f.clamp(x, -7.90531110763549805, 7.90531110763549805);
  Value* square = b.CreateFMul(clamped, clamped);
  Value* p =
      f.polynomial(square, {-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
                            1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03});
  Value* q =
      f.polynomial(square, {1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03});
  Value* result = b.CreateFDiv(b.CreateFMul(clamped, p), q);
  Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  result = b.CreateSelect(b.CreateFCmpOGT(size, f.c(9.01)), b.CreateCopySign(f.c(1), x), result);
  return b.CreateSelect(b.CreateFCmpOLT(size, f.c(0.0004)), x, result);
}

Value* erf_f32(IRBuilder<>& b, Value* x) {
  const F f(b, x);
  x = f.clamp(x, -4, 4);
  Value* square = b.CreateFMul(x, x);
  Value* p =
      f.polynomial(square, {-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
                            -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02});
  Value* q = f.polynomial(square, {-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
                                   -7.37332916720468e-03, -1.42647390514189e-02});
  return b.CreateFDiv(b.CreateFMul(x, p), q);
}

Value* sigmoid_f32(IRBuilder<>& b, Value* x) {
  const F f(b, x);
  return b.CreateFDiv(f.c(1), b.CreateFAdd(f.c(1), exp_f32(b, b.CreateFNeg(x))));
}

Value* integer_function(IRBuilder<>& b, ExprOp op, DType dtype, Value* x) {
  Type* type = x->getType();
  Value *zero = int_constant(type, 0), *one = int_constant(type, 1);
  switch (op) {
    case ExprOp::neg: return b.CreateNeg(x);
    case ExprOp::bit_not:
    case ExprOp::logical_not: return b.CreateNot(x);
    case ExprOp::abs: return is_unsigned(dtype) ? x : b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse());
    case ExprOp::sign: {
      Value* positive = b.CreateSelect(b.CreateICmpNE(x, zero), one, zero);
      return is_unsigned(dtype) ? positive : b.CreateSelect(b.CreateICmpSLT(x, zero), int_constant(type, -1), positive);
    }
    default: return x;  // floor, ceil, round_even, trunc
  }
}

// What takes no approximation, or null.
Value* exact_function(IRBuilder<>& b, ExprOp op, Value* x) {
  Type* type = x->getType();
  switch (op) {
    case ExprOp::neg: return b.CreateFNeg(x);
    case ExprOp::abs: return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    case ExprOp::sqrt: return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    case ExprOp::floor: return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
    case ExprOp::ceil: return b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x);
    case ExprOp::round_even: return b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x);
    case ExprOp::trunc: return b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
    case ExprOp::sign: {
      Value* negative = b.CreateSelect(b.CreateFCmpOLT(x, float_constant(type, 0)), float_constant(type, -1), x);
      return b.CreateSelect(b.CreateFCmpOGT(x, float_constant(type, 0)), float_constant(type, 1), negative);
    }
    default: return nullptr;
  }
}

Value* library_function(IRBuilder<>& b, ExprOp op, bool is_double, Value* x) {
  if (op == ExprOp::sigmoid) {
    Value* one = float_constant(x->getType(), 1);
    return b.CreateFDiv(one, b.CreateFAdd(one, call_libm(b, "exp", b.CreateFNeg(x))));
  }
  return call_libm(b, std::string(loop::name(op)) + (is_double ? "" : "f"), x);
}

}  // namespace

Value* math_function(IRBuilder<>& b, const Isa& isa, ExprOp op, DType dtype, Value* x) {
  if (!is_float(dtype)) return integer_function(b, op, dtype, x);
  Value* result = exact_function(b, op, x);
  if (result) return op == ExprOp::sqrt ? round_narrow(b, isa, dtype, result) : result;
  if (dtype == DType::f64) return library_function(b, op, true, x);
  switch (op) {
    case ExprOp::exp: result = exp_f32(b, x); break;
    case ExprOp::log: result = log_f32(b, x); break;
    case ExprOp::tanh: result = tanh_f32(b, x); break;
    case ExprOp::erf: result = erf_f32(b, x); break;
    case ExprOp::sigmoid: result = sigmoid_f32(b, x); break;
    default: result = library_function(b, op, false, x);
  }
  return round_narrow(b, isa, dtype, result);
}

}  // namespace mcc::codegen
