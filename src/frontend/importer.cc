// The Graph under construction, and what a handler can ask of its node; see importer.h.
#include "frontend/importer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "base/text.h"
#include "ops/work.h"

namespace mcc::frontend {
namespace {

constexpr size_t kMaxSequenceItems = size_t{1} << 24;  // of all together, each step of making one counted
constexpr i64 kMaxConstantBytes = i64{256} << 20;      // of one folded value
constexpr i64 kMaxFoldedBytes = i64{1} << 30;          // of all folded and made-up values together
constexpr i64 kMaxValueBytes = i64{1} << 46;  // far from where offsets, and their products with strides, overflow

}  // namespace

void require_possible(const TensorType& type, std::string_view what) {
  if (bytes(type) > kMaxValueBytes) fail("{} {} has more than {} TiB", what, to_string(type), kMaxValueBytes >> 40);
}

void Builder::reserve_constant(const TensorType& type, std::string_view what) {
  if (bytes(type) > kMaxConstantBytes)
    fail("{} {} would be a constant of more than {} MiB", what, to_string(type), kMaxConstantBytes >> 20);
  folded_bytes_ += bytes(type);
  if (folded_bytes_ > kMaxFoldedBytes)
    fail("{} {}: computed constants would have more than {} MiB together", what, to_string(type),
         kMaxFoldedBytes >> 20);
}

ValueId Builder::constant(const std::string& name, Tensor tensor) {
  return graph.add_constant(unique(name), std::move(tensor));
}

TensorType Builder::type(ValueId v) const {
  if (v < 0) fail("a sequence or an empty optional stands where a tensor is needed");
  return graph.value(v).type;
}

ValueId Builder::add_sequence(std::vector<ValueId> items) {
  sequence_items_ += items.size();
  if (sequence_items_ > kMaxSequenceItems)
    fail("the sequences of the model hold more than {} tensors", kMaxSequenceItems);
  sequences_.push_back(std::move(items));
  return kEmptyOptional - static_cast<ValueId>(sequences_.size());
}

std::string Builder::unique(const std::string& name) {
  std::string base = name.empty() ? "value" : name;
  const auto [found, is_new] = taken_.try_emplace(base, 0);
  if (is_new) return base;
  for (int& count = found->second;;) {
    std::string next = fmt::format("{}_{}", base, ++count);
    if (!taken_.contains(next)) {
      taken_.emplace(next, 0);
      return next;
    }
  }
}

bool Builder::worth_folding(const Node& node, const std::vector<TensorType>& out) {
  std::vector<TensorType> in;
  for (const ValueId v : node.in) {
    if (v != kNone && !known(v)) return false;
    in.push_back(v == kNone ? missing_type() : type(v));
  }
  i64 total = 0;
  for (const TensorType& type : out) {
    if (is_missing(type)) continue;
    if (bytes(type) > kMaxConstantBytes) return false;
    total += bytes(type);
  }
  if (folded_bytes_ + total > kMaxFoldedBytes || work_estimate(node, in, out) > kMaxFoldingWork) return false;
  folded_bytes_ += total;
  return true;
}

std::vector<ValueId> Builder::emit(Node node, const std::vector<bool>& wanted) {
  std::vector<TensorType> in;
  for (const ValueId v : node.in) in.push_back(v == kNone ? missing_type() : type(v));
  for (const bool is_wanted : wanted) node.out.push_back(is_wanted ? 0 : kNone);
  const std::vector<TensorType> out = infer_types(node, in);
  for (const TensorType& type : out) {
    if (!is_missing(type)) require_possible(type, "the result");
  }
  if (worth_folding(node, out)) {
    std::vector<const Tensor*> data;
    for (const ValueId v : node.in) data.push_back(known(v));
    std::vector<Tensor> results = evaluate(node, data, in);
    for (size_t i = 0; i < wanted.size(); i++)
      if (wanted[i]) node.out[i] = constant(node.name, std::move(results[i]));
    return node.out;
  }
  for (size_t i = 0; i < wanted.size(); i++)
    if (wanted[i]) node.out[i] = graph.add_value(unique(node.name), out[i]);
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().out;
}

std::vector<std::string> Builder::inputs_behind(ValueId v) const {
  const std::vector<int> made_by = producers(graph);
  std::vector<bool> seen(graph.values.size());
  std::vector<ValueId> open = {v};
  while (!open.empty()) {
    const ValueId next = open.back();
    open.pop_back();
    if (next < 0 || seen[at(next)]) continue;
    seen[at(next)] = true;
    const int node = made_by[at(next)];
    if (node >= 0) open.insert(open.end(), graph.nodes[at(node)].in.begin(), graph.nodes[at(node)].in.end());
  }
  std::vector<std::string> names;
  for (const ValueId input : graph.inputs)
    if (seen[at(input)]) names.push_back(graph.value(input).name);
  return names;
}

ValueId OnnxCall::need(size_t i, std::string_view what) const {
  if (!has(i)) fail("input {} ('{}') is missing", i, what);
  return in[i];
}

const Tensor& OnnxCall::known(size_t i, std::string_view what) const {
  const ValueId v = need(i, what);
  if (const Tensor* tensor = builder.known(v)) return *tensor;
  std::vector<std::string> options;
  for (const std::string& input : builder.inputs_behind(v)) options.push_back(fmt::format("--bind={}=VALUE", input));
  if (options.empty()) fail("input '{}' must be known at compile time, but is too large to be computed there", what);
  if (options.size() > 4) {
    options.resize(4);
    options.emplace_back("...");
  }
  fail("input '{}' must be known at compile time, but depends on the model's inputs; give {}", what,
       join(options, " "));
}

bool is_exact_double(const Tensor& tensor, i64 i) {
  const DType dtype = tensor.type.dtype;
  if (!is_int(dtype) || size_of(dtype) < 8) return true;
  constexpr i64 kExact = i64{1} << 53;
  const i64 value = tensor.get_int(i), largest = dtype == DType::u64 ? -1 : max_value(dtype);
  const bool small = value <= kExact && value >= (dtype == DType::u64 ? 0 : -kExact);
  return small || value == largest || (dtype == DType::i64 && value == min_value(dtype));
}

std::vector<i64> OnnxCall::known_ints(size_t i, std::string_view what) const {
  const Tensor& tensor = known(i, what);
  if (!is_int(tensor.type.dtype)) fail("input '{}' is {}, not integers", what, mcc::name(tensor.type.dtype));
  if (tensor.size() > (1 << 20)) fail("input '{}' has {} elements", what, tensor.size());
  return to_ints(tensor);
}

i64 OnnxCall::known_int(size_t i, std::string_view what) const {
  const std::vector<i64> values = known_ints(i, what);
  if (values.size() != 1) fail("input '{}' has {} elements instead of one", what, values.size());
  return values[0];
}

double OnnxCall::known_number(size_t i, std::string_view what) const {
  const Tensor& tensor = known(i, what);
  if (tensor.size() != 1) fail("input '{}' has {} elements instead of one", what, tensor.size());
  if (!is_exact_double(tensor, 0)) fail("input '{}' is {}: beyond 2^53 it is not supported", what, tensor.get_int(0));
  return tensor.get(0);
}

std::vector<i64> OnnxCall::ints_from(size_t i, const std::string& key, std::vector<i64> otherwise) const {
  if (attrs.has(key)) return attrs.get_ints(key);
  if (has(i)) return known_ints(i, key);
  return otherwise;
}

Outputs OnnxCall::emit(std::string new_op, std::vector<ValueId> inputs, Attrs new_attrs, int count) const {
  while (!inputs.empty() && inputs.back() == kNone) inputs.pop_back();
  return builder.emit({std::move(new_op), name, std::move(inputs), {}, std::move(new_attrs)},
                      std::vector<bool>(at(count), true));
}

ValueId OnnxCall::scalar(DType dtype, double value) const {
  Tensor tensor(TensorType{dtype, {}});
  tensor.set(0, value);
  return constant(std::move(tensor));
}

ValueId OnnxCall::reshape(ValueId v, Shape shape) const {
  if (builder.shape(v) == shape) return v;
  return emit1("Reshape", {v}, make_attrs({{"shape", std::move(shape)}}));
}

ValueId OnnxCall::transpose(ValueId v, std::vector<i64> perm) const {
  return emit1("Transpose", {v}, make_attrs({{"perm", std::move(perm)}}));
}

ValueId OnnxCall::cast(ValueId v, DType dtype) const {
  if (builder.type(v).dtype == dtype) return v;
  return emit1("Cast", {v}, make_attrs({{"to", std::string(mcc::name(dtype))}}));
}

void take_inputs(const OnnxCall& call, size_t most) {
  for (size_t i = most; i < call.in.size(); i++)
    if (call.has(i)) fail("takes at most {} inputs, not {}", most, call.in.size());
}

void require_rank(const OnnxCall& call, size_t i, i64 rank) {
  if (call.rank(i) != rank) fail("input {} {} is not of rank {}", i, to_string(call.shape(i)), rank);
}

ValueId positions(const OnnxCall& call, i64 count, Shape shape) {
  call.builder.reserve_constant({DType::i64, shape}, "a list of positions");
  return call.constant(Tensor::of<i64>(DType::i64, std::move(shape), range(count)));
}

ValueId rows_of(const OnnxCall& call, ValueId table, ValueId indices) {
  return call.emit1("Gather", {table, indices}, make_attrs({{"axis", i64{0}}}));
}

std::vector<i64> small_ints(std::vector<i64> values, std::string_view what, i64 least, size_t count) {
  if (values.size() != count) fail("'{}' has {} entries instead of {}", what, values.size(), count);
  for (const i64 value : values)
    if (value < least || value > (i64{1} << 30)) fail("'{}' has the entry {}", what, value);
  return values;
}

ValueId slice(const OnnxCall& call, ValueId v, i64 axis, i64 start, i64 end) {
  if (start == 0 && end == call.builder.shape(v)[at(axis)]) return v;
  return call.emit1("Slice", {v},
                    make_attrs({{"starts", std::vector<i64>{start}},
                                {"ends", std::vector<i64>{end}},
                                {"axes", std::vector<i64>{axis}},
                                {"steps", std::vector<i64>{1}}}));
}

Attrs make_attrs(std::initializer_list<std::pair<const char*, AttrValue>> items) {
  Attrs attrs;
  for (const auto& [name, value] : items) attrs.set(name, value);
  return attrs;
}

std::vector<i64> range(i64 n) {
  std::vector<i64> values(at(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

std::vector<i64> normalize_axes(std::vector<i64> axes, i64 rank) {
  for (i64& axis : axes) axis = normalize_axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) fail("an axis is given twice");
  return axes;
}

Outputs import_plain(OnnxCall& call) {
  std::vector<ValueId> inputs = call.in;
  while (!inputs.empty() && inputs.back() == kNone) inputs.pop_back();
  return call.builder.emit({call.op, call.name, std::move(inputs), {}, call.attrs}, call.wanted);
}

}  // namespace mcc::frontend
