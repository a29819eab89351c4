// Instances of the family movement; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> movement_instances() {
  const i64 lowest = std::numeric_limits<i64>::min(), highest = std::numeric_limits<i64>::max();
  return {
      {"Reshape", {{"shape", Ints{6, 4}}}, {"f32[2,3,4]"}},
      {"Reshape", {{"shape", Ints{4, 1, 6}}}, {"i64[2,1,3,4]"}},
      {"Reshape", {{"shape", Ints{2, 12, 5}}}, {"f16[4,3,2,5]"}},
      {"Reshape", {{"shape", Ints{}}}, {"f32[1,1]"}},
      {"Reshape", {{"shape", Ints{3, 0}}}, {"f32[0,5]"}},
      {"Transpose", {{"perm", Ints{2, 0, 1}}}, {"f32[2,3,4]"}},
      {"Transpose", {}, {"i8[2,3,4]"}},
      {"Transpose", {{"perm", Ints{}}}, {"f32[]"}},
      {"Slice",
       {{"starts", Ints{1, -3}}, {"ends", Ints{3, highest}}, {"axes", Ints{0, -1}}, {"steps", Ints{1, 2}}},
       {"f32[4,5,6]"}},
      {"Slice", {{"starts", Ints{-1}}, {"ends", Ints{lowest}}, {"axes", Ints{1}}, {"steps", Ints{-1}}}, {"f32[2,5]"}},
      {"Slice", {{"starts", Ints{10, 3}}, {"ends", Ints{-10, 0}}, {"steps", Ints{-2, -1}}}, {"f64[7,5]"}},
      {"Slice", {{"starts", Ints{3}}, {"ends", Ints{2}}}, {"f32[5]"}},
      {"Slice", {{"starts", Ints{0}}, {"ends", Ints{-1}}}, {"bool[5]"}},
      {"Concat", {{"axis", 1}}, {"f32[2,3]", "f32[2,1]", "f32[2,4]"}},
      {"Concat", {{"axis", -3}}, {"bf16[2,3,1]", "bf16[1,3,1]"}},
      {"Concat", {{"axis", 0}}, {"i64[3]"}},
      {"Split", {{"axis", 1}, {"split", Ints{2, 3, 1}}}, {"f32[2,6]"}, 3},
      {"Split", {{"axis", -2}, {"split", Ints{1, 1}}}, {"u8[2,3]"}, 2},
      {"Pad", {{"pads", Ints{0, 1, 2, 0}}}, {"f32[3,4]"}},
      {"Pad", {{"pads", Ints{1, -1, -1, 2}}, {"value", 2.5}}, {"f32[3,4]"}},
      {"Pad", {{"pads", Ints{2, 3}}, {"mode", "reflect"}}, {"f32[4]"}},
      {"Pad", {{"pads", Ints{5, 4, 0, 0}}, {"mode", "reflect"}}, {"i32[3,1]"}},
      {"Pad", {{"pads", Ints{1, 2, 2, 0}}, {"mode", "edge"}}, {"f16[2,3]"}},
      {"Pad", {{"pads", Ints{4, 2}}, {"mode", "wrap"}}, {"f32[3]"}},
      {"Pad", {{"pads", Ints{-1, 2}}, {"mode", "edge"}}, {"i64[3]"}},
      {"Expand", {{"shape", Ints{2, 3, 4}}}, {"f32[3,1]"}},
      {"Expand", {{"shape", Ints{2, 2}}}, {"i64[]"}},
      {"Tile", {{"repeats", Ints{2, 1, 3}}}, {"f32[2,3,4]"}},
      {"Tile", {{"repeats", Ints{3, 2}}}, {"i16[1,2]"}},
      {"DepthToSpace", {{"blocksize", 2}, {"mode", "DCR"}}, {"f32[2,12,2,3]"}},
      {"DepthToSpace", {{"blocksize", 3}, {"mode", "CRD"}}, {"f32[1,18,2,3]"}},
      {"SpaceToDepth", {{"blocksize", 2}}, {"f32[2,3,4,6]"}},
      {"Trilu", {}, {"f32[2,4,3]"}},
      {"Trilu", {{"upper", 0}, {"k", 1}}, {"i64[4,5]"}},
      {"Trilu", {{"k", -2}}, {"f32[5,5]"}},
      {"ReverseSequence", {{"sequence_lens", Ints{2, 4, 0}}, {"batch_axis", 0}, {"time_axis", 1}}, {"f32[3,4,2]"}},
      {"ReverseSequence", {{"sequence_lens", Ints{3, 3}}, {"batch_axis", 1}, {"time_axis", 0}}, {"f32[4,2]"}},
  };
}

}  // namespace mcc::testing
