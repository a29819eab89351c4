// Element arithmetic as loop.h states it. Two families, integer and float, each one switch.
#include "loop/scalar.h"

#include <cmath>
#include <limits>

namespace mcc::loop {

namespace {

// Widening to u64 makes every signed operation wrap instead of being undefined.
i64 add(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) + static_cast<u64>(b)); }
i64 sub(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) - static_cast<u64>(b)); }
i64 mul(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) * static_cast<u64>(b)); }

i64 power(i64 base, i64 exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 != 0 ? -1 : 1;
    return 0;
  }
  i64 result = 1;
  for (; exponent > 0; exponent >>= 1, base = mul(base, base)) {
    if ((exponent & 1) != 0) result = mul(result, base);
  }
  return result;
}

i64 div_trunc(i64 a, i64 b) {
  if (b == 0) return 0;
  return b == -1 ? sub(0, a) : a / b;
}

i64 mod_trunc(i64 a, i64 b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}

i64 div_floor(i64 a, i64 b) {
  const i64 quotient = div_trunc(a, b);
  return b != 0 && mod_trunc(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

i64 mod_floor(i64 a, i64 b) {
  const i64 rest = mod_trunc(a, b);
  return b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

i64 shift_left(i64 a, i64 by, i64 bits) {
  return by < 0 || by >= bits ? 0 : static_cast<i64>(static_cast<u64>(a) << by);
}

i64 shift_right(i64 a, i64 by, i64 bits) {
  if (by < 0 || by >= bits) return a < 0 ? -1 : 0;
  return a >> by;
}

bool evaluate_order(ExprOp op, bool less, bool equal) {
  switch (op) {
    case ExprOp::lt: return less;
    case ExprOp::le: return less || equal;
    case ExprOp::eq: return equal;
    default: return !equal;
  }
}

// u64 holds its value in the bits of an i64: what differs from signed arithmetic.
i64 evaluate_u64(ExprOp op, u64 a, u64 b) {
  switch (op) {
    case ExprOp::div:
    case ExprOp::floordiv: return b == 0 ? 0 : static_cast<i64>(a / b);
    case ExprOp::mod:
    case ExprOp::floormod: return static_cast<i64>(b == 0 ? a : a % b);
    case ExprOp::min: return static_cast<i64>(std::min(a, b));
    case ExprOp::max: return static_cast<i64>(std::max(a, b));
    case ExprOp::shr: return b >= 64 ? 0 : static_cast<i64>(a >> b);
    case ExprOp::abs: return static_cast<i64>(a);
    case ExprOp::sign: return a > 0;
    case ExprOp::pow: {
      u64 result = 1;
      for (; b > 0; b >>= 1, a *= a) {
        if ((b & 1) != 0) result *= a;
      }
      return static_cast<i64>(result);
    }
    default: MCC_CHECK(op >= ExprOp::lt && op <= ExprOp::ne); return evaluate_order(op, a < b, a == b);
  }
}

bool differs_for_u64(ExprOp op) {
  switch (op) {
    case ExprOp::div:
    case ExprOp::floordiv:
    case ExprOp::mod:
    case ExprOp::floormod:
    case ExprOp::min:
    case ExprOp::max:
    case ExprOp::shr:
    case ExprOp::abs:
    case ExprOp::sign:
    case ExprOp::pow:
    case ExprOp::lt:
    case ExprOp::le: return true;
    default: return false;
  }
}

i64 evaluate_int(ExprOp op, DType dtype, i64 a, i64 b) {
  switch (op) {
    case ExprOp::add: return add(a, b);
    case ExprOp::sub: return sub(a, b);
    case ExprOp::mul: return mul(a, b);
    case ExprOp::div: return div_trunc(a, b);
    case ExprOp::mod: return mod_trunc(a, b);
    case ExprOp::floordiv: return div_floor(a, b);
    case ExprOp::floormod: return mod_floor(a, b);
    case ExprOp::min: return std::min(a, b);
    case ExprOp::max: return std::max(a, b);
    case ExprOp::pow: return power(a, b);
    case ExprOp::lt:
    case ExprOp::le:
    case ExprOp::eq:
    case ExprOp::ne: return evaluate_order(op, a < b, a == b);
    case ExprOp::logical_and: return a & b;
    case ExprOp::logical_or: return a | b;
    case ExprOp::logical_not: return a == 0;
    case ExprOp::bit_and: return a & b;
    case ExprOp::bit_or: return a | b;
    case ExprOp::bit_xor: return a ^ b;
    case ExprOp::bit_not: return ~a;
    case ExprOp::shl: return shift_left(a, b, 8 * size_of(dtype));
    case ExprOp::shr: return shift_right(a, b, 8 * size_of(dtype));
    case ExprOp::neg: return sub(0, a);
    case ExprOp::abs: return a < 0 ? sub(0, a) : a;
    case ExprOp::sign: return (a > 0) - (a < 0);
    case ExprOp::floor:
    case ExprOp::ceil:
    case ExprOp::round_even:
    case ExprOp::trunc: return a;
    default: MCC_CHECK(!"an operation on integers"); return 0;
  }
}

double sign_of(double a) {
  if (a > 0) return 1;
  return a < 0 ? -1 : a;
}

// The C library's functions in double, so that rounding to float afterwards gives the nearest float nearly always.
double evaluate_function(ExprOp op, double a) {
  switch (op) {
    case ExprOp::neg: return -a;
    case ExprOp::abs: return std::fabs(a);
    case ExprOp::sqrt: return std::sqrt(a);
    case ExprOp::exp: return std::exp(a);
    case ExprOp::log: return std::log(a);
    case ExprOp::sin: return std::sin(a);
    case ExprOp::cos: return std::cos(a);
    case ExprOp::tan: return std::tan(a);
    case ExprOp::asin: return std::asin(a);
    case ExprOp::acos: return std::acos(a);
    case ExprOp::atan: return std::atan(a);
    case ExprOp::sinh: return std::sinh(a);
    case ExprOp::cosh: return std::cosh(a);
    case ExprOp::tanh: return std::tanh(a);
    case ExprOp::asinh: return std::asinh(a);
    case ExprOp::acosh: return std::acosh(a);
    case ExprOp::atanh: return std::atanh(a);
    case ExprOp::erf: return std::erf(a);
    case ExprOp::sigmoid: return 1 / (1 + std::exp(-a));
    case ExprOp::floor: return std::floor(a);
    case ExprOp::ceil: return std::ceil(a);
    case ExprOp::round_even: return std::nearbyint(a);
    case ExprOp::trunc: return std::trunc(a);
    case ExprOp::sign: return sign_of(a);
    default: MCC_CHECK(!"an operation on floats"); return 0;
  }
}

Scalar evaluate_float(ExprOp op, DType dtype, double a, double b) {
  switch (op) {
    case ExprOp::add: return {0, round_to(dtype, a + b)};
    case ExprOp::sub: return {0, round_to(dtype, a - b)};
    case ExprOp::mul: return {0, round_to(dtype, a * b)};
    case ExprOp::div: return {0, round_to(dtype, a / b)};
    case ExprOp::mod: return {0, round_to(dtype, std::fmod(a, b))};
    case ExprOp::min: return {0, std::isnan(a) || a < b ? a : b};
    case ExprOp::max: return {0, std::isnan(a) || a > b ? a : b};
    case ExprOp::pow: return {0, round_to(dtype, std::pow(a, b))};
    case ExprOp::lt:
    case ExprOp::le:
    case ExprOp::eq:
    case ExprOp::ne: return {evaluate_order(op, a < b, a == b), 0};
    case ExprOp::is_nan: return {std::isnan(a), 0};
    case ExprOp::is_inf: return {std::isinf(a), 0};
    default: return {0, round_to(dtype, evaluate_function(op, a))};
  }
}

// Nearest integer towards zero; what lies outside the type becomes its nearest bound, NaN becomes 0.
i64 saturate(DType to, double value) {
  if (std::isnan(value)) return 0;
  if (to == DType::u64) {
    if (value <= 0) return 0;
    return value >= 0x1p64 ? -1 : static_cast<i64>(static_cast<u64>(value));
  }
  const i64 low = min_value(to), high = max_value(to);
  if (value <= static_cast<double>(low)) return low;
  return value >= static_cast<double>(high) ? high : static_cast<i64>(value);
}

double int_to_float(DType from, DType to, i64 value) {
  const bool big = from == DType::u64 && value < 0;
  if (to == DType::f64) return big ? static_cast<double>(static_cast<u64>(value)) : static_cast<double>(value);
  return round_to(to, big ? static_cast<float>(static_cast<u64>(value)) : static_cast<float>(value));
}

}  // namespace

i64 wrap(DType dtype, i64 value) {
  switch (dtype) {
    case DType::i8: return static_cast<std::int8_t>(value);
    case DType::i16: return static_cast<std::int16_t>(value);
    case DType::i32: return static_cast<std::int32_t>(value);
    case DType::u8: return static_cast<std::uint8_t>(value);
    case DType::u16: return static_cast<std::uint16_t>(value);
    case DType::u32: return static_cast<std::uint32_t>(value);
    case DType::boolean: return value != 0;
    default: return value;
  }
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::f32: return static_cast<float>(value);
    case DType::f16: return half_to_float(float_to_half(static_cast<float>(value)));
    case DType::bf16: return bf16_to_float(float_to_bf16(static_cast<float>(value)));
    default: return value;
  }
}

Scalar convert(DType from, DType to, Scalar value) {
  if (is_float(from)) {
    if (is_float(to)) return {0, round_to(to, value.f)};
    return {to == DType::boolean ? static_cast<i64>(value.f != 0) : saturate(to, value.f), 0};
  }
  if (is_float(to)) return {0, int_to_float(from, to, value.i)};
  return {wrap(to, value.i), 0};
}

Scalar evaluate(ExprOp op, DType operand, Scalar a, Scalar b) {
  if (is_float(operand)) return evaluate_float(op, operand, a.f, b.f);
  if (operand == DType::u64 && differs_for_u64(op)) {
    return {evaluate_u64(op, static_cast<u64>(a.i), static_cast<u64>(b.i)), 0};
  }
  return {wrap(result_type(op, operand), evaluate_int(op, operand, a.i, b.i)), 0};
}

ExprOp operation(StoreOp op) {
  switch (op) {
    case StoreOp::assign: break;
    case StoreOp::add: return ExprOp::add;
    case StoreOp::mul: return ExprOp::mul;
    case StoreOp::min: return ExprOp::min;
    case StoreOp::max: return ExprOp::max;
    case StoreOp::logical_and: return ExprOp::logical_and;
    case StoreOp::logical_or: return ExprOp::logical_or;
    case StoreOp::bit_xor: return ExprOp::bit_xor;
  }
  MCC_CHECK(op != StoreOp::assign);
  return ExprOp::add;
}

Scalar accumulate(StoreOp op, DType dtype, Scalar old, Scalar value) {
  return op == StoreOp::assign ? value : evaluate(operation(op), dtype, old, value);
}

int arity(ExprOp op) {
  switch (op) {
    case ExprOp::constant:
    case ExprOp::var: return 0;
    case ExprOp::load: return -1;
    case ExprOp::select: return 3;
    case ExprOp::logical_not:
    case ExprOp::bit_not:
    case ExprOp::cast: return 1;
    default: return op >= ExprOp::neg ? 1 : 2;
  }
}

bool is_comparison(ExprOp op) { return op >= ExprOp::lt && op <= ExprOp::ne; }
bool is_logic(ExprOp op) { return op >= ExprOp::logical_and && op <= ExprOp::logical_not; }

bool is_float_only(ExprOp op) {
  return (op >= ExprOp::sqrt && op <= ExprOp::sigmoid) || op == ExprOp::is_nan || op == ExprOp::is_inf;
}

bool is_int_only(ExprOp op) {
  return op == ExprOp::floordiv || op == ExprOp::floormod || (op >= ExprOp::bit_and && op <= ExprOp::shr);
}

DType result_type(ExprOp op, DType operand) {
  const bool truth = is_comparison(op) || is_logic(op) || op == ExprOp::is_nan || op == ExprOp::is_inf;
  return truth ? DType::boolean : operand;
}

}  // namespace mcc::loop
