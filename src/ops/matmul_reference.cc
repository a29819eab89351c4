// References of the matrix products, in double for floats and u64 (which wraps as all integers do) for integers.
#include "ops/gemm.h"
#include "ops/matmul.h"

namespace mcc::ops {
namespace {

template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  if constexpr (std::is_same_v<T, double>) return to_doubles(tensor);
  const std::vector<i64> values = to_ints(tensor);
  return {values.begin(), values.end()};
}

void store(Tensor& to, i64 i, double value) { to.set(i, value); }
void store(Tensor& to, i64 i, u64 value) { to.set_int(i, static_cast<i64>(value)); }

// An attribute as a factor: of integers its whole part, as Tensor::set makes it.
template <typename T>
T scale_of(double value) {
  if constexpr (std::is_same_v<T, double>) return value;
  Tensor whole({DType::i64, {}});
  whole.set(0, value);
  return static_cast<T>(whole.get_int(0));
}

// Every matrix of the tensor transposed.
template <typename T>
std::vector<T> matrices_transposed(const std::vector<T>& from, i64 rows, i64 columns) {
  std::vector<T> to(from.size());
  for (i64 first = 0; first < static_cast<i64>(from.size()); first += rows * columns)
    for (i64 r = 0; r < rows; r++)
      for (i64 c = 0; c < columns; c++) to[at(first + c * rows + r)] = from[at(first + r * columns + c)];
  return to;
}

Shape batch_of(const Shape& shape) { return shape.size() > 2 ? Shape(shape.begin(), shape.end() - 2) : Shape{}; }

template <typename T>
std::vector<T> product(const Product& p, const Tensor& a, const Tensor& b) {
  std::vector<T> left = values_of<T>(a), right = values_of<T>(b);
  if (p.trans_a) left = matrices_transposed(left, p.k, p.m);
  if (p.trans_b) right = matrices_transposed(right, p.n, p.k);
  std::vector<T> sums(at(elements(p.batch) * p.m * p.n));
  Shape batch_a = batch_of(a.type.shape), batch_b = batch_of(b.type.shape);
  for_each_index(p.batch, [&](const Index& index, i64 flat) {
    gemm(p.m, p.n, p.k, left.data() + flat_broadcast(batch_a, index) * p.m * p.k,
         right.data() + flat_broadcast(batch_b, index) * p.k * p.n, sums.data() + flat * p.m * p.n);
  });
  return sums;
}

template <typename T>
void matmul(const Product& p, const Tensor& a, const Tensor& b, Tensor& y) {
  std::vector<T> sums = product<T>(p, a, b);
  for (i64 i = 0; i < y.size(); i++) store(y, i, sums[at(i)]);
}

template <typename T>
void gemm_with_c(const Node& node, const Product& p, const Tensor& a, const Tensor& b, const Tensor* c, Tensor& y) {
  T alpha = scale_of<T>(node.attrs.get_float("alpha", 1)), beta = scale_of<T>(node.attrs.get_float("beta", 1));
  std::vector<T> sums = product<T>(p, a, b), added = c ? values_of<T>(*c) : std::vector<T>{};
  for_each_index(y.type.shape, [&](const Index& index, i64 flat) {
    T value = alpha * sums[at(flat)];
    if (c) value += beta * added[at(flat_broadcast(c->type.shape, index))];
    store(y, flat, value);
  });
}

// Elements between neighbours along each of the labels; a label that occurs twice walks the diagonal.
Shape label_strides(const std::string& labels, const std::string& own, const Shape& shape) {
  Shape strides(labels.size(), 0), own_strides = row_major_strides(shape);
  for (size_t d = 0; d < own.size(); d++)
    if (size_t l = labels.find(own[d]); l != std::string::npos && shape[d] > 1) strides[l] += own_strides[d];
  return strides;
}

// The flat offset into an operand at every index over the labels.
std::vector<i64> offsets(const Einsum& e, const std::string& labels, const std::string& own, const Shape& shape) {
  Shape strides = label_strides(labels, own, shape);
  std::vector<i64> list;
  for_each_index(e.extents_of(labels), [&](const Index& index, i64) {
    i64 offset = 0;
    for (size_t l = 0; l < index.size(); l++) offset += index[l] * strides[l];
    list.push_back(offset);
  });
  return list;
}

template <typename T>
void einsum(const Einsum& e, std::span<const Tensor* const> in, Tensor& y) {
  struct Operand {
    std::vector<T> values;
    std::vector<i64> outer, inner;  // offsets by output element and by summed element
  };
  std::vector<Operand> operands;
  for (size_t i = 0; i < in.size(); i++) {
    const Shape& shape = in[i]->type.shape;
    operands.push_back({values_of<T>(*in[i]), offsets(e, e.out, e.in[i], shape), offsets(e, e.summed, e.in[i], shape)});
  }
  i64 terms = elements(e.extents_of(e.summed));
  for (i64 o = 0; o < y.size(); o++) {
    T sum = 0;
    for (i64 r = 0; r < terms; r++) {
      T factor = 1;
      for (const Operand& x : operands) factor *= x.values[at(x.outer[at(o)] + x.inner[at(r)])];
      sum += factor;
    }
    store(y, o, sum);
  }
}

}  // namespace

void matmul_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  Product p = product_of(node, in[0]->type.shape, in[1]->type.shape);
  is_float(in[0]->type.dtype) ? matmul<double>(p, *in[0], *in[1], out[0]) : matmul<u64>(p, *in[0], *in[1], out[0]);
}

void gemm_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  Product p = product_of(node, in[0]->type.shape, in[1]->type.shape);
  const Tensor* c = in.size() > 2 ? in[2] : nullptr;
  is_float(in[0]->type.dtype) ? gemm_with_c<double>(node, p, *in[0], *in[1], c, out[0])
                              : gemm_with_c<u64>(node, p, *in[0], *in[1], c, out[0]);
}

void einsum_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  std::vector<TensorType> types;
  for (const Tensor* x : in) types.push_back(x->type);
  Einsum e = parse_einsum(node.attrs.get_string("equation", ""), types);
  is_float(types[0].dtype) ? einsum<double>(e, in, out[0]) : einsum<u64>(e, in, out[0]);
}

}  // namespace mcc::ops
