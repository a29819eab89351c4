// Values whose length along one axis is only known when the model runs: what NonZero, Unique, NonMaxSuppression and
// loops with a condition give, and what is computed from it.
//
// The graph has static shapes. Such a value has the largest length there can be, and the builder remembers at which
// axis and which value counts what is real. What lies beyond is computed along and means nothing. Here are the rules by
// which the count passes through operators: most keep it, or move its axis; a reduction over the axis first puts a
// neutral number where nothing is real. An operator without a rule refuses such a value.
#include "frontend/counted.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mcc::frontend {
namespace {

const Counted* count_of(const OnnxCall& call, size_t i) {
  if (!call.has(i)) return nullptr;
  const auto found = call.builder.counted.find(call.in[i]);
  return found == call.builder.counted.end() ? nullptr : &found->second;
}

[[noreturn]] void refuse(const OnnxCall& call, size_t i) {
  fail("the length of input {} depends on data (at most {}); this is not supported here", i,
       call.shape(i)[at(count_of(call, i)->axis)]);
}

i64 product(const Shape& shape, size_t first, size_t end) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(first),
                         shape.begin() + static_cast<std::ptrdiff_t>(end), i64{1}, std::multiplies<>());
}

ValueId int_scalar(const OnnxCall& call, i64 value) { return call.constant(Tensor::of<i64>(DType::i64, {}, {value})); }

// --- rules: the count of the node's results --------------------------------------------------------------------------

// Operands are aligned at the right; beside a counted axis the others must have the same count, or nothing to align.
Counted elementwise(const OnnxCall& call, const Outputs& out) {
  Counted result;
  i64 from_right = -1;
  for (size_t i = 0; i < call.in.size(); i++) {
    const Counted* counted = count_of(call, i);
    if (!counted) continue;
    const i64 place = call.rank(i) - counted->axis;
    if (from_right >= 0 && (place != from_right || counted->count != result.count)) refuse(call, i);
    from_right = place;
    result.count = counted->count;
  }
  for (size_t i = 0; i < call.in.size(); i++)
    if (call.has(i) && !count_of(call, i) && call.rank(i) >= from_right &&
        call.shape(i)[at(call.rank(i) - from_right)] != 1)
      fail("input {} has the fixed length {} where that of another depends on data", i,
           call.shape(i)[at(call.rank(i) - from_right)]);
  result.axis = call.builder.rank(out[0]) - from_right;
  return result;
}

// The axis is kept where as many elements lie before it as did; as the first one it may be merged with those after it.
Counted reshaped(const OnnxCall& call, const Outputs& out) {
  const Counted counted = *count_of(call, 0);
  const Shape &from = call.shape(0), &to = call.builder.shape(out[0]);
  const i64 length = from[at(counted.axis)], before = product(from, 0, at(counted.axis));
  for (size_t d = 0; d < to.size(); d++)
    if (to[d] == length && product(to, 0, d) == before) return {static_cast<i64>(d), counted.count};
  for (size_t d = 0; d < to.size() && before == 1 && length > 0; d++) {
    if (product(to, 0, d) != 1 || to[d] % length != 0 || to[d] == 1) continue;
    return {static_cast<i64>(d), call.emit1("Mul", {counted.count, int_scalar(call, to[d] / length)})};
  }
  refuse(call, 0);
}

Counted transposed(const OnnxCall& call, const Outputs&) {
  std::vector<i64> reversed = range(call.rank(0));
  std::reverse(reversed.begin(), reversed.end());
  const std::vector<i64> perm = call.attrs.get_ints("perm", reversed);
  const Counted counted = *count_of(call, 0);
  return {std::find(perm.begin(), perm.end(), counted.axis) - perm.begin(), counted.count};
}

Counted gathered_nd(const OnnxCall& call, const Outputs&) {
  if (count_of(call, 0)) refuse(call, 0);
  const Counted counted = *count_of(call, 1);
  if (counted.axis == call.rank(1) - 1) refuse(call, 1);
  return counted;
}

