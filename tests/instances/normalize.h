// Instances of the family normalize; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> normalize_instances() {
  const std::string nhwc = "NHWC";
  std::vector<OpInstance> all = {
      {"BatchNormalization", {}, {"f32[2,3,4,5]", "f32[3]", "f32[3]", "f32[3]", "f32[3] 1..3"}},
      {"BatchNormalization", {{"layout", nhwc}}, {"f32[2,4,3]", "f32[3]", "f32[3]", "f32[3]", "f32[3] 1..3"}},
      {"BatchNormalization", {{"epsilon", 0.5}}, {"f16[4,3]", "f16[3]", "f16[3]", "f16[3]", "f16[3] 1..3"}},
      {"InstanceNormalization", {}, {"f32[2,3,4,5]", "f32[3]", "f32[3]"}},
      {"InstanceNormalization", {{"layout", nhwc}}, {"f32[2,4,5,3]", "f32[3]", "f32[3]"}},
      {"GroupNormalization", {{"num_groups", i64{2}}}, {"f32[2,4,3,3]", "f32[4]", "f32[4]"}},
      {"GroupNormalization", {{"num_groups", i64{2}}}, {"f32[2,6,3]", "f32[2]", "f32[2]"}},
      {"GroupNormalization", {{"num_groups", i64{1}}}, {"f32[2,4,3]", "f32[4]", "f32[4]"}},
      {"MeanVarianceNormalization", {}, {"f32[2,3,4,5]"}},
      {"MeanVarianceNormalization", {{"axes", Ints{0, 2}}}, {"f32[3,2,4]"}},
      {"LayerNormalization", {}, {"f32[2,3,8]", "f32[8]", "f32[8]"}},
      {"LayerNormalization", {{"axis", i64{1}}}, {"f32[2,3,8]", "f32[3,8]"}},
      {"LayerNormalization", {{"axis", i64{-2}}, {"epsilon", 0.01}}, {"f32[2,3,8]", "f32[3,8]", "f32[8]"}, 3},
      {"LayerNormalization", {{"axis", i64{0}}}, {"f32[3,4]", "f32[3,4]", "f32[3,4]"}, 3},
      {"LayerNormalization", {}, {"f16[2,3,8]", "f16[8]", "f16[8]"}},
      {"LRN", {{"size", i64{3}}}, {"f32[2,5,3,3]"}},
      {"LRN", {{"size", i64{4}}, {"alpha", 0.5}, {"beta", 0.5}, {"bias", 2.0}}, {"f32[1,6,2,2]"}},
      {"LRN", {{"size", i64{5}}, {"alpha", 0.5}, {"layout", nhwc}}, {"f32[1,2,2,6]"}},
  };
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax", "LpNormalization"})
    for (i64 axis : {-1, 0, 1}) all.push_back({op, {{"axis", axis}}, {"f32[3,4,5]"}});
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) all.push_back({op, {}, {"f16[3,7]"}});
  all.push_back({"Softmax", {}, {"f32[4]"}});
  all.push_back({"Softmax", {}, {"f32[3,5] 1000..1100"}});
  all.push_back({"LogSoftmax", {}, {"f32[3,5] -1100..-1000"}});
  all.push_back({"LpNormalization", {{"p", i64{1}}}, {"f32[3,4]"}});
  return all;
}

}  // namespace mcc::testing
