// Convolutions, pools and products. auto_pad, output_shape and defaults end here: the Graph's windows are explicit.
#include "frontend/compat_conv.h"

#include <algorithm>

#include "ops/window.h"

namespace mcc::frontend {
namespace {

struct Window {
  size_t rank = 0;
  Shape in, kernel, strides, dilations, pads;  // pads: all begins, then all ends
};

// An attribute with one positive entry per dimension, or all ones.
std::vector<i64> per_dimension(const OnnxCall& call, const char* key, size_t rank) {
  std::vector<i64> values = call.attrs.get_ints(key, std::vector<i64>(rank, 1));
  if (values.size() != rank) fail("attribute '{}' has {} entries for {} spatial dimensions", key, values.size(), rank);
  for (const i64 value : values)
    if (value < 1 || value > (1 << 30)) fail("attribute '{}' has the entry {}", key, value);
  return values;
}

Window read_window(const OnnxCall& call, const Shape& x, Shape kernel) {
  Window w;
  w.rank = kernel.size();
  if (x.size() != w.rank + 2 || w.rank == 0)
    fail("input {} does not fit a window of {} dimensions", to_string(x), w.rank);
  w.in.assign(x.begin() + 2, x.end());
  w.kernel = std::move(kernel);
  w.strides = per_dimension(call, "strides", w.rank);
  w.dilations = per_dimension(call, "dilations", w.rank);
  w.pads = call.attrs.get_ints("pads", std::vector<i64>(2 * w.rank, 0));
  if (w.pads.size() != 2 * w.rank)
    fail("attribute 'pads' has {} entries for {} spatial dimensions", w.pads.size(), w.rank);
  return w;
}

std::string auto_pad(const OnnxCall& call) {
  const std::string mode = call.attrs.get_string("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER")
    fail("auto_pad '{}' is not known", mode);
  return mode;
}

i64 reach(const Window& w, size_t i) { return (w.kernel[i] - 1) * w.dilations[i] + 1; }

void set_pads(Window& w, size_t i, i64 total, bool more_at_end) {
  w.pads[i] = more_at_end ? total / 2 : total - total / 2;
  w.pads[i + w.rank] = total - w.pads[i];
}

void resolve_auto_pad(const OnnxCall& call, Window& w) {
  const std::string mode = auto_pad(call);
  if (mode == "NOTSET") return;
  for (size_t i = 0; i < w.rank; i++) {
    const i64 out = ceil_div(w.in[i], w.strides[i]);
    const i64 total = mode == "VALID" ? 0 : std::max<i64>(0, (out - 1) * w.strides[i] + reach(w, i) - w.in[i]);
    set_pads(w, i, total, mode == "SAME_UPPER");
  }
}

Attrs window_attrs(const Window& w) {
  return make_attrs({{"kernel_shape", w.kernel}, {"strides", w.strides}, {"dilations", w.dilations}, {"pads", w.pads}});
}

Shape kernel_of_weights(const OnnxCall& call, const Shape& w) {
  if (w.size() < 3) fail("weights {} have no spatial dimensions", to_string(w));
  const Shape kernel(w.begin() + 2, w.end());
  if (call.attrs.get_ints("kernel_shape", kernel) != kernel)
    fail("attribute 'kernel_shape' is not that of the weights, {}", to_string(w));
  return kernel;
}

Outputs conv(OnnxCall& call) {
  return call.emit("Conv", call.in, conv_attrs(call, call.shape(0), call.builder.shape(call.need(1, "W"))));
}

// output_shape asks for pads (or, where the natural output is too small, for output_padding) that give this shape.
void resolve_transposed(const OnnxCall& call, Window& w, std::vector<i64>& output_padding) {
  const std::string mode = auto_pad(call);
  std::vector<i64> wanted = call.attrs.get_ints("output_shape", {});
  if (wanted.size() == w.rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (wanted.empty() && mode == "NOTSET") return;
  if (!wanted.empty()) wanted = small_ints(wanted, "output_shape", 0, w.rank);
  for (size_t i = 0; i < w.rank; i++) {
    const i64 spread = ops::spread(w.in[i], w.strides[i]), natural = spread + reach(w, i) + output_padding[i];
    const i64 out = !wanted.empty() ? wanted[i] : mode == "VALID" ? natural : spread + w.strides[i];
    if (out > natural) output_padding[i] += out - natural;
    set_pads(w, i, std::max<i64>(0, natural - out), mode == "SAME_UPPER");
  }
}

Outputs conv_transpose(OnnxCall& call) {
  const Shape weights = call.builder.shape(call.need(1, "W"));
  Window w = read_window(call, call.shape(0), kernel_of_weights(call, weights));
  std::vector<i64> output_padding =
      small_ints(call.attrs.get_ints("output_padding", std::vector<i64>(w.rank, 0)), "output_padding", 0, w.rank);
  resolve_transposed(call, w, output_padding);
  Attrs attrs = window_attrs(w);
  attrs.set("output_padding", output_padding);
  attrs.set("group", call.attrs.get_int("group", 1));
  return call.emit("ConvTranspose", call.in, std::move(attrs));
}

Outputs pool(OnnxCall& call) {
  Window w = read_window(call, call.shape(0), call.attrs.get_ints("kernel_shape"));
  w.kernel = per_dimension(call, "kernel_shape", w.rank);
  resolve_auto_pad(call, w);
  Attrs attrs = window_attrs(w);
  for (const char* key : {"ceil_mode", "count_include_pad", "storage_order", "p"})
    if (call.attrs.has(key)) attrs.set(key, call.attrs.get_int(key));
  return call.builder.emit({call.op, call.name, {call.need(0, "input")}, {}, std::move(attrs)}, call.wanted);
}

Outputs pool_channels_last(OnnxCall& call) {
  return {channels_last(call, import_as(call, "MaxPool", {channels_first(call, call.need(0, "x"))}, call.attrs))};
}

Outputs gemm(OnnxCall& call) {
  Attrs attrs = call.attrs;
  attrs.erase("broadcast");  // C broadcasts anyway
  return call.emit("Gemm", call.in, std::move(attrs));
}

constexpr std::string_view kConvAttrs = "auto_pad dilations group kernel_shape pads strides";
constexpr std::string_view kPoolLimits = "no window wholly in the padding";
constexpr OnnxOp kOps[] = {
    {"Conv", conv, kConvAttrs},
    {"ConvTranspose", conv_transpose, "auto_pad dilations group kernel_shape pads strides output_padding output_shape"},
    {"MaxPool", pool, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", kPoolLimits},
    {"AveragePool", pool, "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides", kPoolLimits},
    {"com.microsoft.NhwcMaxPool", pool_channels_last, "auto_pad ceil_mode dilations kernel_shape pads strides",
     kPoolLimits},
    {"LpPool", pool, "auto_pad ceil_mode dilations kernel_shape p pads strides", kPoolLimits},
    {"GlobalAveragePool", import_plain, ""},
    {"GlobalMaxPool", import_plain, ""},
    {"GlobalLpPool", import_plain, "p"},
    {"MatMul", import_plain, ""},
    {"Gemm", gemm, "alpha beta transA transB broadcast"},
    {"Einsum", import_plain, "equation"},
};

}  // namespace

Attrs conv_attrs(const OnnxCall& call, const Shape& x, const Shape& w) {
  Window window = read_window(call, x, kernel_of_weights(call, w));
  resolve_auto_pad(call, window);
  Attrs attrs = window_attrs(window);
  attrs.set("group", call.attrs.get_int("group", 1));
  return attrs;
}

ValueId channels_first(const OnnxCall& call, ValueId v) {
  std::vector<i64> perm = range(call.builder.rank(v));
  if (perm.size() > 2) std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  return call.transpose(v, perm);
}

ValueId channels_last(const OnnxCall& call, ValueId v) {
  std::vector<i64> perm = range(call.builder.rank(v));
  if (perm.size() > 2) std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return call.transpose(v, perm);
}

std::span<const OnnxOp> conv_imports() { return kOps; }

}  // namespace mcc::frontend
