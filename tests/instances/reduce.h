// Instances of the family reduce; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> reduce_instances() {
  std::vector<OpInstance> all = {
      {"CountNgrams", {}, {"i32[2,9] 0..2", "i32[4,1] 0..3"}},
      {"CountNgrams", {{"skips", i64{3}}}, {"i64[1,12] 0..2", "i64[5,2] 0..2"}},
      {"CountNgrams", {{"skips", i64{1}}}, {"i32[2,4] 0..1", "i32[3,3] 0..1"}},
  };
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                         "ReduceSumSquare", "ReduceLogSumExp"}) {
    all.push_back({op, {{"axes", Ints{1}}, {"keepdims", 0}}, {"f32[2,3,4]"}});
    all.push_back({op, {{"axes", Ints{0, 2}}, {"keepdims", 1}}, {"f32[2,3,4]"}});
    all.push_back({op, {{"axes", Ints{0, 1, 2}}, {"keepdims", 0}}, {"f32[2,3,4]"}});
    all.push_back({op, {{"axes", Ints{1}}}, {"f16[2,9]"}});
    all.push_back({op, {{"axes", Ints{1}}}, {"bf16[2,9]"}});
    all.push_back({op, {{"axes", Ints{0}}}, {"f64[5,2]"}});
    all.push_back({op, {{"axes", Ints{0}}}, {"i32[5,2]"}});
    all.push_back({op, {{"axes", Ints{0}}}, {"i64[5,2]"}});
    all.push_back({op, {{"axes", Ints{}}}, {"f32[5,2]"}});
    all.push_back({op, {{"axes", Ints{0}}}, {"f32[6,8] special"}});
  }
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceSum"})
    all.push_back({op, {{"axes", Ints{0}}}, {"u8[5,2] 0..255"}});
  for (const char* op : {"ReduceMax", "ReduceMin"}) all.push_back({op, {{"axes", Ints{1}}}, {"bool[5,3]"}});
  all.push_back({"ReduceLogSum", {{"axes", Ints{0}}}, {"f32[5,2] 1..2"}});
  all.push_back({"ReduceSum", {{"axes", Ints{0}}}, {"f32[0,3]"}});
  for (const char* op : {"ArgMax", "ArgMin"})
    for (i64 last : {0, 1}) {
      all.push_back({op, {{"axis", 1}, {"select_last_index", last}}, {"f32[3,9,2] -0.25..0.25"}});
      all.push_back({op, {{"axis", -1}, {"keepdims", 0}, {"select_last_index", last}}, {"f32[3,9] special"}});
      all.push_back({op, {{"axis", 0}, {"keepdims", 0}, {"select_last_index", last}}, {"i32[30]"}});
      all.push_back({op, {{"axis", 0}, {"select_last_index", last}}, {"f16[9,1]"}});
    }
  for (i64 exclusive : {0, 1})
    for (i64 reverse : {0, 1}) {
      all.push_back({"CumSum", {{"axis", 1}, {"exclusive", exclusive}, {"reverse", reverse}}, {"f32[2,5,3]"}});
      all.push_back({"CumSum", {{"axis", 0}, {"exclusive", exclusive}, {"reverse", reverse}}, {"i64[5]"}});
      all.push_back({"CumSum", {{"axis", -1}, {"exclusive", exclusive}, {"reverse", reverse}}, {"f16[2,7]"}});
    }
  return all;
}

}  // namespace mcc::testing
