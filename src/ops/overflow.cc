// See overflow.h.
//
// How far the partial results of a node can go, whatever the order, is found with its own reference: on the magnitudes
// of its inputs as f64 it gives the sum of the magnitudes of all terms, and no partial sum is larger. What the operator
// does with the sum is undone (a mean is multiplied by the number of its terms, a root squared). Where that does not
// work (differences to a mean, states) the bound is made of the largest magnitudes and the number of terms. A row of
// the table for each operator that adds or multiplies more than two numbers; all others compute what their reference
// does.
//
// Sums of f16 and bf16 are kept in f32, so of these only the last step can pass the range of the type itself: that
// depends on the order where the result is close to the range's end.
#include "ops/overflow.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "loop/winograd.h"
#include "ops/evaluate.h"
#include "ops/lib.h"
#include "ops/pool.h"

namespace mcc::ops {
namespace {

using Inputs = std::span<const Tensor* const>;
using Outputs = std::span<const Tensor>;

constexpr double kCloseToTheEnd = 1.0 / 64;

double magnitude(double x) { return std::abs(x); }
double factor(double x) { return std::max(1.0, std::abs(x)); }
double itself(double x) { return x; }

double largest(const Tensor& x) {
  double most = 0;
  for (i64 i = 0; i < x.size(); i++) most = std::max(most, std::abs(x.get(i)));
  return most;
}

double largest(Inputs in, size_t i) { return present(in, i) ? largest(*in[i]) : 0; }

// The first output of the node on other inputs: floats become f64 and map(float).
Tensor evaluated(const Node& node, Inputs in, double (*map)(double)) {
  std::vector<Tensor> mapped;
  std::vector<TensorType> types;
  for (const Tensor* x : in) {
    mapped.push_back(x ? *x : Tensor());
    if (x && is_float(x->type.dtype)) {
      mapped.back() = Tensor({DType::f64, x->type.shape});
      for (i64 i = 0; i < x->size(); i++) mapped.back().set(i, map(x->get(i)));
    }
    types.push_back(x ? mapped.back().type : missing_type());
  }
  std::vector<const Tensor*> pointers;
  for (size_t i = 0; i < in.size(); i++) pointers.push_back(in[i] ? &mapped[i] : nullptr);
  return evaluate(node, pointers, types)[0];
}

double count(i64 n) { return static_cast<double>(n); }
double terms(Inputs in, Outputs out) { return count(in[0]->size()) / count(std::max<i64>(out[0].size(), 1)); }

// --- bounds of what a node's partial results reach

double sum(const Node& node, Inputs in, Outputs) {
  Node positive = node;
  for (const char* scale : {"alpha", "beta"})  // of Gemm
    if (node.attrs.has(scale)) positive.attrs.set(scale, std::abs(node.attrs.get_float(scale, 1)));
  return largest(evaluated(positive, in, magnitude));
}

double product(const Node& node, Inputs in, Outputs) { return largest(evaluated(node, in, factor)); }
double mean(const Node& node, Inputs in, Outputs out) { return sum(node, in, out) * terms(in, out); }
double mean_of_inputs(const Node& node, Inputs in, Outputs out) { return sum(node, in, out) * count(std::ssize(in)); }
double root(const Node& node, Inputs in, Outputs out) { return std::pow(sum(node, in, out), 2); }
double logarithm(const Node&, Inputs in, Outputs out) { return largest(*in[0]) * terms(in, out); }

double pool(const Node& node, Inputs in, Outputs out) {
  const PoolShape shape = pool_shape(node, {&in[0]->type, 1});
  const double pooled = sum(node, in, out);
  return shape.kind == PoolKind::lp ? std::pow(pooled, count(shape.p)) : pooled * count(elements(shape.window.kernel));
}

double largest_row_sum(const loop::Matrix& matrix) {
  double most = 0;
  for (const std::vector<double>& row : matrix) {
    double total = 0;
    for (const double x : row) total += std::abs(x);
    most = std::max(most, total);
  }
  return most;
}

// Winograd's algorithm, by which a 3x3 convolution may be computed, adds larger multiples of the inputs.
bool may_be_winograd(const Node& node, const Shape& weights) {
  const std::vector<i64> ones = {1, 1};
  return weights.size() == 4 && weights[2] == 3 && weights[3] == 3 && node.attrs.get_int("group", 1) == 1 &&
         node.attrs.get_ints("strides", ones) == ones && node.attrs.get_ints("dilations", ones) == ones;
}

double convolution(const Node& node, Inputs in, Outputs out) {
  const double direct = sum(node, in, out);
  const Shape& weights = in[1]->type.shape;
  if (!may_be_winograd(node, weights)) return direct;
  const loop::Winograd& w = *loop::winograd(6);  // the largest tiles
  const double growth = largest_row_sum(w.bt) * largest_row_sum(w.g) * largest_row_sum(w.at);
  return std::max(direct, growth * growth * count(weights[1]) * largest(*in[0]) * largest(*in[1]));
}

// Sums of squares, of differences to the mean among others.
double squares(const Node&, Inputs in, Outputs) { return std::pow(2 * largest(*in[0]), 2) * count(in[0]->size()); }

double batch_norm(const Node& node, Inputs in, Outputs) {
  const double epsilon = node.attrs.get_float("epsilon", 1e-5);
  double scale = 0;
  for (i64 c = 0; c < in[1]->size(); c++)
    scale = std::max(scale, std::abs(in[1]->get(c)) / std::sqrt(in[4]->get(c) + epsilon));
  return (largest(*in[0]) + largest(*in[3])) * scale + largest(*in[2]);
}

// W x + R h + the biases + P c, with c at most what it was and 1 more in every step.
double recurrent(const Node&, Inputs in, Outputs out) {
  const Shape &x = in[0]->type.shape, &w = in[1]->type.shape, &r = in[2]->type.shape;
  double state = std::max(1.0, largest(in, 5));
  for (const Tensor& y : out) state = std::max(state, largest(y));
  return largest(*in[1]) * largest(*in[0]) * count(w[2]) + largest(*in[2]) * state * count(r[2]) + 2 * largest(in, 3) +
         largest(in, 7) * (largest(in, 6) + count(std::max(x[0], x[1])));
}

double determinant(const Node&, Inputs in, Outputs) {
  const double n = count(in[0]->type.shape.back());
  return std::pow(2 * n * std::max(1.0, largest(*in[0])), n);
}

// Means of interpolated elements; how many, the data say.
double sampled(const Node&, Inputs in, Outputs) { return 8 * largest(*in[0]) * count(in[0]->size()); }

struct Row {
  std::string_view op;
  double (*bound)(const Node&, Inputs in, Outputs out);
};

constexpr Row kRows[] = {
    {"AveragePool", pool},
    {"BatchNormalization", batch_norm},
    {"Conv", convolution},
    {"ConvTranspose", sum},
    {"CumSum", sum},
    {"DeformSample", sampled},
    {"Det", determinant},
    {"Einsum", sum},
    {"GRU", recurrent},
    {"Gemm", sum},
    {"GlobalAveragePool", pool},
    {"GlobalLpPool", pool},
    {"GridSample", sampled},
    {"GroupNormalization", squares},
    {"InstanceNormalization", squares},
    {"LRN", squares},
    {"LSTM", recurrent},
    {"LayerNormalization", squares},
    {"LpNormalization", squares},
    {"LpPool", pool},
    {"MatMul", sum},
    {"Mean", mean_of_inputs},
    {"MeanVarianceNormalization", squares},
    {"RNN", recurrent},
    {"ReduceL1", sum},
    {"ReduceL2", root},
    {"ReduceLogSum", logarithm},
    {"ReduceMean", mean},
    {"ReduceProd", product},
    {"ReduceSum", sum},
    {"ReduceSumSquare", sum},
    {"Resize", sampled},
    {"RoiAlign", sampled},
    {"ScatterElements", sum},
    {"ScatterND", sum},
    {"Sum", sum},
};

bool all_finite(Inputs in) {
  return std::all_of(in.begin(), in.end(), [](const Tensor* x) {
    for (i64 i = 0; x && is_float(x->type.dtype) && i < x->size(); i++)
      if (!std::isfinite(x->get(i))) return false;
    return true;
  });
}

// A result of the node that is about the largest number of its type; 0 if there is none.
double result_at_the_end(const Node& node, Inputs in, DType dtype) {
  const double range = largest_number(dtype);
  const Tensor exact = evaluated(node, in, itself);
  for (i64 i = 0; i < exact.size(); i++)
    if (std::abs(std::abs(exact.get(i)) - range) <= range * kCloseToTheEnd) return std::abs(exact.get(i));
  return 0;
}

std::optional<Overflow> overflow_of(const Node& node, Inputs in, Outputs out) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op == node.op; });
  if (row == std::end(kRows) || !is_float(in[0]->type.dtype) || !all_finite(in)) return std::nullopt;
  const DType dtype = in[0]->type.dtype, kept = compute_type(dtype);
  const double reached = row->bound(node, in, out);
  if (!(reached <= largest_number(kept))) return Overflow{describe(node), reached, kept, largest_number(kept)};
  if (kept == dtype) return std::nullopt;
  const double result = result_at_the_end(node, in, dtype);
  if (result == 0) return std::nullopt;
  return Overflow{describe(node), result, dtype, largest_number(dtype)};
}

