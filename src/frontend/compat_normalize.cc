// Softmax and normalisations. Until opset 12 Softmax flattened its input to a matrix; until opset 13 batch
// normalisation told training from inference by its outputs, since then by an attribute.
#include "frontend/importer.h"

namespace mcc::frontend {
namespace {

Outputs softmax(OnnxCall& call) {
  const Shape shape = call.shape(0);
  const i64 rank = call.rank(0);
  const bool flattens = call.opset < 13;
  const i64 axis = normalize_axis(call.attrs.get_int("axis", flattens ? 1 : -1), rank);
  if (!flattens || axis == rank - 1) return call.emit(call.op, {call.need(0, "input")}, make_attrs({{"axis", axis}}));
  const Shape left(shape.begin(), shape.begin() + axis), right(shape.begin() + axis, shape.end());
  const ValueId matrix = call.reshape(call.need(0, "input"), {elements(left), elements(right)});
  return {call.reshape(call.emit1(call.op, {matrix}, make_attrs({{"axis", i64{1}}})), shape)};
}

std::vector<i64> all_but_channels(i64 rank) {
  std::vector<i64> axes;
  for (i64 d = 0; d < rank; d++)
    if (d != 1) axes.push_back(d);
  return axes;
}

ValueId batch_mean(const OnnxCall& call, ValueId x, i64 keepdims) {
  return call.emit1("ReduceMean", {x},
                    make_attrs({{"axes", all_but_channels(call.builder.rank(x))}, {"keepdims", keepdims}}));
}

// old * momentum + now * (1 - momentum)
ValueId running(const OnnxCall& call, ValueId old, ValueId now) {
  const double momentum = static_cast<float>(call.attrs.get_float("momentum", 0.9));
  const DType dtype = call.builder.type(old).dtype;
  const ValueId kept = call.emit1("Mul", {old, call.scalar(dtype, momentum)});
  return call.emit1("Add", {kept, call.emit1("Mul", {now, call.scalar(dtype, 1 - momentum)})});
}

// Normalises by the statistics of the batch itself and gives the running statistics that would be kept, and its own:
// the mean and, as ONNX Runtime has it, one over the deviation.
Outputs batch_norm_training(OnnxCall& call, const Attrs& attrs) {
  const ValueId x = call.need(0, "X"), spread = call.emit1("Sub", {x, batch_mean(call, x, 1)});
  const ValueId mean = batch_mean(call, x, 0), variance = batch_mean(call, call.emit1("Mul", {spread, spread}), 0);
  Outputs results =
      call.emit("BatchNormalization", {x, call.need(1, "scale"), call.need(2, "B"), mean, variance}, attrs);
  results.push_back(running(call, call.need(3, "input_mean"), mean));
  results.push_back(running(call, call.need(4, "input_var"), variance));
  const ValueId epsilon = call.scalar(call.builder.type(x).dtype, attrs.get_float("epsilon", 0));
  const ValueId deviation = call.emit1("Sqrt", {call.emit1("Add", {variance, epsilon})});
  results.insert(results.end(), {mean, call.emit1("Reciprocal", {deviation})});
  return results;
}

Outputs batch_norm(OnnxCall& call) {
  if (call.opset < 9 && call.attrs.get_int("spatial", 1) == 0) fail("spatial = 0 is not supported");
  if (call.opset < 7 && call.attrs.get_int("is_test", 0) == 0) fail("training is not supported");
  const Attrs attrs = make_attrs({{"epsilon", call.attrs.get_float("epsilon", static_cast<double>(1e-5f))}});
  bool by_outputs = false;
  for (size_t i = 1; i < call.outputs(); i++) by_outputs |= call.wants(i);
  if (call.opset >= 14 ? call.attrs.get_int("training_mode", 0) != 0 : by_outputs)
    return batch_norm_training(call, attrs);
  return call.emit("BatchNormalization", call.in, attrs);
}

Outputs layer_norm(OnnxCall& call) {
  Attrs attrs = make_attrs({{"axis", normalize_axis(call.attrs.get_int("axis", -1), call.rank(0))},
                            {"epsilon", call.attrs.get_float("epsilon", static_cast<double>(1e-5f))}});
  std::vector<ValueId> inputs = call.in;
  while (!inputs.empty() && inputs.back() == kNone) inputs.pop_back();
  return call.builder.emit({"LayerNormalization", call.name, inputs, {}, std::move(attrs)}, call.wanted);
}

// x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis` on; the quotient is computed in f32 at least.
struct RootMeanNorm {
  ValueId y, root;
};
RootMeanNorm root_mean_norm(const OnnxCall& call, ValueId x, ValueId scale, i64 axis, double epsilon) {
  const TensorType type = call.builder.type(x);
  if (!is_float(type.dtype)) fail("input {} is not of a floating-point type", to_string(type));
  const DType wide = type.dtype == DType::f64 ? DType::f64 : DType::f32;
  std::vector<i64> axes = range(std::ssize(type.shape));
  axes.erase(axes.begin(), axes.begin() + normalize_axis(axis, std::ssize(type.shape)));
  const ValueId in = call.cast(x, wide), square = call.emit1("Mul", {in, in});
  const ValueId mean = call.emit1("ReduceMean", {square}, make_attrs({{"axes", axes}, {"keepdims", i64{1}}}));
  const ValueId root = call.emit1("Sqrt", {call.emit1("Add", {mean, call.scalar(wide, epsilon)})});
  const ValueId quotient = call.cast(call.emit1("Div", {in, root}), type.dtype);
  const ValueId y = call.emit1("Mul", {quotient, scale});
  if (call.builder.shape(y) != type.shape)
    fail("scale {} does not broadcast to {}", to_string(call.builder.shape(scale)), to_string(type.shape));
  return {y, root};
}

Outputs rms_norm(OnnxCall& call) {
  take_inputs(call, 2);
  const RootMeanNorm norm =
      root_mean_norm(call, call.need(0, "X"), call.need(1, "scale"), call.attrs.get_int("axis", -1),
                     call.attrs.get_float("epsilon", static_cast<double>(1e-5f)));
  return {norm.y, call.wants(1) ? call.emit1("Reciprocal", {norm.root}) : kNone};
}

// The sum of the input, a skip and perhaps a bias, normalised; the sum is the fourth output.
Outputs skip_norm(OnnxCall& call) {
  const bool simplified = call.op == "SkipSimplifiedLayerNormalization";
  const size_t bias = simplified ? 3 : 4;
  take_inputs(call, bias + 1);
  ValueId sum = call.emit1("Add", {call.need(0, "input"), call.need(1, "skip")});
  if (call.has(bias)) sum = call.emit1("Add", {sum, call.in[bias]});
  if (call.builder.shape(sum) != call.shape(0)) fail("the skip or the bias does not fit {}", to_string(call.shape(0)));
  const double epsilon = call.attrs.get_float("epsilon", static_cast<double>(1e-12f));
  const ValueId gamma = call.need(2, "gamma");
  const ValueId y = simplified ? root_mean_norm(call, sum, gamma, -1, epsilon).y
                               : call.emit1("LayerNormalization", {sum, gamma, call.input(3)},
                                            make_attrs({{"axis", i64{-1}}, {"epsilon", epsilon}}));
  return {y, kNone, kNone, sum};
}

Outputs group_norm(OnnxCall& call) {
  Attrs attrs = call.attrs;
  attrs.erase("stash_type");
  return call.emit("GroupNormalization", call.in, std::move(attrs));
}

constexpr OnnxOp kOps[] = {
    {"Softmax", softmax, "axis"},
    {"LogSoftmax", softmax, "axis"},
    {"Hardmax", softmax, "axis"},
    {"BatchNormalization", batch_norm, "epsilon momentum spatial is_test training_mode",
     "training from opset 7; spatial = 0 is refused"},
    {"LayerNormalization", layer_norm, "axis epsilon stash_type"},
    {"RMSNormalization", rms_norm, "axis epsilon stash_type"},
    {"SimplifiedLayerNormalization", rms_norm, "axis epsilon stash_type"},
    {"com.microsoft.SkipLayerNormalization", skip_norm, "epsilon", "no mean, no inv_std_var"},
    {"com.microsoft.SkipSimplifiedLayerNormalization", skip_norm, "epsilon", "no mean, no inv_std_var"},
    {"GroupNormalization", group_norm, "epsilon num_groups stash_type"},
    {"InstanceNormalization", import_plain, "epsilon"},
    {"LRN", import_plain, "alpha beta bias size"},
    {"MeanVarianceNormalization", import_plain, "axes"},
    {"LpNormalization", import_plain, "axis p"},
};

}  // namespace

std::span<const OnnxOp> normalize_imports() { return kOps; }

}  // namespace mcc::frontend
