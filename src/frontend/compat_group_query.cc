// GroupQueryAttention (com.microsoft), the attention of ONNX Runtime's generative models: several heads of queries
// share one of keys and values, queries and keys may turn by their positions, and what is computed goes into a cache.
//
// A batch has seqlens_k + 1 real tokens after this step, which only the data may tell; those before this step are the
// first of the past. The present is [batch, heads, length, size] as long as the past, or as total_sequence_length where
// that is more: the past up to there, then the step, then zeros.
#include "frontend/compat_attention.h"

namespace mcc::frontend {
namespace {

constexpr size_t kPast = 3, kSeqlens = 5, kTotal = 6, kCos = 7, kBias = 10;

struct Step {
  i64 length = 0;             // of the step
  i64 before = 0, after = 0;  // lengths of the past and of the present
  ValueId past = kNone;       // real tokens of the past, i64 [batch or 1, 1]
};

Step step_of(const OnnxCall& call) {
  const i64 batch = call.shape(0)[0], total = call.known_int(kTotal, "total_sequence_length");
  Step step{call.shape(0)[1], call.has(kPast) ? call.shape(kPast)[kLength] : 0, 0, kNone};
  if (step.length < 1) fail("the query is empty");
  if (total < step.length) fail("total_sequence_length {} is less than the {} of the query", total, step.length);
  require_possible({DType::f32, {batch, total}}, "total_sequence_length");
  step.after = std::max(step.before, total);
  const ValueId seqlens = call.need(kSeqlens, "seqlens_k");
  if (elements(call.builder.shape(seqlens)) != batch)
    fail("seqlens_k {} is not one number for each of {}", to_string(call.builder.shape(seqlens)), batch);
  if (total == step.length) {  // the first step, whatever the past holds
    step.past = call.constant(Tensor(TensorType{DType::i64, {1, 1}}));
  } else {
    const ValueId last = call.reshape(call.cast(seqlens, DType::i64), {batch, 1});
    step.past = call.emit1("Sub", {last, call.scalar(DType::i64, static_cast<double>(step.length - 1))});
  }
  return step;
}

// Query, key and value come apart, or the query holds all three.
Heads read_heads(const OnnxCall& call, i64 queries, i64 keys) {
  require_rank(call, 0, 3);
  small_ints({queries, keys}, "num_heads, kv_num_heads", 1, 2);
  if (queries % keys != 0) fail("{} heads of queries do not share {} of keys", queries, keys);
  if (call.has(1) != call.has(2)) fail("key and value are given together or not at all");
  std::vector<ValueId> apart = {call.in[0], call.input(1), call.input(2)};
  if (!call.has(1)) {
    const i64 size = call.shape(0)[2] / (queries + 2 * keys);
    apart = parts(call, call.in[0], {queries * size, keys * size, keys * size});
  }
  return {split_heads(call, apart[0], queries), split_heads(call, apart[1], keys), split_heads(call, apart[2], keys)};
}

void turn(const OnnxCall& call, Heads& h, const Step& step) {
  const Angles table = {call.need(kCos, "cos_cache"), call.need(kCos + 1, "sin_cache")};
  require_rank(call, kCos, 2);
  const ValueId places = call.emit1("Add", {step.past, positions(call, step.length, {1, step.length})});
  const Angles angles = angles_at(call, table, places);
  const i64 rotary = 2 * call.shape(kCos)[1];
  const bool interleaved = call.attrs.get_int("rotary_interleaved", 0) != 0;
  for (ValueId* v : {&h.q, &h.k}) *v = rotated(call, *v, rotary, angles, interleaved);
}

// The present of keys or values: position t is the past's, the step's at t - past, or nothing.
ValueId present(const OnnxCall& call, size_t past_input, ValueId now, const Step& step) {
  if (step.before == 0 && step.after == step.length) return now;
  const DType dtype = call.builder.type(now).dtype;
  Shape shape = call.builder.shape(now);
  shape[kLength] = step.after;
  const ValueId t = positions(call, step.after, {1, 1, step.after, 1});
  const i64 counts = call.builder.shape(step.past)[0];
  const ValueId past = call.reshape(step.past, {counts, 1, 1, 1});
  const ValueId place = call.emit1("Sub", {t, past});
  const ValueId inside =
      call.emit1("Clip", {place}, make_attrs({{"min", 0.0}, {"max", static_cast<double>(step.length - 1)}}));
  const ValueId index = call.emit1("Expand", {inside}, make_attrs({{"shape", shape}}));
  const ValueId moved = call.emit1("GatherElements", {now, index}, make_attrs({{"axis", i64{kLength}}}));
  const ValueId zero = call.scalar(dtype, 0);
  const ValueId is_now = call.emit1("Equal", {place, inside});
  const ValueId y = call.emit1("Where", {is_now, moved, zero});
  if (!call.has(past_input)) return y;
  ValueId old = call.in[past_input];
  if (call.builder.type(old).dtype != dtype) fail("the past is not of the type of the query");
  Shape expected = shape;
  expected[kLength] = step.before;
  if (call.builder.shape(old) != expected)
    fail("a past {} is not {}", to_string(call.builder.shape(old)), to_string(expected));
  const std::vector<i64> pads = {0, 0, 0, 0, 0, 0, step.after - step.before, 0};
  old = call.emit1("Pad", {old}, make_attrs({{"pads", pads}, {"mode", std::string("constant")}, {"value", 0.0}}));
  return call.emit1("Where", {call.emit1("Less", {t, past}), old, y});
}

// Query s looks at the tokens up to its own, the last `window` of them where there is one.
ValueId visible(const OnnxCall& call, const Step& step, DType dtype) {
  const i64 window = call.attrs.get_int("local_window_size", -1);
  const ValueId t = positions(call, step.after, {1, 1, 1, step.after});
  const ValueId past = call.reshape(step.past, {call.builder.shape(step.past)[0], 1, 1, 1});
  const ValueId own = call.emit1("Add", {past, positions(call, step.length, {1, 1, step.length, 1})});
  ValueId keep = call.emit1("LessOrEqual", {t, own});
  if (window > 0) {
    const ValueId ago = call.emit1("Sub", {own, t});
    keep = call.emit1("And", {keep, call.emit1("Less", {ago, call.scalar(DType::i64, static_cast<double>(window))})});
  }
  return kept(call, keep, dtype);
}

// Inputs query, key?, value?, past_key?, past_value?, seqlens_k, total_sequence_length, cos_cache?, sin_cache?,
// position_ids?, attention_bias?.
Outputs group_query_attention(OnnxCall& call) {
  take_inputs(call, 11);
  if (call.has(9)) fail("position_ids are not supported");
  if (call.attrs.get_int("smooth_softmax", 0) == 1) fail("smooth_softmax is not supported");
  if (call.has(kPast) != call.has(kPast + 1)) fail("past_key and past_value are given together or not at all");
  const i64 queries = call.attrs.get_int("num_heads"), keys = call.attrs.get_int("kv_num_heads");
  Heads h = read_heads(call, queries, keys);
  if (call.has(kPast)) require_rank(call, kPast, 4);
  const Step step = step_of(call);
  if (call.attrs.get_int("do_rotary", 0) != 0) turn(call, h, step);
  const ValueId present_k = present(call, kPast, h.k, step), present_v = present(call, kPast + 1, h.v, step);
  h.k = repeated_heads(call, present_k, queries / keys);
  h.v = repeated_heads(call, present_v, queries / keys);
  Scores scores{scale_of(call, h), call.attrs.get_float("softcap", 0), {}};
  scores.added.push_back(visible(call, step, call.builder.type(h.q).dtype));
  if (call.has(kBias)) {
    if (scores.softcap != 0) fail("softcap together with attention_bias is not supported");
    scores.added.push_back(call.in[kBias]);
  }
  return {merge_heads(call, attend(call, h, scores)), present_k, present_v};
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft.GroupQueryAttention", group_query_attention,
     "do_rotary kv_num_heads local_window_size num_heads rotary_interleaved scale smooth_softmax softcap",
     "total_sequence_length known; no position_ids, no smooth_softmax"},
};

}  // namespace

std::span<const OnnxOp> group_query_imports() { return kOps; }

}  // namespace mcc::frontend
