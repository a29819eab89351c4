// Instances of the family resize; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline OpInstance resize(const std::string& mode, const std::string& coordinates, Ints sizes, Floats scales,
                         std::string input, std::vector<std::pair<std::string, AttrValue>> more = {}) {
  more.insert(more.end(), {{"mode", mode},
                           {"coordinate_transformation_mode", coordinates},
                           {"sizes", std::move(sizes)},
                           {"scales", std::move(scales)}});
  return {"Resize", std::move(more), {std::move(input)}, 1, 1e-5};
}

inline std::vector<OpInstance> resize_instances() {
  std::vector<OpInstance> all;
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* coordinates :
         {"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners"}) {
      all.push_back(resize(mode, coordinates, {1, 2, 6, 8}, {1, 1, 2, 2}, "f32[1,2,3,4]"));
      all.push_back(resize(mode, coordinates, {1, 2, 1, 3}, {1, 1, 1.0 / 3, 0.75}, "f32[1,2,3,4]"));
      all.push_back(resize(mode, coordinates, {1, 4, 7}, {1, 1.6000000238418579, 1.5}, "f32[1,3,5]"));
      all.push_back(resize(mode, coordinates, {2, 5}, {}, "f32[4,3]"));
      all.push_back(resize(mode, coordinates, {0, 5}, {2, 2.5}, "f32[0,2]"));
    }
  for (const char* rounding : {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"})
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners"}) {
      all.push_back(resize("nearest", coordinates, {1, 8, 7, 2}, {1, 2, 7.0 / 3, 1}, "i32[1,4,3,2]",
                           {{"nearest_mode", rounding}}));
      all.push_back(
          resize("nearest", coordinates, {3, 5}, {0.5, 0.60000002384185791}, "f16[6,9]", {{"nearest_mode", rounding}}));
    }
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    Floats roi{0, 0.25, 1, 1.25};
    all.push_back(resize(mode, "tf_crop_and_resize", {3, 7}, {1, 1.75}, "f32[3,4]",
                         {{"roi", roi}, {"extrapolation_value", 10.0}}));
  }
  all.push_back(resize("cubic", "half_pixel", {6, 5}, {1.5, 1.25}, "f32[4,4]",
                       {{"exclude_outside", 1}, {"cubic_coeff_a", -0.5}}));
  all.push_back(resize("linear", "half_pixel", {3, 4, 5}, {}, "f32[2,3,4]"));
  all.push_back(resize("nearest", "half_pixel", {3, 4}, {1, 1}, "f32[3,4]"));
  return all;
}

}  // namespace mcc::testing
