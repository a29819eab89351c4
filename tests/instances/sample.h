// Instances of the family sample; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline void add_grid_samples(std::vector<OpInstance>& all) {
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* outside : {"zeros", "border", "reflection"})
      for (const i64 aligned : {0, 1}) {
        const std::vector<std::pair<std::string, AttrValue>> attrs = {
            {"mode", mode}, {"padding_mode", outside}, {"align_corners", aligned}};
        all.push_back({"GridSample", attrs, {"f32[2,2,3,4]", "f32[2,3,2,2] -1.5..1.5"}, 1, 1e-5});
        all.push_back({"GridSample", attrs, {"f32[1,1,5]", "f32[1,6,1] -3..3"}, 1, 1e-5});
      }
  for (const char* mode : {"nearest", "linear"})
    all.push_back({"GridSample", {{"mode", mode}}, {"f32[1,2,3,2,4]", "f32[1,2,2,2,3] -1.25..1.25"}, 1, 1e-5});
  all.push_back({"GridSample", {{"padding_mode", "border"}}, {"f16[1,2,4,4]", "f16[1,3,3,2]"}});
  all.push_back(
      {"GridSample", {{"padding_mode", "reflection"}, {"align_corners", i64{1}}}, {"f32[1,1,1,3]", "f32[1,2,2,2]"}});
}

inline std::vector<OpInstance> sample_instances() {
  std::vector<OpInstance> all;
  add_grid_samples(all);
  const std::vector<std::pair<std::string, AttrValue>> bins = {{"output_height", i64{2}}, {"output_width", i64{3}}};
  for (const char* coordinates : {"half_pixel", "output_half_pixel"})
    for (const char* mode : {"avg", "max"})
      for (const i64 ratio : {0, 2}) {
        std::vector<std::pair<std::string, AttrValue>> attrs = bins;
        attrs.insert(attrs.end(), {{"coordinate_transformation_mode", coordinates},
                                   {"mode", mode},
                                   {"sampling_ratio", ratio},
                                   {"spatial_scale", 0.5}});
        all.push_back({"RoiAlign", attrs, {"f32[2,2,5,6]", "f32[3,4] -2..12", "i64[3] 0..1"}, 1, 1e-5});
      }
  all.push_back({"RoiAlign", bins, {"f16[1,2,4,4]", "f16[2,4] 0..3", "i64[2] 0..0"}, 1, 1e-2});
  all.push_back(
      {"MaxRoiPool", {{"pooled_shape", Ints{2, 2}}, {"spatial_scale", 0.5}}, {"f32[2,2,5,6]", "f32[3,5] 0..12"}});
  all.push_back({"DeformSample", {{"kernel_shape", Ints{2, 3}}}, {"f32[2,2,4,5]", "f32[2,12,3,3]"}});
  all.push_back({"DeformSample",
                 {{"kernel_shape", Ints{2, 2}},
                  {"strides", Ints{2, 1}},
                  {"pads", Ints{1, 0, 0, 1}},
                  {"dilations", Ints{1, 2}},
                  {"offset_group", i64{2}}},
                 {"f32[1,4,4,4]", "f32[1,16,2,3] -4..4", "f32[1,8,2,3]"}});
  all.push_back({"MaxRoiPool", {{"pooled_shape", Ints{3, 1}}}, {"f16[1,2,4,4]", "f16[2,5] -2..3"}});
  return all;
}

}  // namespace mcc::testing
