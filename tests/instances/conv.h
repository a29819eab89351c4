// Instances of the family conv; see ops_instances.h. Every shape is meant for one path: padding, strides that leave a
// rest, dilation, depthwise, groups, one to three spatial axes, both layouts, narrow floats.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> conv_instances() {
  const std::string nhwc = "NHWC";
  return {
      {"Conv", {}, {"f32[1,3,5,6]", "f32[4,3,3,3]"}},
      {"Conv", {{"pads", Ints{1, 1, 1, 1}}}, {"f32[2,3,4,5]", "f32[4,3,3,3]", "f32[4]"}},
      {"Conv", {{"pads", Ints{0, 1, 2, 3}}, {"strides", Ints{2, 3}}}, {"f32[1,2,7,9]", "f32[3,2,3,2]", "f32[3]"}},
      {"Conv", {{"pads", Ints{1, 1, 1, 1}}}, {"f32[2,2,18,19]", "f32[3,2,3,3]"}},  // references take several bands
      {"Conv", {{"strides", Ints{3, 3}}}, {"f32[1,2,8,8]", "f32[3,2,1,1]"}},
      {"Conv", {{"dilations", Ints{2, 1}}, {"pads", Ints{2, 1, 2, 1}}}, {"f32[1,2,6,6]", "f32[3,2,3,3]"}},
      {"Conv", {{"group", i64{4}}, {"pads", Ints{1, 1, 1, 1}}}, {"f32[1,4,5,5]", "f32[4,1,3,3]", "f32[4]"}},
      {"Conv", {{"group", i64{2}}}, {"f32[2,4,5,5]", "f32[6,2,3,3]", "f32[6]"}},
      {"Conv", {{"group", i64{2}}}, {"f32[1,2,5,5]", "f32[6,1,3,3]"}},
      {"Conv", {{"pads", Ints{1, 1}}, {"strides", Ints{2}}}, {"f32[2,3,7]", "f32[4,3,3]", "f32[4]"}},
      {"Conv", {{"pads", Ints{1, 0, 1, 1, 0, 1}}}, {"f32[1,2,3,4,5]", "f32[2,2,2,2,3]"}},
      {"Conv", {{"pads", Ints{1, 1, 1, 1}}}, {"f16[1,3,4,4]", "f16[2,3,3,3]", "f16[2]"}},
      {"Conv", {}, {"f16[1,3,4,4]", "f16[2,3,3,3]"}},
      {"Conv", {}, {"f64[1,3,4,4]", "f64[2,3,3,3]"}},
      {"Conv", {{"layout", nhwc}}, {"f32[1,5,6,3]", "f32[4,3,3,3]"}},
      {"Conv",
       {{"layout", nhwc}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}},
       {"f32[2,6,6,3]", "f32[4,3,3,3]", "f32[4]"}},
      {"Conv", {{"layout", nhwc}}, {"f32[1,4,4,8]", "f32[5,8,1,1]", "f32[5]"}},
      {"Conv",
       {{"layout", nhwc}, {"group", i64{4}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}},
       {"f32[1,5,5,4]", "f32[4,1,3,3]"}},
      {"Conv", {{"layout", nhwc}, {"group", i64{2}}}, {"f32[1,5,5,4]", "f32[6,2,3,3]", "f32[6]"}},
      {"Conv", {{"layout", nhwc}, {"group", i64{2}}}, {"f32[1,5,5,4]", "f32[4,2,3,3]"}},
      {"Conv", {{"out_layout", nhwc}, {"pads", Ints{1, 1, 1, 1}}}, {"f32[2,3,4,5]", "f32[4,3,3,3]", "f32[4]"}},
      {"Conv", {{"out_layout", nhwc}, {"strides", Ints{2, 2}}}, {"f32[1,3,6,7]", "f32[4,3,3,3]"}},
      {"Conv", {{"out_layout", nhwc}, {"group", i64{2}}}, {"f32[1,4,5,5]", "f32[6,2,3,3]", "f32[6]"}},
      {"Conv", {{"layout", nhwc}, {"out_layout", std::string("NCHW")}}, {"f32[1,5,6,3]", "f32[4,3,3,3]"}},
      {"ConvTranspose", {}, {"f32[1,3,4,4]", "f32[3,2,3,3]"}},
      {"ConvTranspose",
       {{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 0, 1}}, {"output_padding", Ints{1, 2}}},
       {"f32[1,3,4,4]", "f32[3,2,3,3]", "f32[2]"}},
      {"ConvTranspose", {{"strides", Ints{2, 2}}, {"dilations", Ints{2, 2}}}, {"f32[1,2,3,3]", "f32[2,3,2,2]"}},
      {"ConvTranspose", {{"pads", Ints{2, 2, 2, 2}}}, {"f32[1,2,4,4]", "f32[2,3,3,3]"}},
      {"ConvTranspose", {{"pads", Ints{3, 3, 3, 3}}}, {"f32[1,2,6,6]", "f32[2,3,3,3]"}},
      {"ConvTranspose", {{"group", i64{2}}, {"strides", Ints{2, 2}}}, {"f32[1,4,3,3]", "f32[4,3,2,2]", "f32[6]"}},
      {"ConvTranspose", {{"group", i64{3}}, {"strides", Ints{2, 2}}}, {"f32[1,3,3,3]", "f32[3,1,2,2]"}},
      {"ConvTranspose", {{"strides", Ints{2}}}, {"f32[1,2,4]", "f32[2,3,3]"}},
      {"ConvTranspose", {{"layout", nhwc}, {"strides", Ints{2, 2}}}, {"f32[1,3,3,4]", "f32[4,3,2,2]", "f32[3]"}},
  };
}

}  // namespace mcc::testing
