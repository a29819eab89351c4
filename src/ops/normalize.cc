// Normalisations: their table and what they require of their inputs.
#include "ops/normalize.h"

#include "ops/window.h"

namespace mcc::ops {
namespace {

void require_float(const TensorType& x) {
  if (!is_float(x.dtype)) fail("input {} must be of a floating-point type", to_string(x));
}

void require_shape(const TensorType& type, const Shape& shape, std::string_view what) {
  if (type.shape != shape) fail("{} {} must have shape {}", what, to_string(type), to_string(shape));
}

std::vector<TensorType> infer_softmax(const Node& node, Types in) {
  require_float(in[0]);
  axis_of(node, rank(in[0]), -1);
  return {in[0]};
}

std::vector<TensorType> infer_layer_norm(const Node& node, Types in) {
  require_float(in[0]);
  i64 axis = axis_of(node, rank(in[0]), -1);
  for (size_t i = 1; i < in.size(); i++)
    if (present(in, i) && broadcast(in[i].shape, in[0].shape) != in[0].shape)
      fail("scale or bias {} does not broadcast to {}", to_string(in[i]), to_string(in[0]));
  Shape statistics = in[0].shape;
  std::fill(statistics.begin() + axis, statistics.end(), 1);
  DType dtype = compute_type(in[0].dtype);
  return {in[0], {dtype, statistics}, {dtype, statistics}};
}

std::vector<TensorType> infer_channel_norm(const Node& node, Types in) {
  require_float(in[0]);
  if (rank(in[0]) < 2) fail("input {} has no channel axis", to_string(in[0]));
  i64 channels = in[0].shape[at(channel_axis(node, rank(in[0])))];
  for (size_t i = 1; i < in.size(); i++) require_shape(in[i], {channels}, "parameter");
  if (node.attrs.get_int("training_mode", 0) != 0) fail("training_mode is not supported");
  return {in[0]};
}

std::vector<TensorType> infer_group_norm(const Node& node, Types in) {
  require_float(in[0]);
  if (rank(in[0]) < 2) fail("input {} has no channel axis", to_string(in[0]));
  i64 channels = in[0].shape[1], groups = node.attrs.get_int("num_groups");
  if (groups < 1 || channels % groups != 0) fail("{} channels do not divide into {} groups", channels, groups);
  for (size_t i = 1; i < in.size(); i++)
    if (in[i].shape != Shape{groups}) require_shape(in[i], {channels}, "parameter");
  return {in[0]};
}

std::vector<TensorType> infer_mean_variance(const Node& node, Types in) {
  require_float(in[0]);
  for (i64 axis : node.attrs.get_ints("axes", {0, 2, 3})) normalize_axis(axis, rank(in[0]));
  return {in[0]};
}

std::vector<TensorType> infer_lrn(const Node& node, Types in) {
  require_float(in[0]);
  if (rank(in[0]) < 2) fail("input {} has no channel axis", to_string(in[0]));
  if (i64 size = node.attrs.get_int("size"); size < 1) fail("size must be positive, not {}", size);
  return {in[0]};
}

std::vector<TensorType> infer_lp_norm(const Node& node, Types in) {
  i64 p = node.attrs.get_int("p", 2);
  if (p != 1 && p != 2) fail("p must be 1 or 2, not {}", p);
  return infer_softmax(node, in);
}

constexpr OpDef kOps[] = {
    {"BatchNormalization", FuseKind::elementwise, 5, 5, infer_channel_norm, lower_batch_norm, batch_norm_reference},
    {"GroupNormalization", FuseKind::anchor, 3, 3, infer_group_norm, lower_moments, moments_reference},
    {"Hardmax", FuseKind::anchor, 1, 1, infer_softmax, lower_softmax, softmax_reference},
    {"InstanceNormalization", FuseKind::anchor, 3, 3, infer_channel_norm, lower_moments, moments_reference},
    {"LRN", FuseKind::anchor, 1, 1, infer_lrn, lower_lrn, lrn_reference},
    {"LayerNormalization", FuseKind::anchor, 2, 3, infer_layer_norm, lower_moments, moments_reference},
    {"LogSoftmax", FuseKind::anchor, 1, 1, infer_softmax, lower_softmax, softmax_reference},
    {"LpNormalization", FuseKind::anchor, 1, 1, infer_lp_norm, lower_lp_norm, lp_norm_reference},
    {"MeanVarianceNormalization", FuseKind::anchor, 1, 1, infer_mean_variance, lower_moments, moments_reference},
    {"Softmax", FuseKind::anchor, 1, 1, infer_softmax, lower_softmax, softmax_reference},
};

}  // namespace

i64 channel_axis(const Node& node, i64 rank) { return is_channels_last(node) ? rank - 1 : 1; }

}  // namespace mcc::ops

std::span<const mcc::OpDef> mcc::normalize_ops() { return ops::kOps; }
