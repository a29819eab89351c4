// The matrices of winograd.h, and their use on weights and in expressions.
#include "loop/winograd.h"

#include <algorithm>
#include <array>
#include <optional>

#include "loop/build.h"

namespace mcc::loop {

namespace {

// Interpolation points 0, 1, -1, and for larger tiles 2, -2, then 1/2, -1/2.
const std::array<Winograd, 3>& transforms() {
  static const std::array<Winograd, 3> all = {{
      {2,
       {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
       {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
       {{1, 1, 1, 0}, {0, 1, -1, -1}}},
      {4,
       {{4, 0, -5, 0, 1, 0},
        {0, -4, -4, 1, 1, 0},
        {0, 4, -4, -1, 1, 0},
        {0, -2, -1, 2, 1, 0},
        {0, 2, -1, -2, 1, 0},
        {0, 4, 0, -5, 0, 1}},
       {{1. / 4, 0, 0},
        {-1. / 6, -1. / 6, -1. / 6},
        {-1. / 6, 1. / 6, -1. / 6},
        {1. / 24, 1. / 12, 1. / 6},
        {1. / 24, -1. / 12, 1. / 6},
        {0, 0, 1}},
       {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}},
      {6,
       {{1, 0, -5.25, 0, 5.25, 0, -1, 0},
        {0, 1, 1, -4.25, -4.25, 1, 1, 0},
        {0, -1, 1, 4.25, -4.25, -1, 1, 0},
        {0, .5, .25, -2.5, -1.25, 2, 1, 0},
        {0, -.5, .25, 2.5, -1.25, -2, 1, 0},
        {0, 2, 4, -2.5, -5, .5, 1, 0},
        {0, -2, 4, 2.5, -5, -.5, 1, 0},
        {0, -1, 0, 5.25, 0, -5.25, 0, 1}},
       {{1, 0, 0},
        {-2. / 9, -2. / 9, -2. / 9},
        {-2. / 9, 2. / 9, -2. / 9},
        {1. / 90, 1. / 45, 2. / 45},
        {1. / 90, -1. / 45, 2. / 45},
        {32. / 45, 16. / 45, 8. / 45},
        {32. / 45, -16. / 45, 8. / 45},
        {0, 0, 1}},
       {{1, 1, 1, 1, 1, 1, 1, 0},
        {0, 1, -1, 2, -2, .5, -.5, 0},
        {0, 1, 1, 4, 4, .25, .25, 0},
        {0, 1, -1, 8, -8, .125, -.125, 0},
        {0, 1, 1, 16, 16, .0625, .0625, 0},
        {0, 1, -1, 32, -32, .03125, -.03125, 1}}},
  }};
  return all;
}

// values[index] as selects on the index; a constant where all are equal.
Expr by_case(const Expr& index, const std::vector<double>& values) {
  Expr result = const_float(values.back());
  for (size_t k = 0; k + 1 < values.size(); k++) {
    if (values[k] == values.back()) continue;
    result = select(binary(ExprOp::eq, index, const_int(static_cast<i64>(k))), const_float(values[k]), result);
  }
  return result;
}

Expr is_zero(const Expr& index, const std::vector<double>& values) {
  std::optional<Expr> any;
  for (size_t k = 0; k < values.size(); k++) {
    if (values[k] != 0) continue;
    const Expr here = binary(ExprOp::eq, index, const_int(static_cast<i64>(k)));
    any = any ? *any || here : here;
  }
  return *any;
}

// values[index] * x; where the value is zero -0.0, which leaves every sum as it is.
std::optional<Expr> term(const Expr& index, const std::vector<double>& values, const Expr& x) {
  const auto zeros = std::count(values.begin(), values.end(), 0.0);
  if (zeros == static_cast<i64>(values.size())) return std::nullopt;
  const Expr product = by_case(index, values) * x;
  return zeros == 0 ? product : select(is_zero(index, values), const_float(-0.0), product);
}

std::optional<Expr> plus(std::optional<Expr> a, std::optional<Expr> b) {
  if (!a) return b;
  return b ? *a + *b : *a;
}

std::vector<double> column(const Matrix& matrix, i64 c) {
  std::vector<double> values;
  for (const std::vector<double>& row : matrix) values.push_back(row[at(c)]);
  return values;
}

// The sign of the first odd column that is not zero, for each row.
std::vector<double> odd_signs(const Matrix& matrix) {
  std::vector<double> signs;
  for (const std::vector<double>& row : matrix) {
    double sign = 1;
    for (size_t c = 1; c < row.size(); c += 2) {
      if (row[c] == 0) continue;
      sign = row[c] < 0 ? -1 : 1;
      break;
    }
    signs.push_back(sign);
  }
  return signs;
}

}  // namespace

const Winograd* winograd(i64 m) {
  for (const Winograd& w : transforms()) {
    if (w.m == m) return &w;
  }
  return nullptr;
}

Expr times_bt(const Winograd& w, const Expr& row, const std::function<Expr(i64)>& x) {
  const std::vector<double> signs = odd_signs(w.bt);
  std::optional<Expr> even, odd;
  for (i64 c = 0; c < w.tile(); c++) {
    std::vector<double> values = column(w.bt, c);
    if (c % 2 == 0) {
      even = plus(even, term(row, values, x(c)));
    } else {
      for (size_t k = 0; k < values.size(); k++) values[k] *= signs[k];
      odd = plus(odd, term(row, values, x(c)));
    }
  }
  return *even + by_case(row, signs) * *odd;
}

Expr times_at(const Winograd& w, const Expr& row, const std::function<Expr(i64)>& x) {
  std::optional<Expr> sum = term(row, column(w.at, 0), x(0));
  for (i64 c = 1; c + 1 < w.tile() - 1; c += 2) {
    const std::vector<double> left = column(w.at, c), right = column(w.at, c + 1);
    std::vector<double> signs;
    for (size_t k = 0; k < left.size(); k++) signs.push_back(right[k] == left[k] ? 1 : -1);
    sum = plus(sum, term(row, left, x(c) + by_case(row, signs) * x(c + 1)));
  }
  return *plus(sum, term(row, column(w.at, w.tile() - 1), x(w.tile() - 1)));
}

Tensor winograd_weights(const Tensor& weights, i64 m) {
  constexpr size_t kBlock = 256;  // pairs of channels, so that each of the many rows is written in long pieces
  const Winograd& w = *winograd(m);
  const auto pairs = static_cast<size_t>(weights.size() / 9), a = static_cast<size_t>(w.tile());
  Tensor result({weights.type.dtype, {w.tile() * w.tile(), weights.size() / 9}});
  const float* from = weights.data<float>().data();
  float* to = result.data<float>().data();
  double left[3][kBlock];  // G g, one row
  for (size_t first = 0; first < pairs; first += kBlock) {
    const size_t count = std::min(kBlock, pairs - first);
    for (size_t i = 0; i < a; i++) {
      const std::vector<double>& gi = w.g[i];
      for (size_t c = 0; c < 3; c++) {
        for (size_t p = 0; p < count; p++) {
          const float* g = from + 9 * (first + p) + c;
          left[c][p] = gi[0] * g[0] + gi[1] * g[3] + gi[2] * g[6];
        }
      }
      for (size_t j = 0; j < a; j++) {
        const std::vector<double>& gj = w.g[j];
        float* row = to + (i * a + j) * pairs + first;
        for (size_t p = 0; p < count; p++)
          row[p] = static_cast<float>(left[0][p] * gj[0] + left[1][p] * gj[1] + left[2][p] * gj[2]);
      }
    }
  }
  return result;
}

}  // namespace mcc::loop