Counted concatenated(const OnnxCall& call, const Outputs&) {
  const i64 axis = normalize_axis(call.attrs.get_int("axis", 1), call.rank(0));
  const Counted* first = count_of(call, 0);
  for (size_t i = 0; i < call.in.size(); i++) {
    const Counted* counted = count_of(call, i);
    if (!counted || !first) fail("some inputs have a fixed length where that of others depends on data");
    if (counted->axis == axis || counted->axis != first->axis || counted->count != first->count) refuse(call, i);
  }
  return *first;
}

Counted sliced(const OnnxCall& call, const Outputs&) {
  const Counted counted = *count_of(call, 0);
  const std::vector<i64> starts = call.ints_from(1, "starts"), ends = call.ints_from(2, "ends");
  const std::vector<i64> axes = call.ints_from(3, "axes", range(static_cast<i64>(starts.size())));
  for (size_t i = 0; i < axes.size() && i < starts.size() && i < ends.size(); i++) {
    if (normalize_axis(axes[i], call.rank(0)) != counted.axis) continue;
    const i64 step = call.has(4) ? call.known_ints(4, "steps")[i] : 1;
    if (starts[i] < 0 || ends[i] < 0 || step != 1) refuse(call, 0);
    const ValueId upto = call.emit1("Min", {counted.count, int_scalar(call, ends[i])});
    const ValueId rest = call.emit1("Sub", {upto, int_scalar(call, starts[i])});
    return {counted.axis, call.emit1("Max", {rest, int_scalar(call, 0)})};
  }
  return counted;
}

// Operators that work along one axis, which must be another.
Counted along_axis(const OnnxCall& call, const Outputs&, i64 otherwise) {
  const Counted counted = *count_of(call, 0);
  const bool flattens = call.op != "Split" && call.opset < 13;
  const i64 axis = normalize_axis(call.attrs.get_int("axis", otherwise), call.rank(0));
  if (flattens ? counted.axis >= axis : counted.axis == axis) refuse(call, 0);
  return counted;
}
Counted split(const OnnxCall& call, const Outputs& out) { return along_axis(call, out, 0); }
Counted softmax(const OnnxCall& call, const Outputs& out) { return along_axis(call, out, call.opset < 13 ? 1 : -1); }

// What normalises all axes from one on, with a scale and a bias for them.
Counted normalized(const OnnxCall& call, const Outputs&) {
  for (size_t i = 1; i < call.in.size(); i++)
    if (count_of(call, i)) refuse(call, i);
  const Counted counted = *count_of(call, 0);
  if (counted.axis >= normalize_axis(call.attrs.get_int("axis", -1), call.rank(0))) refuse(call, 0);
  return counted;
}

// The rows of the left matrix, or its batch.
Counted product_rows(const OnnxCall& call, const Outputs& out) {
  for (size_t i = 1; i < call.in.size(); i++)
    if (count_of(call, i)) refuse(call, i);
  const Counted counted = *count_of(call, 0);
  const i64 from_right = call.rank(0) - counted.axis;
  if (from_right < 2 || call.rank(1) != 2 || call.attrs.get_int("transA", 0) != 0) refuse(call, 0);
  if (call.has(2) && call.rank(2) == 2 && call.shape(2)[0] != 1) refuse(call, 0);
  return {call.builder.rank(out[0]) - from_right, counted.count};
}

// --- what is done to inputs before -----------------------------------------------------------------------------------

void mask_input(OnnxCall& call, size_t i, double fill) { call.in[i] = masked(call, call.in[i], fill); }

