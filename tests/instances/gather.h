// Instances of the family gather; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> gather_instances() {
  std::vector<OpInstance> all = {
      {"Gather", {{"axis", 0}}, {"f32[5,3]", "i64[2,2] -5..4"}},
      {"Gather", {{"axis", 1}}, {"f16[2,4,3]", "i32[5] -4..3"}},
      {"Gather", {{"axis", -1}}, {"i64[2,4]", "i64[] -4..3"}},
      {"Gather", {{"axis", 0}}, {"f32[3,2]", "i64[9] -50..50"}},
      {"GatherElements", {{"axis", 1}}, {"f32[3,4]", "i64[2,5] -4..3"}},
      {"GatherElements", {{"axis", 0}}, {"bool[3,4]", "i32[6,4] -3..2"}},
      {"GatherND", {}, {"f32[2,3,4]", "i64[5,2] -2..1"}},
      {"GatherND", {}, {"f32[2,3,4]", "i64[5,3] 0..1"}},
      {"GatherND", {{"batch_dims", 1}}, {"i32[2,3,4]", "i64[2,2,1] -3..2"}},
      {"OneHot", {{"depth", 4}}, {"i64[2,3] -4..5", "f32[2]"}},
      {"OneHot", {{"depth", 3}, {"axis", 0}}, {"i32[4]", "i64[2]"}},
      {"OneHot", {{"depth", 3}, {"axis", 1}}, {"f32[4,2] 0..2", "bool[2]"}},
      {"TopK", {{"axis", 1}, {"k", 3}}, {"f32[3,9] -0.25..0.25"}, 2},
      {"TopK", {{"axis", 0}, {"k", 2}, {"largest", 0}}, {"f32[5,3]"}, 2},
      {"TopK", {{"k", 12}}, {"f32[2,12] special"}, 2},
      {"TopK", {{"k", 12}, {"largest", 0}}, {"f32[2,12] special"}, 2},
      {"TopK", {{"k", 4}, {"largest", 0}}, {"i64[2,7]"}, 2},
      {"TopK", {{"k", 4}}, {"u8[7]"}, 1},
      {"MaxUnpool", {{"shape", Ints{1, 2, 4, 5}}}, {"f32[1,2,2,2]", "i64[1,2,2,2] -3..50"}},
      {"MaxUnpool", {{"shape", Ints{1, 1, 6}}}, {"f16[1,1,3]", "i64[1,1,3] 0..5"}},
  };
  for (const char* reduction : {"none", "add", "mul", "min", "max"})
    for (const char* type : {"f32", "i64", "u8"}) {
      std::string t = type;
      all.push_back(
          {"ScatterElements", {{"axis", 1}, {"reduction", reduction}}, {t + "[3,4]", "i64[2,6] -4..3", t + "[2,6]"}});
      all.push_back(
          {"ScatterElements", {{"axis", 0}, {"reduction", reduction}}, {t + "[5]", "i32[3] -5..4", t + "[3]"}});
      all.push_back({"ScatterND", {{"reduction", reduction}}, {t + "[4,3]", "i64[5,1] -4..3", t + "[5,3]"}});
      all.push_back({"ScatterND", {{"reduction", reduction}}, {t + "[4,3]", "i64[2,3,2] 0..2", t + "[2,3]"}});
    }
  return all;
}

}  // namespace mcc::testing
