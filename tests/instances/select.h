// Instances of the family select; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> select_instances() {
  std::vector<OpInstance> all = {
      {"NonZero", {}, {"f32[7] -0.125..0.125"}, 2},
      {"NonZero", {}, {"bool[3,4]"}, 2},
      {"NonZero", {}, {"i32[2,3,4] -1..1"}, 2},
      {"NonZero", {}, {"f32[2,5] special"}, 2},
      {"NonZero", {}, {"u8[] 0..1"}, 2},
      {"NonZero", {}, {"f32[0]"}, 2},
      {"Unique", {}, {"f32[9,1] -0.25..0.25"}, 4},
      {"Unique", {{"sorted", i64{0}}}, {"i64[9,1] 0..3"}, 4},
      {"Unique", {}, {"f32[12,1] special"}, 4},
      {"Unique", {}, {"bool[5,2]"}, 4},
      {"Unique", {}, {"u8[8,3] 0..1"}, 4},
      {"Unique", {{"sorted", i64{0}}}, {"f16[8,2] -0.0625..0.0625"}, 4},
      {"Unique", {}, {"f32[4,0]"}, 4},
      {"Unique", {}, {"f32[0,1]"}, 4},
      {"NonMaxSuppression", {{"k", i64{3}}, {"iou_threshold", 0.3}}, {"f32[1,6,4]", "f32[1,2,6]"}},
      {"NonMaxSuppression",
       {{"k", i64{5}}, {"iou_threshold", 0.5}, {"score_threshold", 0.25}, {"center_point_box", i64{1}}},
       {"f32[2,7,4] 0..2", "f32[2,1,7] -0.25..1"}},
      {"NonMaxSuppression", {{"k", i64{8}}, {"score_threshold", -1.0}}, {"f16[1,8,4]", "f16[1,1,8] -0.125..0.125"}},
      {"NonMaxSuppression", {{"k", i64{4}}, {"iou_threshold", 0.1}}, {"f32[1,5,4] 0..1", "f32[1,3,5] special"}},
  };
  return all;
}

}  // namespace mcc::testing