// Which nodes the values depend on.
std::vector<bool> nodes_behind(const Graph& graph, std::span<const ValueId> of) {
  const std::vector<int> made_by = producers(graph);
  std::vector<bool> found(graph.nodes.size(), false);
  std::vector<ValueId> open(of.begin(), of.end());
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    if (v == kNone || made_by[at(v)] < 0 || found[at(made_by[at(v)])]) continue;
    found[at(made_by[at(v)])] = true;
    const Node& node = graph.nodes[at(made_by[at(v)])];
    open.insert(open.end(), node.in.begin(), node.in.end());
  }
  return found;
}

}  // namespace
}  // namespace mcc::ops

namespace mcc {

double largest_number(DType dtype) {
  switch (dtype) {
    case DType::f64: return std::numeric_limits<double>::max();
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.FEp127;
    default: MCC_CHECK(dtype == DType::f32); return std::numeric_limits<float>::max();
  }
}

std::optional<Overflow> find_overflow(const Graph& graph, std::span<const Tensor> inputs, std::span<const ValueId> of) {
  const std::vector<bool> matters = ops::nodes_behind(graph, of);
  std::optional<Overflow> found;
  evaluate(graph, inputs, [&](const Node& node, std::span<const Tensor* const> in, std::span<const Tensor> out) {
    const auto place = static_cast<size_t>(&node - graph.nodes.data());
    if (!found && matters[place]) found = ops::overflow_of(node, in, out);
  });
  return found;
}

}  // namespace mcc
