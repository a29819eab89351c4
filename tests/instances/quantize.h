// Instances of the family quantize; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> quantize_instances() {
  const std::string scale = " 0.25..1";
  return {
      {"QuantizeLinear", {}, {"f32[3,5] -90..90", "f32[]" + scale, "u8[]"}},
      {"QuantizeLinear", {}, {"f32[40] special", "f32[1]" + scale, "i8[1]"}},
      {"QuantizeLinear", {{"axis", 1}}, {"f32[3,5,2] -40..40", "f32[5]" + scale, "i8[5]"}},
      {"QuantizeLinear", {{"axis", 0}, {"block_size", 2}}, {"f16[4,3]", "f16[2,3]" + scale, "u8[2,3]"}},
      {"QuantizeLinear", {{"output_dtype", "i16"}}, {"f32[3,5]", "f32[]" + scale}},
      {"QuantizeLinear", {}, {"f32[3,5]", "f32[]" + scale, "_"}},
      {"DequantizeLinear", {}, {"u8[3,5] 0..255", "f32[]" + scale, "u8[]"}},
      {"DequantizeLinear", {{"axis", -2}}, {"i8[3,5,2] -128..127", "f32[5]" + scale, "i8[5]"}},
      {"DequantizeLinear", {{"axis", 1}, {"block_size", 3}}, {"i8[2,7]", "f32[2,3]" + scale, "i8[2,3]"}},
      {"DequantizeLinear", {}, {"i32[9] -300..300", "f32[]" + scale}},
      {"DequantizeLinear", {}, {"u8[9]", "f16[]" + scale, "u8[]"}},
      {"DynamicQuantizeLinear", {}, {"f32[3,5]"}, 3},
      {"DynamicQuantizeLinear", {}, {"f32[9] 1..5"}, 3},
      {"DynamicQuantizeLinear", {}, {"f32[9] 0..0"}, 3},
      {"MatMulInteger", {}, {"u8[4,3]", "u8[3,2]", "u8[]", "u8[]"}},
      {"MatMulInteger", {}, {"i8[2,4,3]", "i8[3,2]", "i8[4]", "i8[2]"}},
      {"MatMulInteger", {}, {"u8[4,3]", "i8[3,2]"}},
      {"MatMulInteger", {}, {"u8[2,1,4,3]", "i8[5,3,2]", "u8[2,1,4,1]", "i8[5,1,2]"}},
      {"ConvInteger",
       {{"kernel_shape", Ints{2, 2}},
        {"strides", Ints{1, 1}},
        {"pads", Ints{1, 0, 0, 1}},
        {"dilations", Ints{1, 1}},
        {"group", 1}},
       {"u8[1,2,4,4]", "u8[3,2,2,2]", "u8[]", "u8[]"}},
      {"ConvInteger",
       {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 1}}, {"dilations", Ints{1}}, {"group", 2}},
       {"i8[2,4,7]", "i8[6,2,3]", "_", "i8[6]"}},
      {"QLinearMatMul",
       {},
       {"u8[4,3]", "f32[]" + scale, "u8[]", "u8[3,2]", "f32[]" + scale, "u8[]", "f32[] 1..2", "u8[]"}},
      {"QLinearMatMul",
       {},
       {"i8[2,4,3]", "f32[4]" + scale, "i8[4]", "i8[3,2]", "f32[2]" + scale, "i8[2]", "f32[1] 1..2", "i8[1]"}},
      {"QLinearConv",
       {{"kernel_shape", Ints{3, 3}},
        {"strides", Ints{2, 1}},
        {"pads", Ints{1, 1, 1, 1}},
        {"dilations", Ints{1, 1}},
        {"group", 1}},
       {"u8[2,2,5,4]", "f32[]" + scale, "u8[]", "i8[3,2,3,3]", "f32[3]" + scale, "i8[3]", "f32[] 1..2", "u8[]",
        "i32[3]"}},
      {"QLinearConv",
       {{"kernel_shape", Ints{3}}, {"strides", Ints{1}}, {"pads", Ints{0, 0}}, {"dilations", Ints{2}}, {"group", 4}},
       {"u8[1,4,7]", "f32[1]" + scale, "u8[1]", "u8[4,1,3]", "f32[1]" + scale, "u8[1]", "f32[1] 1..2", "u8[1]"}},
  };
}

}  // namespace mcc::testing
