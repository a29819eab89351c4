// An affine map for each channel, y = scale * x + shift, moves into the constant weights of the convolution or product
// that makes x, if nothing else reads x. BatchNormalization with constant statistics is such a map, as are Mul and Add
// by one constant per channel. Where there is no such producer BatchNormalization becomes Mul and Add, which fuse as
// elementwise.
#include <cmath>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace mcc {
namespace {

using Doubles = std::vector<double>;

struct Affine {
  Doubles scale, shift;  // for each channel
};

// A constant that has one value for each of `channels` on axis 1 of `rank` dimensions, or one value for all.
std::optional<Doubles> per_channel(const Tensor* tensor, i64 channels, i64 rank) {
  if (!tensor || tensor->size() == 0) return std::nullopt;
  if (tensor->size() == 1) return Doubles(at(channels), tensor->get(0));
  const Shape& shape = tensor->type.shape;
  const i64 axis = static_cast<i64>(shape.size()) - rank + 1;
  if (axis < 0 || tensor->size() != channels || shape[at(axis)] != channels) return std::nullopt;
  return to_doubles(*tensor);
}

std::optional<Affine> affine_of_batch_norm(Rewriter& rw, const Node& node) {
  for (size_t i = 1; i < 5; i++)
    if (!rw.constant(node.in[i])) return std::nullopt;
  if (node.attrs.get_string("layout", "NCHW") != "NCHW") return std::nullopt;
  const double epsilon = node.attrs.get_float("epsilon", 1e-5);
  const Doubles gamma = to_doubles(*rw.constant(node.in[1])), beta = to_doubles(*rw.constant(node.in[2]));
  const Doubles mean = to_doubles(*rw.constant(node.in[3])), variance = to_doubles(*rw.constant(node.in[4]));
  Affine map{Doubles(gamma.size()), Doubles(gamma.size())};
  for (size_t c = 0; c < gamma.size(); c++) {
    map.scale[c] = gamma[c] / std::sqrt(variance[c] + epsilon);
    map.shift[c] = beta[c] - mean[c] * map.scale[c];
  }
  return map;
}

// The map that the node applies to in[x].
std::optional<Affine> affine_of(Rewriter& rw, const Node& node, size_t& x) {
  const Shape& shape = rw.shape(node.out[0]);
  if (shape.size() < 2 || !is_float(rw.type(node.out[0]).dtype)) return std::nullopt;
  if (node.op == "BatchNormalization") {
    x = 0;
    return affine_of_batch_norm(rw, node);
  }
  if (!is_op(node, {"Mul", "Add"})) return std::nullopt;
  for (x = 0; x < 2; x++) {
    const auto values = per_channel(rw.constant(node.in[1 - x]), shape[1], static_cast<i64>(shape.size()));
    if (!values || rw.type(node.in[x]) != rw.type(node.out[0])) continue;
    const Doubles ones(values->size(), 1), zeros(values->size(), 0);
    return node.op == "Mul" ? Affine{*values, zeros} : Affine{ones, *values};
  }
  return std::nullopt;
}

Tensor filled(DType dtype, Shape shape, const Doubles& values) {
  Tensor tensor({dtype, std::move(shape)});
  for (size_t i = 0; i < values.size(); i++) tensor.set(static_cast<i64>(i), values[i]);
  return tensor;
}

// weights * scale, where channel_of says to which output channel a weight belongs.
template <typename ChannelOf>
Tensor scaled(const Tensor& weights, const Doubles& scale, const ChannelOf& channel_of) {
  Tensor result(weights.type);
  for (i64 i = 0; i < weights.size(); i++) result.set(i, weights.get(i) * scale[at(channel_of(i))]);
  return result;
}

bool has_constant_weights(Rewriter& rw, const Node& node) {
  const bool has_bias = node.in.size() > 2 && node.in[2] != kNone;
  return rw.constant(node.in[1]) && (!has_bias || rw.constant(node.in[2]));
}

// The convolution with the map applied to its output.
ValueId fold_into_conv(Rewriter& rw, const Node& conv, const Affine& map) {
  const Tensor& weights = *rw.constant(conv.in[1]);
  const Shape& shape = weights.type.shape;
  const i64 per_first = weights.size() / shape[0], per_second = per_first / shape[1];
  const i64 inputs_per_group = shape[0] / conv.attrs.get_int("group", 1);
  Tensor folded = conv.op == "Conv" ? scaled(weights, map.scale, [&](i64 i) { return i / per_first; })
                                    : scaled(weights, map.scale, [&](i64 i) {
                                        return i / per_first / inputs_per_group * shape[1] + i / per_second % shape[1];
                                      });
  const Tensor* old_bias = conv.in.size() > 2 ? rw.constant(conv.in[2]) : nullptr;
  Doubles bias = map.shift;
  for (size_t c = 0; old_bias && c < bias.size(); c++) bias[c] += map.scale[c] * old_bias->get(static_cast<i64>(c));
  const std::string op = conv.op;
  const ValueId x = conv.in[0];
  const Attrs conv_attrs = conv.attrs;
  const ValueId w = rw.add_constant(std::move(folded));
  const ValueId b = rw.add_constant(filled(weights.type.dtype, {static_cast<i64>(bias.size())}, bias));
  return rw.emit(op, {x, w, b}, conv_attrs);
}

// A two-dimensional product with constant weights, and the constant of one value per column that is added to it.
struct Product {
  ValueId x = kNone;
  const Tensor* weights = nullptr;
  bool columns_first = false;  // weights are [n,k]
  Attrs attrs;                 // of the MatMul to emit
  Doubles bias;
};

std::optional<Product> product_of_matmul(Rewriter& rw, const Node* node) {
  if (!node || node->op != "MatMul" || rw.rank(node->out[0]) != 2 || rw.rank(node->in[1]) != 2) return std::nullopt;
  if (!rw.constant(node->in[1])) return std::nullopt;
  const Doubles no_bias(at(rw.shape(node->out[0])[1]), 0);
  return Product{node->in[0], rw.constant(node->in[1]), node->attrs.get_int("transB", 0) != 0, node->attrs, no_bias};
}

std::optional<Product> product_of_add(Rewriter& rw, const Node& add) {
  for (size_t i = 0; i < 2; i++) {
    std::optional<Product> product = product_of_matmul(rw, rw.maker(add.in[i]));
    if (!product) continue;
    const auto bias = per_channel(rw.constant(add.in[1 - i]), static_cast<i64>(product->bias.size()), 2);
    if (!bias) continue;
    product->bias = *bias;
    return product;
  }
  return std::nullopt;
}

std::optional<Product> product_of_gemm(Rewriter& rw, const Node& gemm) {
  if (!has_constant_weights(rw, gemm) || gemm.attrs.get_float("alpha", 1) != 1) return std::nullopt;
  const i64 columns = rw.shape(gemm.out[0])[1];
  const Doubles no_bias(at(columns), 0);
  Product product{gemm.in[0], rw.constant(gemm.in[1]), gemm.attrs.get_int("transB", 0) != 0, {}, no_bias};
  for (const char* flag : {"transA", "transB"})
    if (gemm.attrs.get_int(flag, 0) != 0) product.attrs.set(flag, i64{1});
  if (gemm.in.size() < 3 || gemm.in[2] == kNone) return product;
  const auto bias = per_channel(rw.constant(gemm.in[2]), columns, 2);
  if (!bias) return std::nullopt;
  for (size_t c = 0; c < bias->size(); c++) product.bias[c] = (*bias)[c] * gemm.attrs.get_float("beta", 1);
  return product;
}

ValueId fold_into_product(Rewriter& rw, const Product& product, const Affine& map) {
  const i64 row = product.weights->type.shape[1];
  Doubles bias = map.shift;
  for (size_t c = 0; c < bias.size(); c++) bias[c] += map.scale[c] * product.bias[c];
  const auto column_of = [&](i64 i) { return product.columns_first ? i / row : i % row; };
  const ValueId w = rw.add_constant(scaled(*product.weights, map.scale, column_of));
  const ValueId shift = rw.add_constant(filled(product.weights->type.dtype, {static_cast<i64>(bias.size())}, bias));
  return rw.emit("Add", {rw.emit("MatMul", {product.x, w}, product.attrs), shift});
}

std::optional<ValueId> fold_into_maker(Rewriter& rw, ValueId x, const Affine& map) {
  const Node* maker = rw.maker(x);
  if (!maker || maker->in.size() < 2) return std::nullopt;
  if (is_op(*maker, {"Conv", "ConvTranspose"}) && maker->attrs.get_string("layout", "NCHW") == "NCHW" &&
      has_constant_weights(rw, *maker))
    return fold_into_conv(rw, *maker, map);
  const std::optional<Product> product = maker->op == "Add"    ? product_of_add(rw, *maker)
                                         : maker->op == "Gemm" ? product_of_gemm(rw, *maker)
                                                               : product_of_matmul(rw, maker);
  if (product) return fold_into_product(rw, *product, map);
  return std::nullopt;
}

ValueId as_elementwise(Rewriter& rw, ValueId x, const Affine& map) {
  Shape shape(at(rw.rank(x)) - 1, 1);
  shape[0] = static_cast<i64>(map.scale.size());
  const DType dtype = rw.type(x).dtype;
  const ValueId product = rw.emit("Mul", {x, rw.add_constant(filled(dtype, shape, map.scale))});
  return rw.emit("Add", {product, rw.add_constant(filled(dtype, shape, map.shift))});
}

// A plain Add behind a product is what the product would become.
bool worth_folding(Rewriter& rw, const Node& node, ValueId x) { return node.op != "Add" || !rw.maker(x, "MatMul"); }

}  // namespace

Graph fold_batch_norm(const Graph& graph) {
  return rewrite_each(graph, [](Rewriter& rw, const Node& node, const Node& old) {
    size_t which = 0;
    const std::optional<Affine> map = affine_of(rw, node, which);
    std::optional<ValueId> result;
    if (map && rw.uses(old.in[which]) == 1 && worth_folding(rw, node, node.in[which]))
      result = fold_into_maker(rw, node.in[which], *map);
    if (map && !result && node.op == "BatchNormalization") result = as_elementwise(rw, node.in[0], *map);
    if (result) rw.replace(node.out[0], *result);
    return result.has_value();
  });
}

}  // namespace mcc
