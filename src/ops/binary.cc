// Elementwise operators of two and more inputs, broadcast against each other.
#include <cmath>
#include <functional>

#include "ops/elementwise.h"

namespace mcc::ops {

namespace {

using namespace loop;
using N = const Node&;
using UWide = unsigned __int128;

template <ExprOp op>
Expr apply(N, Exprs x) {
  return binary(op, x[0], x[1]);
}

template <ExprOp op>
Expr swapped(N, Exprs x) {
  return binary(op, x[1], x[0]);
}

// A row that folds any number of inputs with one binary function.
template <ExprOp op>
Expr fold(N, Exprs x) {
  Expr all = x[0];
  for (size_t i = 1; i < x.size(); i++) all = binary(op, all, x[i]);
  return all;
}

template <typename T>
T sum(N, std::span<const T> x) {
  T all = x[0];  // not 0: -0 + -0 is -0
  for (T value : x.subspan(1)) all += value;
  return all;
}

// The extreme of all; the first NaN wins.
template <bool largest, typename T>
T extreme(N, std::span<const T> x) {
  T best = x[0];
  for (T value : x)
    if (best == best && (value != value || (largest ? value > best : value < best))) best = value;
  return best;
}

// Integers by way of f64, saturating, as C programs do it with pow().
Expr power(N, Exprs x) {
  DType dtype = x[0].dtype == DType::f32 ? DType::f32 : DType::f64;
  return binary(ExprOp::pow, cast(dtype, x[0]), cast(dtype, x[1]));
}

Expr modulo(N n, Exprs x) {
  bool truncated = is_float(x[0].dtype) || n.attrs.get_int("fmod", 0) != 0;
  return binary(truncated ? ExprOp::mod : ExprOp::floormod, x[0], x[1]);
}

Wide modulo(N n, Wides x) {
  if (x[1] == 0) return x[0];
  Wide rest = x[0] % x[1];
  bool other_sign = rest != 0 && (rest < 0) != (x[1] < 0);
  return n.attrs.get_int("fmod", 0) == 0 && other_sign ? rest + x[1] : rest;
}

bool shifts_left(N n) {
  std::string direction = n.attrs.get_string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") fail("direction is '{}', not LEFT or RIGHT", direction);
  return direction == "LEFT";
}

// A shift by the width or more leaves nothing.
Expr shift(N n, Exprs x) {
  Expr width = like(x[1], static_cast<double>(8 * size_of(x[0].dtype)));
  Expr shifted = binary(shifts_left(n) ? ExprOp::shl : ExprOp::shr, x[0], x[1]);
  return select(x[1] < width, shifted, like(x[0], 0));
}

Wide shift(N n, Wides x) {
  if (x[1] >= 64) return 0;
  return shifts_left(n) ? static_cast<Wide>(static_cast<UWide>(x[0]) << static_cast<int>(x[1]))
                        : x[0] >> static_cast<int>(x[1]);
}

Expr mean(N n, Exprs x) {
  Expr total = fold<ExprOp::add>(n, x);
  return total / like(total, static_cast<double>(x.size()));
}

template <typename Compare, typename T>
T holds(N, std::span<const T> x) {
  return static_cast<T>(Compare{}(x[0], x[1]));
}

constexpr Elementwise kRows[] = {
    {"Add", 2, Takes::numbers, Gives::same, apply<ExprOp::add>, sum<double>, sum<Wide>},
    {"And", 2, Takes::booleans, Gives::same, apply<ExprOp::logical_and>, nullptr,
     [](N, Wides x) { return Wide{x[0] != 0 && x[1] != 0}; }},
    {"BitShift", 2, Takes::integers, Gives::same, shift, nullptr, shift, [](N n) { shifts_left(n); }},
    {"BitwiseAnd", 2, Takes::integers, Gives::same, apply<ExprOp::bit_and>, nullptr,
     [](N, Wides x) { return x[0] & x[1]; }},
    {"BitwiseOr", 2, Takes::integers, Gives::same, apply<ExprOp::bit_or>, nullptr,
     [](N, Wides x) { return x[0] | x[1]; }},
    {"BitwiseXor", 2, Takes::integers, Gives::same, apply<ExprOp::bit_xor>, nullptr,
     [](N, Wides x) { return x[0] ^ x[1]; }},
    {"Div", 2, Takes::numbers, Gives::same, apply<ExprOp::div>, [](N, Doubles x) { return x[0] / x[1]; },
     [](N, Wides x) { return x[1] == 0 ? 0 : x[0] / x[1]; }},
    {"Equal", 2, Takes::anything, Gives::truth, apply<ExprOp::eq>, holds<std::equal_to<>, double>,
     holds<std::equal_to<>, Wide>},
    {"Greater", 2, Takes::numbers, Gives::truth, swapped<ExprOp::lt>, holds<std::greater<>, double>,
     holds<std::greater<>, Wide>},
    {"GreaterOrEqual", 2, Takes::numbers, Gives::truth, swapped<ExprOp::le>, holds<std::greater_equal<>, double>,
     holds<std::greater_equal<>, Wide>},
    {"Less", 2, Takes::numbers, Gives::truth, apply<ExprOp::lt>, holds<std::less<>, double>, holds<std::less<>, Wide>},
    {"LessOrEqual", 2, Takes::numbers, Gives::truth, apply<ExprOp::le>, holds<std::less_equal<>, double>,
     holds<std::less_equal<>, Wide>},
    {"Max", kAnyNumber, Takes::numbers, Gives::same, fold<ExprOp::max>, extreme<true, double>, extreme<true, Wide>},
    {"Mean", kAnyNumber, Takes::floats, Gives::same, mean,
     [](N n, Doubles x) { return sum<double>(n, x) / static_cast<double>(x.size()); }},
    {"Min", kAnyNumber, Takes::numbers, Gives::same, fold<ExprOp::min>, extreme<false, double>, extreme<false, Wide>},
    {"Mod", 2, Takes::numbers, Gives::same, modulo, [](N, Doubles x) { return std::fmod(x[0], x[1]); }, modulo},
    {"Mul", 2, Takes::numbers, Gives::same, apply<ExprOp::mul>, [](N, Doubles x) { return x[0] * x[1]; },
     [](N, Wides x) { return static_cast<Wide>(static_cast<UWide>(x[0]) * static_cast<UWide>(x[1])); }},
    {"Or", 2, Takes::booleans, Gives::same, apply<ExprOp::logical_or>, nullptr,
     [](N, Wides x) { return Wide{x[0] != 0 || x[1] != 0}; }},
    {"PRelu", 2, Takes::numbers, Gives::same,
     [](N, Exprs x) { return select(x[0] < like(x[0], 0), x[0] * x[1], x[0]); },
     [](N, Doubles x) { return x[0] < 0 ? x[0] * x[1] : x[0]; },
     [](N, Wides x) { return x[0] < 0 ? x[0] * x[1] : x[0]; }},
    {"Pow", 2, Takes::numbers, Gives::first, power, [](N, Doubles x) { return std::pow(x[0], x[1]); }},
    {"Sub", 2, Takes::numbers, Gives::same, apply<ExprOp::sub>, [](N, Doubles x) { return x[0] - x[1]; },
     [](N, Wides x) { return x[0] - x[1]; }},
    {"Sum", kAnyNumber, Takes::numbers, Gives::same, fold<ExprOp::add>, sum<double>, sum<Wide>},
    {"Where", 3, Takes::anything, Gives::chosen, [](N, Exprs x) { return select(x[0], x[1], x[2]); },
     [](N, Doubles x) { return x[0] != 0 ? x[1] : x[2]; }, [](N, Wides x) { return x[0] != 0 ? x[1] : x[2]; }},
    {"Xor", 2, Takes::booleans, Gives::same, apply<ExprOp::ne>, nullptr, [](N, Wides x) { return Wide{x[0] != x[1]}; }},
};

}  // namespace

std::span<const Elementwise> binary_rows() { return kRows; }

}  // namespace mcc::ops
