// Attention in one node: ONNX's own (opset 23) and ONNX Runtime's Attention, QAttention and MultiHeadAttention. All are
//
//   y = softmax(scale * q k^T + what is added) v      for each batch and head,
//
// and differ in how q, k and v arrive, in the forms of a mask, and in which defaults they take. What is added is 0
// where a token may look and a large negative number where not: a mask of any form becomes such numbers.
#include "frontend/compat_attention.h"

#include <algorithm>
#include <cmath>

namespace mcc::frontend {

ValueId split_heads(const OnnxCall& call, ValueId v, i64 heads) {
  const Shape shape = call.builder.shape(v);
  if (shape.size() != 3) fail("{} is not of rank 3", to_string(shape));
  if (heads < 1 || shape[2] % heads != 0) fail("{} does not divide into {} heads", to_string(shape), heads);
  return call.transpose(call.reshape(v, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

ValueId merge_heads(const OnnxCall& call, ValueId v) {
  const Shape shape = call.builder.shape(v);
  return call.reshape(call.transpose(v, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

namespace {

// The least number that leaves room to add a score to it.
double lowest(DType dtype) { return dtype == DType::f16 ? -65504 : -3e38; }

// 0 where `keep`, else `otherwise`.
ValueId as_addend(const OnnxCall& call, ValueId keep, DType dtype, double otherwise) {
  return call.emit1("Where", {keep, call.scalar(dtype, 0), call.scalar(dtype, otherwise)});
}

}  // namespace

ValueId attend(const OnnxCall& call, const Heads& h, const Scores& scores) {
  const DType dtype = call.builder.type(h.q).dtype;
  ValueId s = call.emit1("MatMul", {h.q, call.transpose(h.k, {0, 1, 3, 2})});
  const Shape shape = call.builder.shape(s);
  s = call.emit1("Mul", {s, call.scalar(dtype, scores.scale)});
  if (scores.softcap != 0) {
    const ValueId cap = call.scalar(dtype, scores.softcap);
    s = call.emit1("Mul", {call.emit1("Tanh", {call.emit1("Div", {s, cap})}), cap});
  }
  for (const ValueId added : scores.added) {
    s = call.emit1("Add", {s, added});
    if (call.builder.shape(s) != shape)
      fail("a mask or bias {} does not broadcast to {}", to_string(call.builder.shape(added)), to_string(shape));
  }
  return call.emit1("MatMul", {call.emit1("Softmax", {s}, make_attrs({{"axis", i64{3}}})), h.v});
}

double scale_of(const OnnxCall& call, const Heads& h) {
  const double given = call.attrs.get_float("scale", 0);
  return given != 0 ? given : 1 / std::sqrt(static_cast<double>(call.builder.shape(h.q)[kSize]));
}

ValueId kept(const OnnxCall& call, ValueId keep, DType dtype) { return as_addend(call, keep, dtype, lowest(dtype)); }

ValueId repeated_heads(const OnnxCall& call, ValueId v, i64 times) {
  if (times == 1) return v;
  const Shape s = call.builder.shape(v);
  const ValueId one = call.reshape(v, {s[kBatch], s[kHeads], 1, s[kLength], s[kSize]});
  const Shape wide = {s[kBatch], s[kHeads], times, s[kLength], s[kSize]};
  return call.reshape(call.emit1("Expand", {one}, make_attrs({{"shape", wide}})),
                      {s[kBatch], s[kHeads] * times, s[kLength], s[kSize]});
}

std::vector<ValueId> parts(const OnnxCall& call, ValueId v, const std::vector<i64>& sizes) {
  const i64 axis = call.builder.rank(v) - 1;
  i64 sum = 0;
  for (const i64 size : sizes) {
    if (size < 0 || size > call.builder.shape(v)[at(axis)]) fail("a part has size {}", size);
    sum += size;
  }
  if (sum != call.builder.shape(v)[at(axis)])
    fail("{} does not divide into [{}]", to_string(call.builder.shape(v)), fmt::join(sizes, ", "));
  return call.emit("Split", {v}, make_attrs({{"axis", axis}, {"split", sizes}}), static_cast<int>(sizes.size()));
}

namespace {

// Query i looks at the keys up to `past` + i.
ValueId causal(const OnnxCall& call, const Heads& h, i64 past) {
  const i64 queries = call.builder.shape(h.q)[kLength], keys = call.builder.shape(h.k)[kLength];
  const ValueId key = positions(call, keys, {1, keys}), query = positions(call, queries, {queries, 1});
  const ValueId last = call.emit1("Add", {query, call.scalar(DType::i64, static_cast<double>(past))});
  const DType dtype = call.builder.type(h.q).dtype;
  return kept(call, call.emit1("LessOrEqual", {key, last}), dtype);
}

// ONNX Runtime's masks: the number of real keys of each batch, their ends and then their starts, or which are real,
// for all queries or for each.
ValueId padding(const OnnxCall& call, ValueId mask, const Heads& h) {
  const Shape shape = call.builder.shape(mask);
  const i64 batch = call.builder.shape(h.q)[kBatch], queries = call.builder.shape(h.q)[kLength];
  const i64 keys = call.builder.shape(h.k)[kLength];
  ValueId keep = kNone;
  if (shape == Shape{batch} || shape == Shape{2 * batch}) {
    const ValueId key = positions(call, keys, {1, 1, 1, keys}), bounds = call.cast(mask, DType::i64);
    const auto bound = [&](i64 from) {
      return call.reshape(slice(call, bounds, 0, from, from + batch), {batch, 1, 1, 1});
    };
    keep = call.emit1("Less", {key, bound(0)});
    if (shape[0] != batch) keep = call.emit1("And", {keep, call.emit1("GreaterOrEqual", {key, bound(batch)})});
  } else if (shape == Shape{batch, keys} || shape == Shape{batch, queries, keys}) {
    const ValueId zero = call.scalar(call.builder.type(mask).dtype, 0);
    keep = call.reshape(call.emit1("Greater", {mask, zero}), {batch, 1, shape.size() == 2 ? 1 : queries, keys});
  } else {
    fail("a mask {} for batch {}, {} queries and {} keys is not supported", to_string(shape), batch, queries, keys);
  }
  return as_addend(call, keep, call.builder.type(h.q).dtype, call.attrs.get_float("mask_filter_value", -10000));
}

// Past keys or values [batch, heads, length, size] before those of now.
ValueId after(const OnnxCall& call, ValueId past, ValueId now) {
  return call.emit1("Concat", {past, now}, make_attrs({{"axis", i64{kLength}}}));
}

// What is kept from earlier tokens, at inputs `first` (keys) and the next (values), goes before h. Returns its length.
i64 take_past(const OnnxCall& call, Heads& h, size_t first) {
  if (call.has(first) != call.has(first + 1)) fail("past_key and past_value are given together or not at all");
  if (!call.has(first)) return 0;
  for (const size_t i : {first, first + 1}) require_rank(call, i, 4);
  h.k = after(call, call.in[first], h.k);
  h.v = after(call, call.in[first + 1], h.v);
  return call.shape(first)[kLength];
}

Scores runtime_scores(const OnnxCall& call, const Heads& h, ValueId mask, ValueId bias, i64 past) {
  Scores scores{scale_of(call, h), 0, {}};
  if (mask != kNone) scores.added.push_back(padding(call, mask, h));
  if (bias != kNone) scores.added.push_back(bias);
  if (call.attrs.get_int("unidirectional", 0) != 0) scores.added.push_back(causal(call, h, past));
  return scores;
}

void refuse_nonzero(const OnnxCall& call, const char* key) {
  if (call.attrs.get_int(key, 0) != 0) fail("{} is not supported", key);
}

// Of attention whose q, k and v are one product: where its other inputs are.
struct JointInputs {
  size_t mask, past, bias;
};

// q, k and v are parts of `all`; the past and the present hold k and v together.
Outputs joint_attention(const OnnxCall& call, ValueId all, const JointInputs& inputs) {
  for (const char* key : {"do_rotary", "past_present_share_buffer"}) refuse_nonzero(call, key);
  const i64 heads = call.attrs.get_int("num_heads");
  const Shape shape = call.builder.shape(all);
  const std::vector<i64> sizes = call.attrs.get_ints("qkv_hidden_sizes", std::vector<i64>(3, shape[2] / 3));
  if (sizes.size() != 3) fail("qkv_hidden_sizes has {} entries instead of 3", sizes.size());
  const std::vector<ValueId> split = parts(call, all, sizes);
  Heads h{split_heads(call, split[0], heads), split_heads(call, split[1], heads), split_heads(call, split[2], heads)};
  i64 past = 0;
  if (call.has(inputs.past)) {
    require_rank(call, inputs.past, 5);
    const Shape both = call.shape(inputs.past);
    if (both[0] != 2) fail("the past {} is not one of keys and values", to_string(both));
    const auto one = [&](i64 i) {
      return call.reshape(slice(call, call.in[inputs.past], 0, i, i + 1), Shape(both.begin() + 1, both.end()));
    };
    past = both[3];
    h.k = after(call, one(0), h.k);
    h.v = after(call, one(1), h.v);
  }
  const auto listed = [&](ValueId v) {
    Shape with_one = call.builder.shape(v);
    with_one.insert(with_one.begin(), 1);
    return call.reshape(v, with_one);
  };
  const Scores scores = runtime_scores(call, h, call.input(inputs.mask), call.input(inputs.bias), past);
  const ValueId y = merge_heads(call, attend(call, h, scores));
  if (!call.wants(1)) return {y};
  return {y, call.emit1("Concat", {listed(h.k), listed(h.v)}, make_attrs({{"axis", i64{0}}}))};
}

// com.microsoft.Attention: inputs input, weights, bias?, mask_index?, past?, attention_bias?.
Outputs runtime_attention(OnnxCall& call) {
  take_inputs(call, 6);
  require_rank(call, 0, 3);
  require_rank(call, 1, 2);
  ValueId all = call.emit1("MatMul", {call.in[0], call.in[1]});
  const Shape shape = call.builder.shape(all);
  if (call.has(2)) all = call.emit1("Add", {all, call.in[2]});
  if (call.builder.shape(all) != shape) fail("bias {} does not fit {}", to_string(call.shape(2)), to_string(shape));
  return joint_attention(call, all, {3, 4, 5});
}

// com.microsoft.QAttention: the same of integers, with inputs input, weight, bias, input_scale, weight_scale,
// mask_index?, input_zero_point?, weight_zero_point?, past?.
Outputs quantized_attention(OnnxCall& call) {
  take_inputs(call, 9);
  require_rank(call, 0, 3);
  require_rank(call, 1, 2);
  require_rank(call, 2, 1);
  const ValueId all = import_as(call, "com.microsoft.MatMulIntegerToFloat",
                                {call.in[0], call.in[1], call.need(3, "input_scale"), call.need(4, "weight_scale"),
                                 call.input(6), call.input(7), call.in[2]});
  if (call.builder.shape(all) != Shape{call.shape(0)[0], call.shape(0)[1], call.shape(1)[1]})
    fail("bias {} or weight_scale {} does not fit {} columns", to_string(call.shape(2)), to_string(call.shape(4)),
         call.shape(1)[1]);
  return joint_attention(call, all, {5, 8, call.in.size()});
}

// com.microsoft.MultiHeadAttention: inputs query, key, value, bias?, key_padding_mask?, attention_bias?, past_key?,
// past_value?. Keys and values may have their heads apart already, with nothing to be added to them.
Outputs multi_head_attention(OnnxCall& call) {
  take_inputs(call, 8);
  const i64 heads = call.attrs.get_int("num_heads");
  require_rank(call, 0, 3);
  ValueId q = call.in[0], k = call.need(1, "key"), v = call.need(2, "value");
  const bool apart = call.builder.rank(k) == 4;
  if (call.has(3)) {
    if (apart) fail("a bias for keys of rank 4 is not supported");
    require_rank(call, 3, 1);
    for (const size_t i : {1, 2}) require_rank(call, i, 3);
    const std::vector<ValueId> bias = parts(call, call.in[3], {call.shape(0)[2], call.shape(1)[2], call.shape(2)[2]});
    q = call.emit1("Add", {q, bias[0]});
    k = call.emit1("Add", {k, bias[1]});
    v = call.emit1("Add", {v, bias[2]});
  }
  Heads h{split_heads(call, q, heads), apart ? k : split_heads(call, k, heads),
          apart ? v : split_heads(call, v, heads)};
  const i64 past = take_past(call, h, 6);
  const ValueId y = merge_heads(call, attend(call, h, runtime_scores(call, h, call.input(4), call.input(5), past)));
  return {y, h.k, h.v};
}

// A bool says where a query may look; numbers are added.
ValueId mask_addend(const OnnxCall& call, ValueId mask, DType dtype) {
  return call.builder.type(mask).dtype == DType::boolean ? kept(call, mask, dtype) : mask;
}

// ONNX's: inputs Q, K, V, attn_mask?, past_key?, past_value?, of rank 4 or 3; fewer heads of keys than of queries.
Outputs attention(OnnxCall& call) {
  take_inputs(call, 6);
  const bool merged = call.rank(0) == 3;
  const auto heads_of = [&](size_t i, const char* key) {
    if (merged) return split_heads(call, call.need(i, "K or V"), call.attrs.get_int(key));
    require_rank(call, i, 4);
    return call.in[i];
  };
  Heads h{heads_of(0, "q_num_heads"), heads_of(1, "kv_num_heads"), heads_of(2, "kv_num_heads")};
  const i64 past = take_past(call, h, 4);
  const ValueId present_k = h.k, present_v = h.v;
  const i64 queries = call.builder.shape(h.q)[kHeads], keys = call.builder.shape(h.k)[kHeads];
  if (keys < 1 || queries % keys != 0) fail("{} heads of queries do not share {} of keys", queries, keys);
  h.k = repeated_heads(call, h.k, queries / keys);
  h.v = repeated_heads(call, h.v, queries / keys);

  const DType dtype = call.builder.type(h.q).dtype;
  Scores scores{scale_of(call, h), call.attrs.get_float("softcap", 0), {}};
  if (call.has(3)) scores.added.push_back(mask_addend(call, call.in[3], dtype));
  if (call.attrs.get_int("is_causal", 0) != 0) scores.added.push_back(causal(call, h, past));
  if (scores.softcap != 0 && !scores.added.empty()) fail("softcap together with a mask is not supported");
  const ValueId y = attend(call, h, scores);
  return {merged ? merge_heads(call, y) : y, present_k, present_v};
}

constexpr OnnxOp kOps[] = {
    {"Attention", attention, "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap",
     "no fourth output, no nonpad_kv_seqlen, no softcap with a mask"},
    {"com.microsoft.Attention", runtime_attention,
     "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes scale unidirectional",
     "masks of rank 1 to 3; no rotation, no shared buffer"},
    {"com.microsoft.QAttention", quantized_attention,
     "do_rotary mask_filter_value num_heads past_present_share_buffer scale unidirectional",
     "masks of rank 1 to 3; no rotation, no shared buffer"},
    {"com.microsoft.MultiHeadAttention", multi_head_attention, "mask_filter_value num_heads scale unidirectional",
     "masks of rank 1 to 3; query, key and value apart; no shared buffer, no output of scores"},
};

}  // namespace

std::span<const OnnxOp> attention_imports() { return kOps; }

}  // namespace mcc::frontend
