// 4-bit integers: UINT4 and INT4 of opset 21, which quantised weights come in.
//
// The graph has no such type. Their values are u8 or i8, one number a byte, and the builder remembers which values are
// of four bits, for what is rounded or cut to their type. A file holds two numbers in a byte (onnx_weights.cc); inputs
// and outputs of the model hold one. Here are the operators that ONNX allows to take them.
#include "frontend/four_bits.h"

#include <algorithm>

namespace mcc::frontend {
namespace {

constexpr std::string_view kKeep[] = {"Flatten", "Identity", "Pad", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
constexpr std::string_view kRead[] = {"Cast", "CastLike", "DequantizeLinear", "QuantizeLinear", "Shape", "Size"};

bool is_one_of(std::span<const std::string_view> list, const std::string& op) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

ValueId remember(const OnnxCall& call, ValueId v) {
  call.builder.four_bits.insert(v);
  return v;
}

}  // namespace

bool keeps_four_bits(const OnnxCall& call) {
  const auto& small = call.builder.four_bits;
  if (small.empty() || std::none_of(call.in.begin(), call.in.end(), [&](ValueId v) { return small.contains(v); }))
    return false;
  const bool keeps = is_one_of(kKeep, call.op);
  if (!keeps && !is_one_of(kRead, call.op)) fail("4-bit integers are not supported here");
  return keeps;
}

// With s the sign's weight, (x mod 2s) xor s is x + s without overflow.
ValueId wrapped_to_four_bits(const OnnxCall& call, ValueId v) {
  const DType dtype = call.builder.type(v).dtype;
  ValueId low = call.emit1("BitwiseAnd", {v, call.scalar(dtype, 15)});
  if (!is_unsigned(dtype)) {
    const ValueId sign = call.scalar(dtype, 8);
    low = call.emit1("Sub", {call.emit1("BitwiseXor", {low, sign}), sign});
  }
  return remember(call, low);
}

ValueId saturated_to_four_bits(const OnnxCall& call, ValueId v) {
  const bool is_signed = !is_unsigned(call.builder.type(v).dtype);
  const double least = is_signed ? -8 : 0, most = is_signed ? 7 : 15;
  return remember(call, call.emit1("Clip", {v}, make_attrs({{"min", least}, {"max", most}})));
}

}  // namespace mcc::frontend