void mask_all_with_zero(OnnxCall& call) {
  for (size_t i = 0; i < call.in.size(); i++)
    if (call.has(i)) mask_input(call, i, 0);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Neutral {
  std::string_view op;
  double fill;
};
constexpr Neutral kNeutral[] = {{"ReduceSum", 0},          {"ReduceMean", 0},      {"ReduceL1", 0},
                                {"ReduceL2", 0},           {"ReduceProd", 1},      {"ReduceSumSquare", 0},
                                {"ReduceMax", -kInfinity}, {"ArgMax", -kInfinity}, {"ReduceMin", kInfinity},
                                {"ArgMin", kInfinity}};

Outputs reduce(OnnxCall& call, const OnnxOp& op) {
  const Counted counted = *count_of(call, 0);
  const i64 rank = call.rank(0);
  const bool arg = call.op.starts_with("Arg");
  std::vector<i64> axes = arg ? std::vector<i64>{call.attrs.get_int("axis", 0)} : call.ints_from(1, "axes");
  axes = normalize_axes(axes, rank);
  if (axes.empty() && call.attrs.get_int("noop_with_empty_axes", 0) == 0) axes = range(rank);
  if (!std::binary_search(axes.begin(), axes.end(), counted.axis)) {
    const Outputs out = op.import(call);
    const i64 gone = std::lower_bound(axes.begin(), axes.end(), counted.axis) - axes.begin();
    call.builder.counted[out[0]] = {counted.axis - (call.attrs.get_int("keepdims", 1) != 0 ? 0 : gone), counted.count};
    return out;
  }
  const i64 length = call.shape(0)[at(counted.axis)];
  const auto* neutral =
      std::find_if(std::begin(kNeutral), std::end(kNeutral), [&](const Neutral& row) { return row.op == call.op; });
  if (neutral == std::end(kNeutral)) refuse(call, 0);
  mask_input(call, 0, neutral->fill);
  Outputs out = op.import(call);
  if (call.op != "ReduceMean") return out;
  const DType dtype = call.builder.type(out[0]).dtype;
  const ValueId real = call.emit1("Cast", {counted.count}, make_attrs({{"to", std::string(name(dtype))}}));
  const ValueId sum = call.emit1("Mul", {out[0], call.scalar(dtype, static_cast<double>(length))});
  return call.emit("Div", {sum, real});
}

Outputs top_k(OnnxCall& call, const OnnxOp& op) {
  const Counted counted = *count_of(call, 0);
  if (counted.axis != normalize_axis(call.attrs.get_int("axis", -1), call.rank(0))) refuse(call, 0);
  mask_input(call, 0, call.attrs.get_int("largest", 1) != 0 ? -kInfinity : kInfinity);
  return op.import(call);
}

// A mask selects nothing beyond the data that it is for.
Outputs compress(OnnxCall& call, const OnnxOp& op) {
  const Counted* data = count_of(call, 0);
  if (data && !count_of(call, 1)) {
    if (!call.attrs.has("axis") || normalize_axis(call.attrs.get_int("axis"), call.rank(0)) != data->axis)
      refuse(call, 0);
    call.builder.counted[call.need(1, "condition")] = {0, data->count};
  }
  mask_input(call, 1, 0);
  return op.import(call);
}

// Of boxes that are not real the scores are the least there can be.
Outputs suppress(OnnxCall& call, const OnnxOp& op) {
  mask_input(call, 1, -kInfinity);
  return op.import(call);
}

// Indices into an axis that is counted itself; negative ones count from its real end.
ValueId from_real_end(const OnnxCall& call, ValueId indices, ValueId count) {
  const DType dtype = call.builder.type(indices).dtype;
  if (dtype != DType::i64) count = call.emit1("Cast", {count}, make_attrs({{"to", std::string(name(dtype))}}));
  const ValueId negative = call.emit1("Less", {indices, call.scalar(dtype, 0)});
  return call.emit1("Where", {negative, call.emit1("Add", {indices, count}), indices});
}

Outputs gather(OnnxCall& call, const OnnxOp& op) {
  const i64 axis = normalize_axis(call.attrs.get_int("axis", 0), call.rank(0));
  const Counted *data = count_of(call, 0), *indices = count_of(call, 1);
  const bool along = data && data->axis == axis;
  if (data && indices && !along) refuse(call, 0);
  if (along) call.in[1] = from_real_end(call, call.need(1, "indices"), data->count);
  const Outputs out = op.import(call);
  if (indices)
    call.builder.counted[out[0]] = {axis + indices->axis, indices->count};
  else if (!along)
    call.builder.counted[out[0]] = {data->axis < axis ? data->axis : data->axis + call.rank(1) - 1, data->count};
  return out;
}

// Indices and updates of one count: what is not real goes to a row behind the data, which is cut off again.
Outputs scatter_nd(OnnxCall& call, const OnnxOp& op) {
  const Counted *indices = count_of(call, 1), *updates = count_of(call, 2);
  if (count_of(call, 0)) refuse(call, 0);
  const bool fits = indices && updates && indices->count == updates->count && indices->axis + updates->axis == 0 &&
                    call.rank(1) == 2 && call.shape(1)[1] >= 1 && call.shape(1)[1] <= call.rank(0);
  if (!fits) refuse(call, indices ? 1 : 2);
  const Shape data = call.shape(0);
  if (elements(data) == 0) return {call.in[0]};
  Shape row = data;
  row[0] = 1;
  call.builder.reserve_constant({call.dtype(0), row}, "a row");
  const ValueId behind = call.constant(Tensor(TensorType{call.dtype(0), row}));
  const i64 most = call.shape(1)[0], depth = call.shape(1)[1];
  std::vector<i64> extents(data.begin(), data.begin() + depth), nowhere(at(depth), 0);
  nowhere[0] = data[0];
  const auto list = [&](const std::vector<i64>& v) { return call.constant(Tensor::of<i64>(DType::i64, {depth}, v)); };
  const ValueId real = call.emit1("Less", {positions(call, most, {most, 1}), indices->count});
  call.in[1] = call.emit1("Where", {real, from_real_end(call, call.in[1], list(extents)), list(nowhere)});
  call.in[0] = call.emit1("Concat", {call.in[0], behind}, make_attrs({{"axis", i64{0}}}));
  return {slice(call, op.import(call)[0], 0, 0, data[0])};
}

Outputs select_all(OnnxCall& call, const OnnxOp& op) {
  mask_all_with_zero(call);
  return op.import(call);
}

Outputs looks_at_shape(OnnxCall& call, const OnnxOp&) {
  const ValueId shape = true_shape(call.builder, call.name, call.need(0, "input"));
  if (call.op == "Size")
    return call.emit("ReduceProd", {shape}, make_attrs({{"axes", std::vector<i64>{0}}, {"keepdims", i64{0}}}));
  const i64 rank = call.rank(0);
  const auto place = [&](i64 i) { return std::clamp(i < 0 ? i + rank : i, i64{0}, rank); };
  const i64 start = place(call.attrs.get_int("start", 0)), end = place(call.attrs.get_int("end", rank));
  return {slice(call, shape, 0, start, std::max(start, end))};
}

// The same value under another name.
Counted kept(const OnnxCall& call, const Outputs&) { return *count_of(call, 0); }

// Either `count` says what the count of all results is, or `import` does everything.
struct Rule {
  std::string_view op;
  Counted (*count)(const OnnxCall&, const Outputs&);
  Outputs (*import)(OnnxCall&, const OnnxOp&);
};
constexpr Rule kRules[] = {
    {"Reshape", reshaped, nullptr},
    {"Squeeze", reshaped, nullptr},
    {"Unsqueeze", reshaped, nullptr},
    {"Flatten", reshaped, nullptr},
    {"Transpose", transposed, nullptr},
    {"Gather", nullptr, gather},
    {"GatherND", gathered_nd, nullptr},
    {"Concat", concatenated, nullptr},
    {"Slice", sliced, nullptr},
    {"Split", split, nullptr},
    {"Softmax", softmax, nullptr},
    {"LogSoftmax", softmax, nullptr},
    {"MatMul", product_rows, nullptr},
    {"Gemm", product_rows, nullptr},
    {"TopK", nullptr, top_k},
    {"Compress", nullptr, compress},
    {"NonZero", nullptr, select_all},
    {"NonMaxSuppression", nullptr, suppress},
    {"Shape", nullptr, looks_at_shape},
    {"Size", nullptr, looks_at_shape},
    {"ArgMax", nullptr, reduce},
    {"ArgMin", nullptr, reduce},
    {"ReduceSum", nullptr, reduce},
    {"ReduceMean", nullptr, reduce},
    {"ReduceMax", nullptr, reduce},
    {"ReduceMin", nullptr, reduce},
    {"ReduceProd", nullptr, reduce},
    {"ReduceL1", nullptr, reduce},
    {"ReduceL2", nullptr, reduce},
    {"ReduceSumSquare", nullptr, reduce},
    {"ReduceLogSum", nullptr, reduce},
    {"ReduceLogSumExp", nullptr, reduce},
    {"Identity", kept, nullptr},
    {"ScatterND", nullptr, scatter_nd},
    {"LayerNormalization", normalized, nullptr},
    {"RMSNormalization", normalized, nullptr},
    {"SimplifiedLayerNormalization", normalized, nullptr},
};

bool is_elementwise(const OnnxOp& op) {
  const std::span<const OnnxOp> all = elementwise_imports();
  return std::any_of(all.begin(), all.end(), [&](const OnnxOp& row) { return row.name == op.name; });
}

}  // namespace

