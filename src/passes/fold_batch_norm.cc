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

size_t at(i64 i) { return static_cast<size_t>(i); }

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
  if (node.op == "BatchNormalization") return x = 0, affine_of_batch_norm(rw, node);
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

// A [m,k] * [k,n] product whose channels are the n columns.
ValueId fold_into_product(Rewriter& rw, const Node& product, const Affine& map) {
  const Tensor& weights = *rw.constant(product.in[1]);
  const Shape& shape = weights.type.shape;
  const bool transposed = product.attrs.get_int("transB", 0) != 0;
  Tensor folded = scaled(weights, map.scale, [&](i64 i) { return transposed ? i / shape[1] : i % shape[1]; });
  const ValueId x = product.in[0];
  const Attrs product_attrs = product.attrs;
  const ValueId w = rw.add_constant(std::move(folded));
  const ValueId shift = rw.add_constant(filled(weights.type.dtype, {static_cast<i64>(map.shift.size())}, map.shift));
  return rw.emit("Add", {rw.emit("MatMul", {x, w}, product_attrs), shift});
}

std::optional<ValueId> fold_into_maker(Rewriter& rw, ValueId x, const Affine& map) {
  const Node* maker = rw.maker(x);
  if (!maker || maker->in.size() < 2) return std::nullopt;
  if (is_op(*maker, {"Conv", "ConvTranspose"}) && maker->attrs.get_string("layout", "NCHW") == "NCHW" &&
      has_constant_weights(rw, *maker))
    return fold_into_conv(rw, *maker, map);
  const bool is_product =
      maker->op == "MatMul" && rw.rank(x) == 2 && rw.rank(maker->in[1]) == 2 && rw.constant(maker->in[1]);
  if (is_product) return fold_into_product(rw, *maker, map);
  return std::nullopt;
}

ValueId as_elementwise(Rewriter& rw, ValueId x, const Affine& map) {
  Shape shape(at(rw.rank(x)) - 1, 1);
  shape[0] = static_cast<i64>(map.scale.size());
  const DType dtype = rw.type(x).dtype;
  const ValueId product = rw.emit("Mul", {x, rw.add_constant(filled(dtype, shape, map.scale))});
  return rw.emit("Add", {product, rw.add_constant(filled(dtype, shape, map.shift))});
}

// Folding a plain Add into a product would only add the Add again.
bool worth_folding(Rewriter& rw, const Node& node, ValueId x) { return node.op != "Add" || !rw.maker(x, "MatMul"); }

}  // namespace

Graph fold_batch_norm(const Graph& graph) {
  Rewriter rw(graph);
  for (const Node& old : graph.nodes) {
    Node node = rw.visit(old);
    size_t which = 0;
    const std::optional<Affine> map = affine_of(rw, node, which);
    std::optional<ValueId> result;
    if (map && rw.uses(old.in[which]) == 1 && worth_folding(rw, node, node.in[which]))
      result = fold_into_maker(rw, node.in[which], *map);
    if (map && !result && node.op == "BatchNormalization") result = as_elementwise(rw, node.in[0], *map);
    if (result)
      rw.replace(node.out[0], *result);
    else
      rw.keep(std::move(node));
  }
  return rw.finish();
}

}  // namespace mcc
