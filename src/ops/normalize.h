// What the normalisation files share. Three groups, a file each: softmax and its relatives; those that subtract a mean
// and divide by a deviation (normalize_moments.cc); those that scale by something else (normalize_scale.cc).
#pragma once
#include "ops/lib.h"

namespace mcc::ops {

i64 channel_axis(const Node& node, i64 rank);  // by the layout attribute

loop::Func lower_softmax(const Node& node, Types in, Types out);
void softmax_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);

// LayerNormalization, InstanceNormalization, GroupNormalization, MeanVarianceNormalization
loop::Func lower_moments(const Node& node, Types in, Types out);
void moments_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);

loop::Func lower_batch_norm(const Node& node, Types in, Types out);
loop::Func lower_lrn(const Node& node, Types in, Types out);
loop::Func lower_lp_norm(const Node& node, Types in, Types out);
void batch_norm_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);
void lrn_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);
void lp_norm_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);

}  // namespace mcc::ops
