// References of LSTM, GRU and RNN: the equations of the ONNX specification, step by step and in double, one sequence of
// one direction at a time.
#include <algorithm>
#include <cmath>

#include "ops/gemm.h"
#include "ops/recurrent.h"

namespace mcc::ops {
namespace {

using Doubles = std::vector<double>;

double activate(const Activation& f, double x) {
  if (f.name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (f.name == "tanh") return std::tanh(x);
  if (f.name == "relu") return x > 0 ? x : 0;
  if (f.name == "affine") return f.alpha * x + f.beta;
  if (f.name == "leakyrelu") return x >= 0 ? x : f.alpha * x;
  if (f.name == "thresholdedrelu") return x > f.alpha ? x : 0;
  if (f.name == "scaledtanh") return f.alpha * std::tanh(f.beta * x);
  if (f.name == "hardsigmoid") return std::clamp(f.alpha * x + f.beta, 0.0, 1.0);
  if (f.name == "elu") return x >= 0 ? x : f.alpha * std::expm1(x);
  if (f.name == "softsign") return x / (1 + std::abs(x));
  MCC_CHECK(f.name == "softplus");
  return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0);
}

// Weights of one direction; the matrices transposed, so that rows of gates are contiguous sums.
struct Cell {
  const Recurrent& r;
  const std::vector<Activation>& activations;
  Doubles w, recurrence;   // [I][G*H], [H][G*H]
  Doubles bias_w, bias_r;  // [G*H]
  Doubles peephole;        // [3*H], i o f
  Doubles h, c;            // the state

  double apply(size_t i, double x) const {
    if (r.clip > 0) x = std::clamp(x, -r.clip, r.clip);
    return activate(activations[i], x);
  }
  Doubles times(const Doubles& row, const Doubles& matrix) const {
    Doubles sums(at(r.rows()));
    gemm<double>(1, r.rows(), static_cast<i64>(row.size()), row.data(), matrix.data(), sums.data());
    return sums;
  }
  void step(const Doubles& x);
  void step_lstm(const Doubles& xw, const Doubles& hr);
  void step_gru(const Doubles& xw, const Doubles& hr);
};

void Cell::step_lstm(const Doubles& xw, const Doubles& hr) {
  size_t n = at(r.hidden);
  for (size_t j = 0; j < n; j++) {
    auto sum = [&](size_t gate) { return xw[gate * n + j] + hr[gate * n + j]; };
    double i = apply(0, sum(0) + peephole[j] * c[j]);
    double f = r.input_forget ? 1 - i : apply(0, sum(2) + peephole[2 * n + j] * c[j]);
    c[j] = f * c[j] + i * apply(1, sum(3));
    double o = apply(0, sum(1) + peephole[n + j] * c[j]);
    h[j] = o * apply(2, c[j]);
  }
}

void Cell::step_gru(const Doubles& xw, const Doubles& hr) {
  size_t n = at(r.hidden);
  Doubles candidate(n), reset_state(n);
  for (size_t j = 0; j < n; j++) reset_state[j] = apply(0, xw[n + j] + hr[n + j]) * h[j];
  Doubles reset_hr = times(reset_state, recurrence);
  for (size_t j = 0; j < n; j++) {
    double reset = apply(0, xw[n + j] + hr[n + j]), last = 2 * n + j < xw.size() ? xw[2 * n + j] : 0;
    double from_state = r.linear_before_reset ? reset * hr[2 * n + j] : reset_hr[2 * n + j] + bias_r[2 * n + j];
    candidate[j] = apply(1, last + from_state);
  }
  for (size_t j = 0; j < n; j++) {
    double z = apply(0, xw[j] + hr[j]);
    h[j] = (1 - z) * candidate[j] + z * h[j];
  }
}

void Cell::step(const Doubles& x) {
  Doubles xw = times(x, w), hr = times(h, recurrence);
  for (size_t i = 0; i < xw.size(); i++) {
    xw[i] += bias_w[i];
    hr[i] += bias_r[i];
  }
  if (r.kind == CellKind::lstm) return step_lstm(xw, hr);
  if (r.kind == CellKind::gru) return step_gru(xw, hr);
  for (size_t j = 0; j < h.size(); j++) h[j] = apply(0, xw[j] + hr[j]);
}

// Matrix d of a [D, rows, columns] tensor, as [columns][rows].
Doubles transposed_matrix(const Tensor& tensor, i64 d) {
  i64 rows = tensor.type.shape[1], columns = tensor.type.shape[2];
  Doubles matrix(at(rows * columns));
  for (i64 i = 0; i < rows; i++)
    for (i64 j = 0; j < columns; j++) matrix[at(j * rows + i)] = tensor.get((d * rows + i) * columns + j);
  return matrix;
}

// `count` values from position `first` of an optional tensor; zeros if it is missing.
Doubles values_or_zero(std::span<const Tensor* const> in, size_t i, i64 first, i64 count) {
  Doubles values(at(count));
  if (present(in, i))
    for (i64 k = 0; k < count; k++) values[at(k)] = in[i]->get(first + k);
  return values;
}

Cell read_cell(const Recurrent& r, std::span<const Tensor* const> in, i64 d) {
  i64 rows = r.rows();
  return {r,
          r.directions[at(d)].activations,
          transposed_matrix(*in[1], d),
          transposed_matrix(*in[2], d),
          values_or_zero(in, kBias, d * 2 * rows, rows),
          values_or_zero(in, kBias, (d * 2 + 1) * rows, rows),
          values_or_zero(in, kPeephole, d * 3 * r.hidden, 3 * r.hidden),
          {},
          {}};
}

void run_sequence(const Recurrent& r, Cell& cell, std::span<const Tensor* const> in, i64 d, i64 b,
                  std::span<Tensor> out) {
  i64 state_at = flat_index(r.state_shape(), r.state_index<i64>(d, b, 0));
  const i64 length = present(in, kLens) ? std::clamp<i64>(in[kLens]->get_int(b), 0, r.steps) : r.steps;
  cell.h = values_or_zero(in, kInitialH, state_at, r.hidden);
  cell.c = values_or_zero(in, kInitialC, state_at, r.hidden);
  for (i64 s = 0; s < length; s++) {
    i64 t = r.directions[at(d)].reverse ? length - 1 - s : s;
    i64 x_at = flat_index(in[0]->type.shape, r.input_index<i64>(t, b, 0));
    cell.step(values_or_zero(in, 0, x_at, r.input));
    i64 y_at = flat_index(r.output_shape(), r.output_index<i64>(t, d, b, 0));
    for (i64 j = 0; j < r.hidden; j++) out[0].set(y_at + j, cell.h[at(j)]);
  }
  for (size_t o = 1; o < out.size(); o++)
    for (i64 j = 0; j < r.hidden; j++) out[o].set(state_at + j, (o == 1 ? cell.h : cell.c)[at(j)]);
}

}  // namespace

void recurrent_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  std::vector<TensorType> types;
  for (const Tensor* x : in) types.push_back(x ? x->type : missing_type());
  Recurrent r = recurrent_of(node, types);
  for (i64 d = 0; d < r.direction_count(); d++) {
    Cell cell = read_cell(r, in, d);
    for (i64 b = 0; b < r.batch; b++) run_sequence(r, cell, in, d, b, out);
  }
}

}  // namespace mcc::ops
