// Quantised operators. Missing zero points become zeros, so that the Graph's QuantizeLinear always shows its output
// type.
#include "frontend/compat_conv.h"
#include "frontend/four_bits.h"
#include "frontend/onnx_weights.h"

namespace mcc::frontend {
namespace {

Attrs axis_and_block(const OnnxCall& call) {
  return make_attrs({{"axis", call.attrs.get_int("axis", 1)}, {"block_size", call.attrs.get_int("block_size", 0)}});
}

Outputs quantize_linear(OnnxCall& call) {
  take_inputs(call, 3);
  const ValueId x = call.need(0, "x"), scale = call.need(1, "y_scale");
  const i64 wanted = call.attrs.get_int("output_dtype", 0), precision = call.attrs.get_int("precision", 0);
  if (precision != 0 && dtype_from_onnx(precision, "precision") != DType::f32)
    fail("precision {} is not supported", precision);
  ValueId zero = call.input(2);
  if (zero == kNone) {
    const DType dtype = wanted == 0 ? DType::u8 : storage_dtype(wanted, "output_dtype");
    call.builder.reserve_constant({dtype, call.builder.shape(scale)}, "the zero point");
    zero = call.constant(Tensor(TensorType{dtype, call.builder.shape(scale)}));
  }
  const bool four_bits = is_four_bits(wanted) || call.builder.four_bits.contains(zero);
  const ValueId y = call.emit1("QuantizeLinear", {x, scale, zero}, axis_and_block(call));
  return {four_bits ? saturated_to_four_bits(call, y) : y};
}

Outputs dequantize_linear(OnnxCall& call) {
  const i64 wanted = call.attrs.get_int("output_dtype", 0);
  if (wanted != 0 && dtype_from_onnx(wanted, "output_dtype") != call.builder.type(call.need(1, "x_scale")).dtype)
    fail("output_dtype {} is not that of the scale", wanted);
  return call.emit("DequantizeLinear", call.in, axis_and_block(call));
}

Outputs conv_integer(OnnxCall& call) {
  return call.emit("ConvInteger", call.in, conv_attrs(call, call.shape(0), call.builder.shape(call.need(1, "w"))));
}

// ONNX Runtime's has a form for images with their channels last.
Outputs qlinear_conv(OnnxCall& call) {
  const bool last = call.attrs.get_int("channels_last", 0) != 0;
  if (last) call.in[0] = channels_first(call, call.need(0, "x"));
  const Outputs y =
      call.emit("QLinearConv", call.in, conv_attrs(call, call.shape(0), call.builder.shape(call.need(3, "w"))));
  return last ? Outputs{channels_last(call, y[0])} : y;
}

constexpr std::string_view kConvAttrs = "auto_pad dilations group kernel_shape pads strides";
constexpr OnnxOp kOps[] = {
    {"QuantizeLinear", quantize_linear, "axis block_size output_dtype precision saturate",
     "4-, 8-, 16- and 32-bit integers; no 8-bit floats"},
    {"DequantizeLinear", dequantize_linear, "axis block_size output_dtype",
     "4-, 8-, 16- and 32-bit integers; no 8-bit floats"},
    {"DynamicQuantizeLinear", import_plain, ""},
    {"MatMulInteger", import_plain, ""},
    {"ConvInteger", conv_integer, kConvAttrs},
    {"QLinearMatMul", import_plain, ""},
    {"QLinearConv", qlinear_conv, kConvAttrs},
    {"com.microsoft.QuantizeLinear", quantize_linear, "axis"},
    {"com.microsoft.DequantizeLinear", dequantize_linear, "axis"},
    {"com.microsoft.QLinearConv", qlinear_conv, "auto_pad channels_last dilations group kernel_shape pads strides"},
};

}  // namespace

std::span<const OnnxOp> quantize_imports() { return kOps; }

}  // namespace mcc::frontend