bool has_counted_input(const OnnxCall& call) {
  if (call.builder.counted.empty()) return false;
  return std::any_of(call.in.begin(), call.in.end(), [&](ValueId v) { return call.builder.counted.contains(v); });
}

Outputs import_counted(OnnxCall& call, const OnnxOp& op) {
  const Rule* rule =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& row) { return row.op == op.name; });
  const bool listed = rule != std::end(kRules);
  if (!listed && !is_elementwise(op))
    for (size_t i = 0; i < call.in.size(); i++)
      if (count_of(call, i)) refuse(call, i);
  if (listed && rule->import) return rule->import(call, op);
  const Outputs out = op.import(call);
  const Counted counted = listed ? rule->count(call, out) : elementwise(call, out);
  for (const ValueId v : out)
    if (v >= 0 && !call.builder.known(v)) call.builder.counted[v] = counted;
  return out;
}

ValueId with_count(const OnnxCall& call, ValueId v, i64 axis, ValueId count) {
  if (const Tensor* known = call.builder.known(count)) return slice(call, v, axis, 0, known->get_int(0));
  call.builder.counted[v] = {axis, count};
  return v;
}

ValueId masked(const OnnxCall& call, ValueId v, double fill) {
  const auto found = call.builder.counted.find(v);
  if (found == call.builder.counted.end()) return v;
  const Counted counted = found->second;
  const TensorType type = call.builder.type(v);
  Shape beside(type.shape.size(), 1);
  beside[at(counted.axis)] = type.shape[at(counted.axis)];
  const ValueId places = call.constant(Tensor::of<i64>(DType::i64, beside, range(type.shape[at(counted.axis)])));
  const ValueId real = call.emit1("Less", {places, counted.count});
  if (type.dtype == DType::boolean) return call.emit1("And", {v, real});
  Tensor filler(TensorType{type.dtype, {}});
  if (is_int(type.dtype) && std::isinf(fill))
    filler.set_int(0, fill < 0 ? min_value(type.dtype) : max_value(type.dtype));
  else
    filler.set(0, fill);
  return call.emit1("Where", {real, v, call.constant(std::move(filler))});
}

ValueId true_shape(Builder& builder, const std::string& name, ValueId v) {
  const Counted counted = builder.counted.at(v);
  const Shape shape = builder.shape(v);
  const auto emit = [&](std::string op, std::vector<ValueId> in, Attrs attrs) {
    return builder.emit({std::move(op), name, std::move(in), {}, std::move(attrs)}, {true})[0];
  };
  std::vector<ValueId> parts = {emit("Reshape", {counted.count}, make_attrs({{"shape", std::vector<i64>{1}}}))};
  const auto fixed = [&](size_t first, size_t end) {
    const std::vector<i64> extents(shape.begin() + static_cast<std::ptrdiff_t>(first),
                                   shape.begin() + static_cast<std::ptrdiff_t>(end));
    return builder.constant(name, Tensor::of<i64>(DType::i64, {static_cast<i64>(extents.size())}, extents));
  };
  if (counted.axis > 0) parts.insert(parts.begin(), fixed(0, at(counted.axis)));
  if (at(counted.axis) + 1 < shape.size()) parts.push_back(fixed(at(counted.axis) + 1, shape.size()));
  if (parts.size() == 1) return parts[0];
  return emit("Concat", parts, make_attrs({{"axis", i64{0}}}));
}

}  // namespace mcc::frontend
