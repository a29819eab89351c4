// Elementwise operators of one input. Formulas are those of the ONNX operator documents, written so that they neither
// overflow nor lose their value for large |x| (Softplus, Mish, Elu).
#include <cmath>

#include "ops/elementwise.h"

namespace mcc::ops {

namespace {

using namespace loop;
using N = const Node&;

double attr(N n, std::string_view name, double otherwise) { return n.attrs.get_float(name, otherwise); }

Expr exp_minus_1(Expr x) {
  Expr one = like(x, 1);
  return unary(ExprOp::exp, std::move(x)) - one;
}

Expr clamp01(Expr x) {
  Expr zero = like(x, 0), one = like(x, 1);
  return max(zero, min(one, std::move(x)));
}

double clamp01(double x) { return std::isnan(x) ? x : std::fmax(0, std::fmin(1, x)); }

// log(1 + exp(x))
Expr softplus(Expr x) {
  Expr tail = unary(ExprOp::exp, unary(ExprOp::neg, unary(ExprOp::abs, x)));
  return max(x, like(x, 0)) + unary(ExprOp::log, tail + like(x, 1));
}

double softplus(double x) { return std::isnan(x) ? x : std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Gelu by erf, not by tanh.
bool is_exact(N n) {
  const std::string approximate = n.attrs.get_string("approximate", "none");
  if (approximate != "none" && approximate != "tanh") fail("approximate is '{}', not none or tanh", approximate);
  return approximate == "none";
}

Expr gelu(N n, Exprs x) {
  Expr half = like(x[0], 0.5) * x[0];
  if (is_exact(n)) return half * (unary(ExprOp::erf, x[0] * like(x[0], M_SQRT1_2)) + like(x[0], 1));
  Expr cube = x[0] * x[0] * x[0] * like(x[0], 0.044715);
  return half * (unary(ExprOp::tanh, (x[0] + cube) * like(x[0], std::sqrt(2 / M_PI))) + like(x[0], 1));
}

double gelu(N n, Doubles x) {
  if (is_exact(n)) return 0.5 * x[0] * (1 + std::erf(x[0] * M_SQRT1_2));
  return 0.5 * x[0] * (1 + std::tanh(std::sqrt(2 / M_PI) * (x[0] + 0.044715 * x[0] * x[0] * x[0])));
}

// max first, as ONNX: where min > max, every element becomes max. NaN stays.
Expr clip(N n, Exprs x) {
  Expr y = x[0];
  if (n.attrs.has("min")) y = max(y, like(y, attr(n, "min", 0)));
  if (n.attrs.has("max")) y = min(y, like(y, attr(n, "max", 0)));
  return y;
}

double clip(N n, Doubles x) {
  double y = x[0];
  if (n.attrs.has("min") && y < attr(n, "min", 0)) y = attr(n, "min", 0);
  if (n.attrs.has("max") && y > attr(n, "max", 0)) y = attr(n, "max", 0);
  return y;
}

Wide clip(N n, Wides x) {
  Wide y = x[0];
  if (n.attrs.has("min") && static_cast<double>(y) < attr(n, "min", 0)) y = static_cast<Wide>(attr(n, "min", 0));
  if (n.attrs.has("max") && static_cast<double>(y) > attr(n, "max", 0)) y = static_cast<Wide>(attr(n, "max", 0));
  return y;
}

Expr is_inf(N n, Exprs x) {
  Expr zero = like(x[0], 0), inf = unary(ExprOp::is_inf, x[0]);
  bool negative = n.attrs.get_int("detect_negative", 1) != 0, positive = n.attrs.get_int("detect_positive", 1) != 0;
  if (negative && positive) return inf;
  if (!negative && !positive) return const_int(0, DType::boolean);
  return inf && (negative ? x[0] < zero : zero < x[0]);
}

double is_inf(N n, Doubles x) {
  return std::isinf(x[0]) && n.attrs.get_int(x[0] < 0 ? "detect_negative" : "detect_positive", 1) != 0;
}

// Integers by way of f64, since lambd and bias need not be whole.
Expr shrink(N n, Exprs x) {
  double lambda = attr(n, "lambd", 0.5), bias = attr(n, "bias", 0);
  Expr value = is_float(x[0].dtype) ? x[0] : loop::cast(DType::f64, x[0]);
  Expr high = select(like(value, lambda) < value, value - like(value, bias), like(value, 0));
  return select(value < like(value, -lambda), value + like(value, bias), high);
}

double shrink(N n, Doubles x) {
  double lambda = attr(n, "lambd", 0.5), bias = attr(n, "bias", 0);
  return x[0] < -lambda ? x[0] + bias : x[0] > lambda ? x[0] - bias : 0;
}

constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

template <ExprOp op>
Expr apply(N, Exprs x) {
  return unary(op, x[0]);
}

template <double (*f)(double)>
double apply(N, Doubles x) {
  return f(x[0]);
}

Expr same(N, Exprs x) { return x[0]; }
double same(N, Doubles x) { return x[0]; }
Wide same(N, Wides x) { return x[0]; }

// A row for a function that loop programs and the C library both have.
template <ExprOp op, double (*f)(double)>
constexpr Elementwise on_floats(std::string_view name) {
  return {name, 1, Takes::floats, Gives::same, apply<op>, apply<f>};
}

constexpr Elementwise kRows[] = {
    on_floats<ExprOp::acos, std::acos>("Acos"),
    on_floats<ExprOp::acosh, std::acosh>("Acosh"),
    on_floats<ExprOp::asin, std::asin>("Asin"),
    on_floats<ExprOp::asinh, std::asinh>("Asinh"),
    on_floats<ExprOp::atan, std::atan>("Atan"),
    on_floats<ExprOp::atanh, std::atanh>("Atanh"),
    on_floats<ExprOp::ceil, std::ceil>("Ceil"),
    on_floats<ExprOp::cos, std::cos>("Cos"),
    on_floats<ExprOp::cosh, std::cosh>("Cosh"),
    on_floats<ExprOp::erf, std::erf>("Erf"),
    on_floats<ExprOp::exp, std::exp>("Exp"),
    on_floats<ExprOp::floor, std::floor>("Floor"),
    on_floats<ExprOp::log, std::log>("Log"),
    on_floats<ExprOp::round_even, std::nearbyint>("Round"),
    on_floats<ExprOp::sigmoid, sigmoid>("Sigmoid"),
    on_floats<ExprOp::sin, std::sin>("Sin"),
    on_floats<ExprOp::sinh, std::sinh>("Sinh"),
    on_floats<ExprOp::sqrt, std::sqrt>("Sqrt"),
    on_floats<ExprOp::tan, std::tan>("Tan"),
    on_floats<ExprOp::tanh, std::tanh>("Tanh"),
    {"Abs", 1, Takes::numbers, Gives::same,
     [](N, Exprs x) { return is_unsigned(x[0].dtype) ? x[0] : unary(ExprOp::abs, x[0]); },
     [](N, Doubles x) { return std::fabs(x[0]); }, [](N, Wides x) { return x[0] < 0 ? -x[0] : x[0]; }},
    {"BitwiseNot", 1, Takes::integers, Gives::same, apply<ExprOp::bit_not>, nullptr, [](N, Wides x) { return ~x[0]; }},
    {"Cast", 1, Takes::anything, Gives::named, same, same, same},
    {"Celu", 1, Takes::floats, Gives::same,
     [](N n, Exprs x) {
       double alpha = attr(n, "alpha", 1);
       return select(x[0] < like(x[0], 0), like(x[0], alpha) * exp_minus_1(x[0] / like(x[0], alpha)), x[0]);
     },
     [](N n, Doubles x) {
       double alpha = attr(n, "alpha", 1);
       return x[0] < 0 ? alpha * std::expm1(x[0] / alpha) : x[0];
     }},
    {"Clip", 1, Takes::numbers, Gives::same, clip, clip, clip},
    {"Elu", 1, Takes::floats, Gives::same,
     [](N n, Exprs x) {
       return select(x[0] < like(x[0], 0), like(x[0], attr(n, "alpha", 1)) * exp_minus_1(x[0]), x[0]);
     },
     [](N n, Doubles x) { return x[0] < 0 ? attr(n, "alpha", 1) * std::expm1(x[0]) : x[0]; }},
    {"Gelu", 1, Takes::floats, Gives::same, gelu, gelu, nullptr, [](N n) { is_exact(n); }},
    {"HardSigmoid", 1, Takes::floats, Gives::same,
     [](N n, Exprs x) { return clamp01(x[0] * like(x[0], attr(n, "alpha", 0.2)) + like(x[0], attr(n, "beta", 0.5))); },
     [](N n, Doubles x) { return clamp01(attr(n, "alpha", 0.2) * x[0] + attr(n, "beta", 0.5)); }},
    {"HardSwish", 1, Takes::floats, Gives::same,
     [](N, Exprs x) { return x[0] * clamp01(x[0] * like(x[0], 1.0 / 6) + like(x[0], 0.5)); },
     [](N, Doubles x) { return x[0] * clamp01(x[0] / 6 + 0.5); }},
    {"Identity", 1, Takes::anything, Gives::same, same, same, same},
    {"IsInf", 1, Takes::floats, Gives::truth, is_inf, is_inf},
    {"IsNaN", 1, Takes::floats, Gives::truth, apply<ExprOp::is_nan>,
     [](N, Doubles x) { return static_cast<double>(std::isnan(x[0])); }},
    {"LeakyRelu", 1, Takes::floats, Gives::same,
     [](N n, Exprs x) { return select(x[0] < like(x[0], 0), x[0] * like(x[0], attr(n, "alpha", 0.01)), x[0]); },
     [](N n, Doubles x) { return x[0] < 0 ? attr(n, "alpha", 0.01) * x[0] : x[0]; }},
    {"Mish", 1, Takes::floats, Gives::same, [](N, Exprs x) { return x[0] * unary(ExprOp::tanh, softplus(x[0])); },
     [](N, Doubles x) { return x[0] * std::tanh(softplus(x[0])); }},
    {"Neg", 1, Takes::numbers, Gives::same, apply<ExprOp::neg>, [](N, Doubles x) { return -x[0]; },
     [](N, Wides x) { return -x[0]; }},
    {"Not", 1, Takes::booleans, Gives::same, apply<ExprOp::logical_not>, nullptr,
     [](N, Wides x) { return Wide{x[0] == 0}; }},
    {"Reciprocal", 1, Takes::floats, Gives::same, [](N, Exprs x) { return like(x[0], 1) / x[0]; },
     [](N, Doubles x) { return 1 / x[0]; }},
    {"Relu", 1, Takes::numbers, Gives::same, [](N, Exprs x) { return max(x[0], like(x[0], 0)); },
     [](N, Doubles x) { return x[0] < 0 ? 0 : x[0]; }, [](N, Wides x) { return x[0] < 0 ? 0 : x[0]; }},
    {"Selu", 1, Takes::floats, Gives::same,
     [](N n, Exprs x) {
       double alpha = attr(n, "alpha", kSeluAlpha), gamma = attr(n, "gamma", kSeluGamma);
       Expr low = like(x[0], alpha * gamma) * exp_minus_1(x[0]);
       return select(like(x[0], 0) < x[0], like(x[0], gamma) * x[0], low);
     },
     [](N n, Doubles x) {
       double alpha = attr(n, "alpha", kSeluAlpha), gamma = attr(n, "gamma", kSeluGamma);
       return gamma * (x[0] > 0 ? x[0] : alpha * std::expm1(x[0]));
     }},
    {"Shrink", 1, Takes::numbers, Gives::same, shrink, shrink},
    {"Sign", 1, Takes::numbers, Gives::same, apply<ExprOp::sign>,
     [](N, Doubles x) { return x[0] > 0   ? 1
                               : x[0] < 0 ? -1
                                          : x[0]; },
     [](N, Wides x) { return Wide{x[0] > 0} - Wide{x[0] < 0}; }},
    {"Silu", 1, Takes::floats, Gives::same, [](N, Exprs x) { return x[0] * unary(ExprOp::sigmoid, x[0]); },
     [](N, Doubles x) { return x[0] * sigmoid(x[0]); }},
    {"Softplus", 1, Takes::floats, Gives::same, [](N, Exprs x) { return softplus(x[0]); },
     [](N, Doubles x) { return softplus(x[0]); }},
    {"Softsign", 1, Takes::floats, Gives::same,
     [](N, Exprs x) { return x[0] / (unary(ExprOp::abs, x[0]) + like(x[0], 1)); },
     [](N, Doubles x) { return x[0] / (1 + std::fabs(x[0])); }},
    {"ThresholdedRelu", 1, Takes::floats, Gives::same,
     [](N n, Exprs x) { return select(like(x[0], attr(n, "alpha", 1)) < x[0], x[0], like(x[0], 0)); },
     [](N n, Doubles x) { return x[0] > attr(n, "alpha", 1) ? x[0] : 0; }},
};

}  // namespace

std::span<const Elementwise> unary_rows() { return kRows; }

}  // namespace mcc::ops
