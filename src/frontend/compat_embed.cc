// EmbedLayerNormalization (com.microsoft): words, positions and segments are looked up in tables, and their sum is
// normalised.
#include "frontend/compat_attention.h"

namespace mcc::frontend {
namespace {

// How many words of each text are real.
ValueId mask_index(const OnnxCall& call, ValueId mask) {
  const DType dtype = call.builder.type(mask).dtype;
  const ValueId ones = call.emit1("Equal", {mask, call.scalar(dtype, 1)});
  return call.emit1("ReduceSum", {call.cast(ones, DType::i32)},
                    make_attrs({{"axes", std::vector<i64>{1}}, {"keepdims", i64{0}}}));
}

// Inputs input_ids, segment_ids?, the tables of words, positions and segments?, gamma, beta, mask?, position_ids?.
Outputs embed_layer_norm(OnnxCall& call) {
  take_inputs(call, 9);
  require_rank(call, 0, 2);
  for (const size_t table : {2, 3}) require_rank(call, table, 2);
  const Shape ids = call.shape(0);
  if (!call.has(8) && ids[1] > call.shape(3)[0])
    fail("{} positions are more than the {} of the table", ids[1], call.shape(3)[0]);
  const ValueId place = call.has(8) ? rows_of(call, call.in[3], call.in[8]) : slice(call, call.in[3], 0, 0, ids[1]);
  ValueId sum = call.emit1("Add", {rows_of(call, call.in[2], call.in[0]), place});
  if (call.has(1) != call.has(4)) fail("segment_ids and segment_embedding are given together or not at all");
  if (call.has(1)) sum = call.emit1("Add", {sum, rows_of(call, call.in[4], call.in[1])});
  const double epsilon = call.attrs.get_float("epsilon", static_cast<double>(1e-12f));
  const ValueId y = call.emit1("LayerNormalization", {sum, call.need(5, "gamma"), call.need(6, "beta")},
                               make_attrs({{"axis", i64{-1}}, {"epsilon", epsilon}}));
  if (!call.wants(1)) return {y, kNone, sum};
  if (!call.has(7)) return {y, call.constant(Tensor(TensorType{DType::i32, {ids[0]}})), sum};
  require_rank(call, 7, 2);
  return {y, mask_index(call, call.in[7]), sum};
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft.EmbedLayerNormalization", embed_layer_norm, "epsilon mask_index_type"},
};

}  // namespace

std::span<const OnnxOp> embed_imports() { return kOps; }

}  // namespace mcc::frontend
