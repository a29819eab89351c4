// Resize and Upsample, its predecessor. The Graph's Resize has the full output shape and the scales that are really
// used as attributes; sizes, partial axes and aspect-ratio policies end here. So does the low-pass filter of axes that
// shrink (compat_antialias.cc).
#include <algorithm>
#include <cmath>

#include "frontend/compat_antialias.h"
#include "frontend/importer.h"

namespace mcc::frontend {
namespace {

struct Geometry {
  std::vector<double> scales, roi;  // roi: all starts, then all ends
  Shape sizes;
};

void check_sizes(const Geometry& g) {
  for (const i64 size : g.sizes)
    if (size < 0 || size > (i64{1} << 31)) fail("an output extent is {}", size);
}

// A computed output extent; NaN comes of empty inputs and of regions that are no numbers.
i64 extent_of(double size) {
  if (!(size >= 0 && size <= static_cast<double>(i64{1} << 31))) fail("an output extent is {}", size);
  return static_cast<i64>(std::floor(size));
}

void use_scales(Geometry& g, const Shape& in, const std::vector<double>& scales, const std::vector<i64>& axes,
                bool crops) {
  if (scales.size() != axes.size()) fail("{} scales are given for {} axes", scales.size(), axes.size());
  for (size_t i = 0; i < axes.size(); i++) {
    const size_t d = at(axes[i]);
    if (!(scales[i] > 0 && scales[i] < 1e6)) fail("a scale is {}", scales[i]);
    // In float32, as exporters and runtimes do: 10 * 1.3 is 13 (and 12.9999995 in float64).
    const auto part = static_cast<float>(crops ? g.roi[d + in.size()] - g.roi[d] : 1.0);
    g.scales[d] = scales[i];
    g.sizes[d] = extent_of(static_cast<float>(in[d]) * part * static_cast<float>(scales[i]));
  }
}

void use_sizes(Geometry& g, const Shape& in, const std::vector<i64>& sizes, const std::vector<i64>& axes,
               const std::string& policy) {
  if (sizes.size() != axes.size()) fail("{} sizes are given for {} axes", sizes.size(), axes.size());
  std::vector<double> scales;
  for (size_t i = 0; i < axes.size(); i++)
    scales.push_back(static_cast<double>(sizes[i]) / static_cast<double>(in[at(axes[i])]));
  const bool keeps_ratio = policy == "not_larger" || policy == "not_smaller";
  if (!keeps_ratio && policy != "stretch") fail("keep_aspect_ratio_policy '{}' is not known", policy);
  if (keeps_ratio && !scales.empty()) {
    const auto [least, most] = std::minmax_element(scales.begin(), scales.end());
    scales.assign(scales.size(), policy == "not_larger" ? *least : *most);
  }
  for (size_t i = 0; i < axes.size(); i++) {
    const size_t d = at(axes[i]);
    g.sizes[d] = keeps_ratio ? extent_of(scales[i] * static_cast<double>(in[d]) + 0.5) : sizes[i];
    g.scales[d] = scales[i];
  }
}

Attrs resize_attrs(const Geometry& g, const std::string& mode, const std::string& coordinates,
                   const std::string& nearest) {
  check_sizes(g);
  return make_attrs({{"sizes", g.sizes},
                     {"scales", g.scales},
                     {"roi", g.roi},
                     {"mode", mode},
                     {"coordinate_transformation_mode", coordinates},
                     {"nearest_mode", nearest}});
}

Geometry identity_geometry(const Shape& in) {
  Geometry g{std::vector<double>(in.size(), 1.0), std::vector<double>(in.size(), 0.0), in};
  g.roi.resize(2 * in.size(), 1.0);
  return g;
}

bool is_given(const OnnxCall& call, size_t i, std::string_view what) {
  return call.has(i) && call.known(i, what).size() > 0;
}

std::string plain_mode(const std::string& mode) { return mode == "bilinear" || mode == "trilinear" ? "linear" : mode; }

// Upsample, and Resize of opset 10: scales only, coordinates by plain division, rounded down.
Outputs upsample(OnnxCall& call) {
  Geometry g = identity_geometry(call.shape(0));
  const std::vector<double> scales =
      call.attrs.has("scales") ? call.attrs.get_floats("scales", {}) : to_doubles(call.known(1, "scales"));
  use_scales(g, call.shape(0), scales, range(call.rank(0)), false);
  const std::string mode = plain_mode(call.attrs.get_string("mode", "nearest"));
  return call.emit("Resize", {call.need(0, "input")}, resize_attrs(g, mode, "asymmetric", "floor"));
}

Outputs resize(OnnxCall& call) {
  if (call.opset < 11) return upsample(call);
  const Shape in = call.shape(0);
  const std::string coordinates = call.attrs.get_string("coordinate_transformation_mode", "half_pixel");
  std::vector<i64> axes = call.attrs.get_ints("axes", range(call.rank(0)));
  for (i64& axis : axes) axis = normalize_axis(axis, call.rank(0));
  Geometry g = identity_geometry(in);
  const bool crops = coordinates == "tf_crop_and_resize";
  if (crops) {
    const std::vector<double> roi = to_doubles(call.known(1, "roi"));
    if (roi.size() != 2 * axes.size()) fail("input 'roi' has {} elements for {} axes", roi.size(), axes.size());
    for (size_t i = 0; i < axes.size(); i++) {
      g.roi[at(axes[i])] = roi[i];
      g.roi[at(axes[i]) + in.size()] = roi[i + axes.size()];
    }
  }
  const bool by_scales = is_given(call, 2, "scales"), by_sizes = is_given(call, 3, "sizes");
  if (by_scales == by_sizes) fail("exactly one of 'scales' and 'sizes' is needed");
  if (by_scales)
    use_scales(g, in, to_doubles(call.known(2, "scales")), axes, crops);
  else
    use_sizes(g, in, call.known_ints(3, "sizes"), axes, call.attrs.get_string("keep_aspect_ratio_policy", "stretch"));

  Attrs attrs = resize_attrs(g, call.attrs.get_string("mode", "nearest"), coordinates,
                             call.attrs.get_string("nearest_mode", "round_prefer_floor"));
  attrs.set("cubic_coeff_a", call.attrs.get_float("cubic_coeff_a", -0.75));
  attrs.set("exclude_outside", call.attrs.get_int("exclude_outside", 0));
  attrs.set("extrapolation_value", call.attrs.get_float("extrapolation_value", 0));
  if (call.attrs.get_int("antialias", 0) != 0 && attrs.get_string("mode", "") != "nearest")
    return {resize_antialiased(call, attrs)};
  return call.emit("Resize", {call.need(0, "input")}, std::move(attrs));
}

constexpr OnnxOp kOps[] = {
    {"Resize", resize,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
     "keep_aspect_ratio_policy "
     "mode nearest_mode",
     "roi, scales, sizes known; antialias not with tf_crop_and_resize"},
    {"Upsample", upsample, "mode scales", "scales known"},
};

}  // namespace

std::span<const OnnxOp> resize_imports() { return kOps; }

}  // namespace mcc::frontend
