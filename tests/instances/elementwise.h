// Instances of the family elementwise; see ops_instances.h. Operators without attributes are lists of names.
#pragma once

namespace mcc::testing {

inline void add_unary(std::vector<OpInstance>& all) {
  for (const char* op :
       {"Ceil",  "Cos",     "Cosh",     "Erf",  "Exp",         "Floor",     "HardSwish", "Mish",   "Reciprocal",
        "Round", "Sigmoid", "Silu",     "Sin",  "Sinh",        "Softplus",  "Softsign",  "Tanh",   "Asinh",
        "Atan",  "Celu",    "Elu",      "Gelu", "HardSigmoid", "LeakyRelu", "Selu",      "Shrink", "ThresholdedRelu",
        "IsNaN", "IsInf",   "Identity", "Relu", "Neg",         "Abs",       "Sign"}) {
    all.push_back({op, {}, {"f32[3,5] -3..3"}});
    all.push_back({op, {}, {"f16[7]"}});
    all.push_back({op, {}, {"f64[2,2]"}});
  }
  for (const char* op : {"Ceil",
                         "Floor",
                         "Round",
                         "Sigmoid",
                         "Softplus",
                         "Mish",
                         "Celu",
                         "Elu",
                         "HardSigmoid",
                         "LeakyRelu",
                         "Selu",
                         "Shrink",
                         "ThresholdedRelu",
                         "IsNaN",
                         "IsInf",
                         "Identity",
                         "Relu",
                         "Neg",
                         "Abs",
                         "Sign",
                         "Clip",
                         "Tanh",
                         "Erf"})
    all.push_back({op, {}, {"f32[40] special"}});
  for (const char* op : {"Acos", "Asin", "Atanh"}) all.push_back({op, {}, {"f32[3,5] -0.9..0.9"}});
  for (const char* op : {"Acosh", "Log", "Sqrt"}) all.push_back({op, {}, {"f32[3,5] 1..9"}});
  all.push_back({"Tan", {}, {"f32[9] -1..1"}});
  for (const char* op : {"Abs", "Neg", "Sign", "Relu", "Identity", "BitwiseNot"})
    for (const char* type : {"i8[9] -128..127", "i32[3]", "i64[4]", "u8[5] 0..255", "u64[3]"})
      all.push_back({op, {}, {type}});
  all.push_back({"Not", {}, {"bool[5]"}});
  all.push_back({"Identity", {}, {"bool[5]"}});
}

inline void add_with_attributes(std::vector<OpInstance>& all) {
  const std::vector<OpInstance> listed = {
      {"Clip", {{"min", -1.0}, {"max", 0.5}}, {"f32[20] special"}},
      {"Clip", {{"min", 1.0}, {"max", -1.0}}, {"f32[9]"}},
      {"Clip", {{"max", 2.0}}, {"i32[9]"}},
      {"Clip", {{"min", 3.0}}, {"u8[9]"}},
      {"Gelu", {{"approximate", "tanh"}}, {"f32[3,5] -3..3"}},
      {"Elu", {{"alpha", 2.0}}, {"f32[9]"}},
      {"Celu", {{"alpha", 0.5}}, {"f32[9]"}},
      {"HardSigmoid", {{"alpha", 0.5}, {"beta", 0.25}}, {"f32[9]"}},
      {"LeakyRelu", {{"alpha", 0.25}}, {"f32[9]"}},
      {"Selu", {{"alpha", 2.0}, {"gamma", 3.0}}, {"f32[9]"}},
      {"Shrink", {{"lambd", 1.5}, {"bias", 1.5}}, {"f32[30] -3..3"}},
      {"Shrink", {{"lambd", 1.5}, {"bias", 1.5}}, {"i32[30]"}},
      {"ThresholdedRelu", {{"alpha", 0.5}}, {"f32[9]"}},
      {"IsInf", {{"detect_negative", 0}}, {"f32[40] special"}},
      {"IsInf", {{"detect_positive", 0}}, {"f32[40] special"}},
      {"IsInf", {{"detect_positive", 0}, {"detect_negative", 0}}, {"f32[40] special"}},
  };
  all.insert(all.end(), listed.begin(), listed.end());
  for (const char* to : {"f32", "f16", "bf16", "f64", "i8", "u8", "i32", "i64", "u64", "bool"})
    for (const char* from : {"f32[40] special", "f16[9]", "i32[9] -300..300", "i64[9]", "u8[9] 0..255", "bool[5]"})
      all.push_back({"Cast", {{"to", to}}, {from}});
}

inline void add_binary(std::vector<OpInstance>& all) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max",
                         "Min", "PRelu", "Sum"}) {
    all.push_back({op, {}, {"f32[2,3,4]", "f32[3,1]"}});
    all.push_back({op, {}, {"f32[40] special", "f32[40] special"}});
    all.push_back({op, {}, {"f16[5]", "f16[]"}});
    all.push_back({op, {}, {"bf16[5]", "bf16[1]"}});
    all.push_back({op, {}, {"i8[9] -128..127", "i8[9] -128..127"}});
    all.push_back({op, {}, {"i64[1,4]", "i64[3,1]"}});
    all.push_back({op, {}, {"u8[30]", "u8[30]"}});
    all.push_back({op, {}, {"u64[9]", "u64[9]"}});
  }
  for (const char* op : {"Max", "Min", "Sum", "Mean"}) {
    all.push_back({op, {}, {"f32[2,3]"}});
    all.push_back({op, {}, {"f32[2,3]", "f32[3]", "f32[2,1]", "f32[]"}});
  }
  for (const char* op : {"And", "Or", "Xor", "Equal"}) all.push_back({op, {}, {"bool[2,4]", "bool[4]"}});
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
    for (const char* type : {"i32[9]", "u8[9] 0..255"}) all.push_back({op, {}, {type, type}});
  for (const char* direction : {"LEFT", "RIGHT"}) {
    all.push_back({"BitShift", {{"direction", direction}}, {"u8[30] 0..255", "u8[30]"}});
    all.push_back({"BitShift", {{"direction", direction}}, {"u64[5]", "u64[5]"}});
  }
  for (i64 fmod : {0, 1})
    for (const char* type : {"i32[30]", "i64[30]", "u8[30]", "i8[30]"})
      all.push_back({"Mod", {{"fmod", fmod}}, {type, type}});
  all.push_back({"Mod", {{"fmod", 1}}, {"f32[9]", "f32[9] 0.5..1.5"}});
  all.push_back({"Pow", {}, {"f32[3,4] 0.25..2", "f32[4]"}});
  all.push_back({"Pow", {}, {"f32[9]", "i64[9]"}});
  all.push_back({"Pow", {}, {"i32[9]", "i32[9] 0..5"}});
  all.push_back({"Pow", {}, {"i64[9] 1..9", "f32[1] 0..2"}});
  all.push_back({"Where", {}, {"bool[2,1,4]", "f32[3,4]", "f32[]"}});
  all.push_back({"Where", {}, {"bool[4]", "i64[4]", "i64[4]"}});
  all.push_back({"Where", {}, {"bool[1]", "bool[4]", "bool[4]"}});
}

inline std::vector<OpInstance> elementwise_instances() {
  std::vector<OpInstance> all;
  add_unary(all);
  add_with_attributes(all);
  add_binary(all);
  return all;
}

}  // namespace mcc::testing
