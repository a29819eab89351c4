// Elementwise operators: most are the same in the Graph. The exceptions: Clip and Cast, whose parameters have moved
// between attributes and inputs, Dropout, which does nothing at inference, and fused activations of other domains.
#include "frontend/four_bits.h"
#include "frontend/onnx_weights.h"

namespace mcc::frontend {
namespace {

Outputs cast_to(OnnxCall& call, DType dtype) {
  const ValueId x = call.need(0, "input");
  if (call.builder.type(x).dtype == dtype) return {x};
  return call.emit("Cast", {x}, make_attrs({{"to", std::string(name(dtype))}}));
}

Outputs cast_to(OnnxCall& call, DType dtype, bool four_bits) {
  const Outputs y = cast_to(call, dtype);
  return four_bits ? Outputs{wrapped_to_four_bits(call, y[0])} : y;
}

Outputs cast(OnnxCall& call) {
  const i64 to = call.attrs.get_int("to");
  return cast_to(call, storage_dtype(to, "Cast to"), is_four_bits(to));
}

Outputs cast_like(OnnxCall& call) {
  const ValueId target = call.need(1, "target_type");
  return cast_to(call, call.builder.type(target).dtype, call.builder.four_bits.contains(target));
}

bool fits_attribute(const OnnxCall& call, size_t input) {
  const Tensor* bound = call.builder.known(call.in[input]);
  return bound && (bound->size() != 1 || is_exact_double(*bound, 0));
}

// One bound after the other, so that bounds that attributes cannot hold can take Max and Min: those that only become
// known when the model runs, and wide integers.
Outputs clip_in_steps(const OnnxCall& call) {
  ValueId result = call.need(0, "input");
  const struct {
    size_t input;
    const char *name, *op;
  } bounds[] = {{1, "min", "Max"}, {2, "max", "Min"}};
  for (const auto& bound : bounds) {
    if (!call.has(bound.input)) continue;
    if (fits_attribute(call, bound.input))
      result = call.emit1("Clip", {result}, make_attrs({{bound.name, call.known_number(bound.input, bound.name)}}));
    else
      result = call.emit1(bound.op, {result, call.in[bound.input]});
  }
  return {result};
}

// Bounds were attributes until opset 10.
Outputs clip(OnnxCall& call) {
  const ValueId x = call.need(0, "input");
  if (call.opset < 11) return call.emit("Clip", {x}, call.attrs);
  for (const size_t bound : {1, 2})
    if (call.has(bound) && !fits_attribute(call, bound)) return clip_in_steps(call);
  Attrs attrs;
  if (call.has(1)) attrs.set("min", call.known_number(1, "min"));
  if (call.has(2)) attrs.set("max", call.known_number(2, "max"));
  if (attrs.items.empty()) return {x};
  return call.emit("Clip", {x}, attrs);
}

// Until opset 6 the second operand was aligned with the first at an axis, not at the right.
Outputs binary(OnnxCall& call) {
  const ValueId a = call.need(0, "A");
  ValueId b = call.need(1, "B");
  if (call.opset >= 7 && (call.attrs.has("axis") || call.attrs.has("broadcast")))
    fail("attribute 'axis' ended with opset 6");
  if (call.attrs.has("axis")) {
    const i64 axis = normalize_axis(call.attrs.get_int("axis"), call.builder.rank(a));
    Shape shape = call.builder.shape(b);
    const size_t rank = shape.size() + at(axis);
    if (rank > call.builder.shape(a).size()) fail("B {} does not fit at axis {}", to_string(shape), axis);
    shape.resize(call.builder.shape(a).size() - at(axis), 1);
    b = call.reshape(b, shape);
  }
  return call.emit(call.op, {a, b});
}

// Until opset 6 a slope per channel was a plain list.
Outputs prelu(OnnxCall& call) {
  const ValueId x = call.need(0, "X"), slope = call.need(1, "slope");
  if (call.opset >= 7 || call.builder.rank(slope) != 1 || call.builder.rank(x) < 3)
    return call.emit("PRelu", {x, slope});
  Shape shape(at(call.builder.rank(x)) - 1, 1);
  shape[0] = call.builder.shape(slope)[0];
  return call.emit("PRelu", {x, call.reshape(slope, shape)});
}

// At inference the data passes and nothing is masked.
Outputs dropout(OnnxCall& call) {
  const ValueId x = call.need(0, "data");
  if (call.opset < 7 && call.attrs.get_int("is_test", 0) == 0) fail("training is not supported");
  const bool drops = !call.has(1) || call.known_number(1, "ratio") != 0;
  if (drops && call.has(2) && call.known_number(2, "training_mode") != 0) fail("training is not supported");
  Outputs results = {x};
  if (call.wants(1)) {
    const TensorType type{call.opset < 10 ? call.builder.type(x).dtype : DType::boolean, call.builder.shape(x)};
    call.builder.reserve_constant(type, "the mask");
    Tensor mask(type);
    for (i64 i = 0; i < mask.size(); i++) mask.set(i, 1);
    results.push_back(call.constant(std::move(mask)));
  }
  return results;
}

Outputs variadic(OnnxCall& call) {
  if (call.in.size() == 1) return {call.need(0, "input")};
  return import_plain(call);
}

Outputs gelu(OnnxCall& call) {
  return call.emit("Gelu", {call.need(0, "X")}, make_attrs({{"approximate", std::string("none")}}));
}

Outputs fast_gelu(OnnxCall& call) {
  ValueId x = call.need(0, "X");
  if (call.has(1)) x = call.emit1("Add", {x, call.in[1]});
  return call.emit("Gelu", {x}, make_attrs({{"approximate", std::string("tanh")}}));
}

Outputs bias_gelu(OnnxCall& call) {
  const ValueId sum = call.emit1("Add", {call.need(0, "A"), call.need(1, "B")});
  return call.emit("Gelu", {sum}, make_attrs({{"approximate", std::string("none")}}));
}

// x * sigmoid(alpha * x)
Outputs swish(OnnxCall& call) {
  const ValueId x = call.need(0, "X");
  const double otherwise = call.op == "Swish" ? 1 : 1.702;
  const ValueId alpha = call.scalar(call.builder.type(x).dtype, call.attrs.get_float("alpha", otherwise));
  return call.emit("Mul", {x, call.emit1("Sigmoid", {call.emit1("Mul", {x, alpha})})});
}

constexpr OnnxOp kOps[] = {
    {"Cast", cast, "to saturate"},
    {"CastLike", cast_like, "saturate"},
    {"Clip", clip, "min max", "bounds of any kind; unknown ones become Max and Min"},
    {"Dropout", dropout, "seed ratio is_test", "inference only: the data passes"},
    {"Max", variadic, ""},
    {"Min", variadic, ""},
    {"Sum", variadic, ""},
    {"Mean", variadic, ""},
    {"Abs", import_plain, ""},
    {"Acos", import_plain, ""},
    {"Acosh", import_plain, ""},
    {"Asin", import_plain, ""},
    {"Asinh", import_plain, ""},
    {"Atan", import_plain, ""},
    {"Atanh", import_plain, ""},
    {"BitwiseNot", import_plain, ""},
    {"Ceil", import_plain, ""},
    {"Celu", import_plain, "alpha"},
    {"Cos", import_plain, ""},
    {"Cosh", import_plain, ""},
    {"Elu", import_plain, "alpha"},
    {"Erf", import_plain, ""},
    {"Exp", import_plain, ""},
    {"Floor", import_plain, ""},
    {"Gelu", import_plain, "approximate"},
    {"HardSigmoid", import_plain, "alpha beta"},
    {"HardSwish", import_plain, ""},
    {"IsInf", import_plain, "detect_negative detect_positive"},
    {"IsNaN", import_plain, ""},
    {"LeakyRelu", import_plain, "alpha"},
    {"Log", import_plain, ""},
    {"Mish", import_plain, ""},
    {"Neg", import_plain, ""},
    {"Not", import_plain, ""},
    {"Reciprocal", import_plain, ""},
    {"Relu", import_plain, ""},
    {"Round", import_plain, ""},
    {"Selu", import_plain, "alpha gamma"},
    {"Shrink", import_plain, "bias lambd"},
    {"Sigmoid", import_plain, ""},
    {"Sign", import_plain, ""},
    {"Sin", import_plain, ""},
    {"Sinh", import_plain, ""},
    {"Softplus", import_plain, ""},
    {"Softsign", import_plain, ""},
    {"Sqrt", import_plain, ""},
    {"Swish", swish, "alpha"},
    {"Tan", import_plain, ""},
    {"Tanh", import_plain, ""},
    {"ThresholdedRelu", import_plain, "alpha"},
    {"Add", binary, "axis broadcast"},
    {"And", binary, "axis broadcast"},
    {"BitShift", import_plain, "direction"},
    {"BitwiseAnd", import_plain, ""},
    {"BitwiseOr", import_plain, ""},
    {"BitwiseXor", import_plain, ""},
    {"Div", binary, "axis broadcast"},
    {"Equal", binary, "axis broadcast"},
    {"Greater", binary, "axis broadcast"},
    {"GreaterOrEqual", import_plain, ""},
    {"Less", binary, "axis broadcast"},
    {"LessOrEqual", import_plain, ""},
    {"Mod", import_plain, "fmod"},
    {"Mul", binary, "axis broadcast"},
    {"Or", binary, "axis broadcast"},
    {"PRelu", prelu, ""},
    {"Pow", binary, "axis broadcast"},
    {"Sub", binary, "axis broadcast"},
    {"Where", import_plain, ""},
    {"Xor", binary, "axis broadcast"},
    {"com.microsoft.Gelu", gelu, ""},
    {"com.microsoft.FastGelu", fast_gelu, ""},
    {"com.microsoft.BiasGelu", bias_gelu, ""},
    {"com.microsoft.QuickGelu", swish, "alpha"},
};

}  // namespace

std::span<const OnnxOp> elementwise_imports() { return kOps; }

}  // namespace mcc::frontend
