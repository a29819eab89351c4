// Instances of the family pool; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline void add_max_pools(std::vector<OpInstance>& all) {
  const std::string nhwc = "NHWC";
  const std::vector<OpInstance> listed = {
      {"MaxPool", {{"kernel_shape", Ints{2, 2}}}, {"f32[1,2,5,5]"}},
      {"MaxPool",
       {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
       {"f32[2,3,7,8]"}},
      {"MaxPool",
       {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", i64{1}}, {"layout", nhwc}},
       {"f32[1,6,6,3]"}},
      {"MaxPool", {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 2}}}, {"f32[1,1,5,5]"}, 2},
      {"MaxPool", {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}, {"strides", Ints{2}}}, {"f32[2,2,7]"}, 2},
      {"MaxPool",
       {{"kernel_shape", Ints{2, 3}}, {"pads", Ints{1, 1, 0, 1}}, {"storage_order", i64{1}}},
       {"f32[2,2,4,5]"},
       2},
      {"MaxPool",
       {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"layout", nhwc}},
       {"u8[1,4,4,3] 0..2"},
       2},
      {"MaxPool", {{"kernel_shape", Ints{2, 2, 2}}}, {"i8[1,2,3,3,3] -128..127"}},
      {"MaxPool", {{"kernel_shape", Ints{2, 2}}}, {"f32[1,2,4,4] special"}},
      {"MaxPool", {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}, {"f16[1,2,4,4]"}},
      {"MaxPool", {{"kernel_shape", Ints{2, 2}}}, {"f32[2,2,19,21]"}, 2},  // more pixels than references take at once
      {"GlobalMaxPool", {}, {"f32[2,3,4,5]"}},
      {"GlobalMaxPool", {{"layout", nhwc}}, {"f32[2,4,5,3]"}},
  };
  all.insert(all.end(), listed.begin(), listed.end());
}

inline void add_sum_pools(std::vector<OpInstance>& all) {
  const std::string nhwc = "NHWC";
  const std::vector<OpInstance> listed = {
      {"AveragePool", {{"kernel_shape", Ints{2, 2}}}, {"f32[1,2,5,5]"}},
      {"AveragePool", {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}, {"f32[1,2,5,4]"}},
      {"AveragePool",
       {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"count_include_pad", i64{1}}, {"layout", nhwc}},
       {"f32[1,5,5,2]"}},
      {"AveragePool",
       {{"kernel_shape", Ints{3, 3}},
        {"pads", Ints{1, 1, 1, 1}},
        {"strides", Ints{2, 2}},
        {"ceil_mode", i64{1}},
        {"count_include_pad", i64{1}}},
       {"f32[1,2,6,7]"}},
      {"AveragePool",
       {{"kernel_shape", Ints{2, 3}},
        {"pads", Ints{2, 1, 1, 3}},
        {"strides", Ints{1, 2}},
        {"dilations", Ints{3, 2}},
        {"ceil_mode", i64{1}}},
       {"f32[1,2,6,7]"}},
      {"AveragePool", {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}}, {"f16[1,2,6]"}},
      {"AveragePool", {{"kernel_shape", Ints{2, 2, 2}}}, {"f32[1,2,3,3,3]"}},
      {"AveragePool", {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"layout", nhwc}}, {"f32[2,18,20,2]"}},
      {"GlobalAveragePool", {}, {"f32[2,3,4,5]"}},
      {"GlobalAveragePool", {{"layout", nhwc}}, {"f32[2,4,5,3]"}},
      {"GlobalAveragePool", {}, {"f16[1,3,4,4]"}},
      {"LpPool", {{"kernel_shape", Ints{2, 2}}}, {"f32[1,2,5,5]"}},
      {"LpPool", {{"kernel_shape", Ints{2, 2}}, {"p", i64{1}}, {"pads", Ints{1, 1, 0, 0}}}, {"f32[1,2,5,5]"}},
      {"LpPool", {{"kernel_shape", Ints{3}}, {"p", i64{3}}, {"strides", Ints{2}}}, {"f32[1,2,7]"}},
      {"GlobalLpPool", {}, {"f32[2,3,4,5]"}},
      {"GlobalLpPool", {{"p", i64{1}}, {"layout", nhwc}}, {"f32[2,4,5,3]"}},
  };
  all.insert(all.end(), listed.begin(), listed.end());
}

inline std::vector<OpInstance> pool_instances() {
  std::vector<OpInstance> all;
  add_max_pools(all);
  add_sum_pools(all);
  return all;
}

}  // namespace mcc::testing
