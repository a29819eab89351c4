// Quantised operators. Missing zero points become zeros, so that the Graph's QuantizeLinear always shows its output
// type.
#include "frontend/compat_conv.h"
#include "frontend/onnx_weights.h"

namespace mcc::frontend {
namespace {

Attrs axis_and_block(const OnnxCall& call) {
  return make_attrs({{"axis", call.attrs.get_int("axis", 1)}, {"block_size", call.attrs.get_int("block_size", 0)}});
}

Outputs quantize_linear(OnnxCall& call) {
  const ValueId x = call.need(0, "x"), scale = call.need(1, "y_scale");
  const i64 wanted = call.attrs.get_int("output_dtype", 0);
  ValueId zero = call.input(2);
  if (zero == kNone) {
    const DType dtype = wanted == 0 ? DType::u8 : dtype_from_onnx(static_cast<int>(wanted), "output_dtype");
    require_small({dtype, call.builder.shape(scale)}, "the zero point");
    zero = call.constant(Tensor(TensorType{dtype, call.builder.shape(scale)}));
  }
  return call.emit("QuantizeLinear", {x, scale, zero}, axis_and_block(call));
}

Outputs dequantize_linear(OnnxCall& call) { return call.emit("DequantizeLinear", call.in, axis_and_block(call)); }

Outputs conv_integer(OnnxCall& call) {
  return call.emit("ConvInteger", call.in, conv_attrs(call, call.shape(0), call.builder.shape(call.need(1, "w"))));
}

Outputs qlinear_conv(OnnxCall& call) {
  return call.emit("QLinearConv", call.in, conv_attrs(call, call.shape(0), call.builder.shape(call.need(3, "w"))));
}

constexpr std::string_view kConvAttrs = "auto_pad dilations group kernel_shape pads strides";
constexpr OnnxOp kOps[] = {
    {"QuantizeLinear", quantize_linear, "axis block_size output_dtype saturate",
     "8-, 16- and 32-bit integers; no 8-bit floats"},
    {"DequantizeLinear", dequantize_linear, "axis block_size", "8-, 16- and 32-bit integers; no 8-bit floats"},
    {"DynamicQuantizeLinear", import_plain, ""},
    {"MatMulInteger", import_plain, ""},
    {"ConvInteger", conv_integer, kConvAttrs},
    {"QLinearMatMul", import_plain, ""},
    {"QLinearConv", qlinear_conv, kConvAttrs},
};

}  // namespace

std::span<const OnnxOp> quantize_imports() { return kOps; }

}  // namespace mcc::frontend
