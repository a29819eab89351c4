// The reference of Conv and ConvTranspose: for each group, the patches under a band of output pixels are gathered into
// a matrix and multiplied by the group's weights. Everything is channels last and double inside, whatever the layout
// and type outside.
#include "ops/conv.h"
#include "ops/gemm.h"
#include "ops/lib.h"

namespace mcc::ops {
namespace {

using Doubles = std::vector<double>;

// [N, C, pixels] -> [N, pixels, C], or a plain copy when the channels are last already.
Doubles channels_last(const Tensor& x, const ConvShape& c) {
  Doubles from = to_doubles(x);
  if (c.window.channels_last) return from;
  i64 pixels = elements(c.window.in), channels = c.in_channels;
  Doubles to(from.size());
  for (i64 n = 0; n < c.batch; n++)
    for (i64 p = 0; p < pixels; p++)
      for (i64 ch = 0; ch < channels; ch++)
        to[at((n * pixels + p) * channels + ch)] = from[at((n * channels + ch) * pixels + p)];
  return to;
}

// [group][tap][input channel of the group][output channel of the group]
Doubles matrix_of_weights(const Tensor& w, const ConvShape& c) {
  Doubles from = to_doubles(w), to(from.size());
  i64 taps = elements(c.window.kernel), ics = c.group_in(), ocs = c.group_out();
  for (i64 g = 0; g < c.group; g++)
    for (i64 t = 0; t < taps; t++)
      for (i64 ic = 0; ic < ics; ic++)
        for (i64 oc = 0; oc < ocs; oc++) {
          i64 source = c.transposed ? ((g * ics + ic) * ocs + oc) * taps + t : ((g * ocs + oc) * ics + ic) * taps + t;
          to[at(((g * taps + t) * ics + ic) * ocs + oc)] = from[at(source)];
        }
  return to;
}

// The inputs that a band of pixels meets, [pixel][tap][channel of the group]; image: [pixel][channel].
void gather_patches(const ConvShape& c, const std::vector<i64>& table, const double* image, i64 g, Doubles& patches) {
  i64 ics = c.group_in();
  for (i64 i = 0; i < std::ssize(table); i++) {
    i64 pixel = table[at(i)];
    double* to = patches.data() + i * ics;
    if (pixel < 0)
      std::fill_n(to, ics, 0.0);
    else
      std::copy_n(image + pixel * c.in_channels + g * ics, ics, to);
  }
}

// Sums of pixels first.. of one group and image into y, with the bias.
void scatter_sums(const ConvShape& c, const Doubles& sums, const Tensor* bias, i64 n, i64 g, i64 first, i64 count,
                  Tensor& y) {
  i64 pixels = elements(c.window.out), ocs = c.group_out();
  for (i64 p = 0; p < count; p++)
    for (i64 oc = 0; oc < ocs; oc++) {
      i64 channel = g * ocs + oc, pixel = first + p;
      i64 to = c.out_channels_last ? (n * pixels + pixel) * c.out_channels + channel
                                   : (n * c.out_channels + channel) * pixels + pixel;
      y.set(to, sums[at(p * ocs + oc)] + (bias ? bias->get(channel) : 0));
    }
}

}  // namespace

void conv_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor* bias = in.size() > 2 ? in[2] : nullptr;
  TensorType types[] = {in[0]->type, in[1]->type};
  ConvShape c = conv_shape(node, types);
  i64 pixels = elements(c.window.out), depth = elements(c.window.kernel) * c.group_in(), ocs = c.group_out();
  Doubles x = channels_last(*in[0], c), w = matrix_of_weights(*in[1], c);
  const i64 band = std::min(band_size(depth), std::max<i64>(pixels, 1));
  Doubles patches(at(band * depth)), sums(at(band * ocs));
  for (i64 first = 0; first < pixels; first += band) {
    i64 count = std::min(band, pixels - first);
    const std::vector<i64> table = tap_table(c.window, c.transposed, first, count);
    for (i64 n = 0; n < c.batch; n++)
      for (i64 g = 0; g < c.group; g++) {
        const double* image = x.data() + n * elements(c.window.in) * c.in_channels;
        gather_patches(c, table, image, g, patches);
        std::fill(sums.begin(), sums.end(), 0.0);
        gemm(count, ocs, depth, patches.data(), w.data() + g * depth * ocs, sums.data());
        scatter_sums(c, sums, bias, n, g, first, count, out[0]);
      }
  }
}

}  // namespace mcc::ops
