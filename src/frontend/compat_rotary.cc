// RotaryEmbedding, ONNX's and ONNX Runtime's: pairs of a head's numbers turn by angles that its position says.
#include "frontend/compat_attention.h"

namespace mcc::frontend {
namespace {

// The first and the second numbers of all pairs.
struct Pairs {
  ValueId a, b;
};

Pairs apart(const OnnxCall& call, ValueId x, bool interleaved) {
  Shape shape = call.builder.shape(x);
  const i64 half = shape[3] / 2;
  if (!interleaved) return {slice(call, x, 3, 0, half), slice(call, x, 3, half, shape[3])};
  const ValueId pairs = call.reshape(x, {shape[0], shape[1], shape[2], half, 2});
  shape[3] = half;
  return {call.reshape(slice(call, pairs, 4, 0, 1), shape), call.reshape(slice(call, pairs, 4, 1, 2), shape)};
}

ValueId together(const OnnxCall& call, const Pairs& p, bool interleaved) {
  if (!interleaved) return call.emit1("Concat", {p.a, p.b}, make_attrs({{"axis", i64{3}}}));
  Shape shape = call.builder.shape(p.a);
  Shape one = shape;
  one.push_back(1), shape[3] *= 2;
  const Attrs last = make_attrs({{"axis", i64{4}}});
  return call.reshape(call.emit1("Concat", {call.reshape(p.a, one), call.reshape(p.b, one)}, last), shape);
}

}  // namespace

Angles angles_at(const OnnxCall& call, const Angles& table, ValueId places) {
  return {rows_of(call, table.cos, places), rows_of(call, table.sin, places)};
}

ValueId rotated(const OnnxCall& call, ValueId x, i64 rotary, Angles angles, bool interleaved) {
  const Shape shape = call.builder.shape(x);
  if (rotary < 2 || rotary > shape[3] || rotary % 2 != 0) fail("{} of {} numbers cannot turn", rotary, shape[3]);
  for (ValueId* v : {&angles.cos, &angles.sin}) {
    const Shape s = call.builder.shape(*v);
    if (s.size() != 3 || (s[0] != 1 && s[0] != shape[0]) || s[1] != shape[2] || s[2] != rotary / 2)
      fail("angles {} do not fit {}", to_string(s), to_string(shape));
    *v = call.reshape(*v, {s[0], 1, s[1], s[2]});
  }
  const auto times = [&](ValueId v, ValueId by) { return call.emit1("Mul", {v, by}); };
  const Pairs p = apart(call, slice(call, x, 3, 0, rotary), interleaved);
  const Pairs turned = {call.emit1("Sub", {times(p.a, angles.cos), times(p.b, angles.sin)}),
                        call.emit1("Add", {times(p.a, angles.sin), times(p.b, angles.cos)})};
  const ValueId y = together(call, turned, interleaved);
  if (rotary == shape[3]) return y;
  return call.emit1("Concat", {y, slice(call, x, 3, rotary, shape[3])}, make_attrs({{"axis", i64{3}}}));
}

namespace {

// With heads apart or merged, as it comes; `heads` where they are merged.
Outputs rotate(const OnnxCall& call, i64 heads, i64 rotary, const Angles& angles) {
  const bool merged = call.rank(0) == 3;
  if (!merged) require_rank(call, 0, 4);
  const ValueId x = merged ? split_heads(call, call.in[0], heads) : call.in[0];
  const bool interleaved = call.attrs.get_int("interleaved", 0) != 0;
  const ValueId y = rotated(call, x, rotary == 0 ? call.builder.shape(x)[3] : rotary, angles, interleaved);
  return {merged ? merge_heads(call, y) : y};
}

// Inputs X, cos_cache, sin_cache, position_ids?: without positions the caches are of each step.
Outputs rotary_embedding(OnnxCall& call) {
  take_inputs(call, 4);
  Angles angles = {call.need(1, "cos_cache"), call.need(2, "sin_cache")};
  if (call.has(3)) {
    require_rank(call, 3, 2);
    angles = angles_at(call, angles, call.in[3]);
  }
  return rotate(call, call.attrs.get_int("num_heads", 0), call.attrs.get_int("rotary_embedding_dim", 0), angles);
}

// Inputs input, position_ids, cos_cache, sin_cache; one position is that of the first step.
Outputs runtime_rotary_embedding(OnnxCall& call) {
  take_inputs(call, 4);
  if (call.attrs.get_float("scale", 1) != 1) fail("a scale is not supported");
  if (call.attrs.get_int("is_packed_batching", 0) != 0) fail("packed batching is not supported");
  const bool merged = call.rank(0) == 3;
  if (!merged) require_rank(call, 0, 4);
  require_rank(call, 2, 2);
  const i64 steps = call.shape(0)[merged ? 1 : 2], size = 2 * call.shape(2)[1];
  ValueId places = call.need(1, "position_ids");
  if (call.rank(1) == 1) {
    if (call.shape(1)[0] != 1) fail("position_ids {} is not one number", to_string(call.shape(1)));
    places = call.emit1("Add", {call.cast(places, DType::i64), positions(call, steps, {1, steps})});
  } else {
    require_rank(call, 1, 2);
  }
  const i64 rotary = call.attrs.get_int("rotary_embedding_dim", 0), given = call.attrs.get_int("num_heads", 0);
  if (rotary != 0 && given == 0) fail("rotary_embedding_dim needs num_heads");
  const i64 heads = given != 0 || !merged || size == 0 ? given : call.shape(0)[2] / size;
  return rotate(call, heads, rotary, angles_at(call, {call.in[2], call.need(3, "sin_cache")}, places));
}

constexpr OnnxOp kOps[] = {
    {"RotaryEmbedding", rotary_embedding, "interleaved num_heads rotary_embedding_dim"},
    {"com.microsoft.RotaryEmbedding", runtime_rotary_embedding,
     "interleaved is_packed_batching num_heads rotary_embedding_dim scale", "no packed batching, scale 1"},
};

}  // namespace

std::span<const OnnxOp> rotary_imports() { return kOps; }

}  // namespace mcc::frontend
