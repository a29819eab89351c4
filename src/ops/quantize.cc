// QuantizeLinear, DequantizeLinear (axis, block_size; scale and zero point for the tensor, an axis or blocks of an
// axis) and DynamicQuantizeLinear.
//
// Loop programs and references both compute in f32 and round to even after one division, so they agree bit for bit.
#include "ops/quantize.h"

#include <algorithm>
#include <cmath>

namespace mcc::ops {

using namespace loop;

Expr quantized(DType to, Expr x_over_scale, Expr zero_point) {
  Expr rounded = unary(ExprOp::round_even, std::move(x_over_scale));
  return loop::cast(to, std::move(rounded) + loop::cast(DType::f32, std::move(zero_point)));
}

void set_quantized(Tensor& to, i64 i, float x_over_scale, i64 zero_point) {
  set_saturated(to, i, static_cast<double>(std::nearbyint(x_over_scale) + static_cast<float>(zero_point)));
}

namespace {

// Where scale and zero point of an element are found.
struct Granularity {
  size_t axis = 0;
  i64 block = 0;      // elements that share a scale along the axis; 0: no blocks
  bool whole = true;  // one for the tensor
  size_t scale_rank = 0;

  template <typename T, typename Divide>
  std::vector<T> index(const std::vector<T>& v, T zero, Divide divide) const {
    if (whole) return std::vector<T>(scale_rank, zero);
    if (block == 0) return {v[axis]};
    std::vector<T> at = v;
    at[axis] = divide(v[axis], block);
    return at;
  }
  Vars of(const Vars& v) const {
    return index(v, const_int(0), [](const Expr& i, i64 n) { return floordiv(i, n); });
  }
  Index of(const Index& v) const {
    return index(v, i64{0}, [](i64 i, i64 n) { return i / n; });
  }
};

Granularity granularity(const Node& node, const Shape& x, const Shape& scale) {
  Granularity g;
  g.scale_rank = scale.size();
  g.whole = elements(scale) == 1 && scale.size() <= 1;
  if (g.whole) return g;
  g.axis = at(axis_of(node, static_cast<i64>(x.size()), 1));
  g.block = node.attrs.get_int("block_size", 0);
  Shape wanted{x[g.axis]};
  if (g.block != 0) {
    if (g.block < 0) fail("block_size {} is negative", g.block);
    wanted = x;
    wanted[g.axis] = ceil_div(x[g.axis], g.block);
  }
  if (scale != wanted) fail("scale has shape {}, not {}", to_string(scale), to_string(wanted));
  return g;
}

void check_zero_point(Types in) {
  if (present(in, 2) && in[2].shape != in[1].shape) fail("scale and zero point differ in shape");
}

// --- QuantizeLinear: inputs x, scale, zero point? --------------------------------------------------------------------

std::vector<TensorType> infer_quantize(const Node& node, Types in) {
  check_zero_point(in);
  granularity(node, in[0].shape, in[1].shape);
  std::string named = node.attrs.get_string("output_dtype", "u8");
  std::optional<DType> dtype = present(in, 2) ? in[2].dtype : dtype_from_name(named);
  if (!dtype || !is_int(*dtype)) fail("cannot quantise to {}", present(in, 2) ? name(in[2].dtype) : named);
  return {{*dtype, in[0].shape}};
}

Func lower_quantize(const Node& node, Types in, Types out) {
  Granularity g = granularity(node, in[0].shape, in[1].shape);
  FuncBuilder b("quantizelinear");
  std::vector<int> ids = add_inputs(b, in, {"x", "scale", "zero"});
  int y = b.output("y", out[0].dtype, out[0].shape);
  b.block("quantize", out[0].shape, y, [&](const Vars& v) {
    Expr x = loop::cast(DType::f32, b.load(ids[0], v)), scale = loop::cast(DType::f32, b.load(ids[1], g.of(v)));
    return quantized(out[0].dtype, x / scale, present(in, 2) ? b.load(ids[2], g.of(v)) : const_int(0));
  });
  return b.take();
}

void quantize(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor& scale = *in[1];
  Granularity g = granularity(node, in[0]->type.shape, scale.type.shape);
  for_each_index(out[0].type.shape, [&](const Index& v, i64 flat) {
    i64 s = flat_index(scale.type.shape, g.of(v));
    float x = static_cast<float>(in[0]->get(flat)) / static_cast<float>(scale.get(s));
    set_quantized(out[0], flat, x, present(in, 2) ? in[2]->get_int(s) : 0);
  });
}

// --- DequantizeLinear: inputs x, scale, zero point? ------------------------------------------------------------------

std::vector<TensorType> infer_dequantize(const Node& node, Types in) {
  check_zero_point(in);
  if (!is_int(in[0].dtype)) fail("takes integers, not {}", name(in[0].dtype));
  granularity(node, in[0].shape, in[1].shape);
  return {{in[1].dtype, in[0].shape}};
}

Func lower_dequantize(const Node& node, Types in, Types out) {
  Granularity g = granularity(node, in[0].shape, in[1].shape);
  FuncBuilder b("dequantizelinear");
  std::vector<int> ids = add_inputs(b, in, {"x", "scale", "zero"});
  int y = b.output("y", out[0].dtype, out[0].shape);
  b.block("dequantize", out[0].shape, y, [&](const Vars& v) {
    Expr x = loop::cast(DType::i32, b.load(ids[0], v)), scale = loop::cast(DType::f32, b.load(ids[1], g.of(v)));
    if (present(in, 2)) x = x - loop::cast(DType::i32, b.load(ids[2], g.of(v)));
    return loop::cast(out[0].dtype, loop::cast(DType::f32, x) * scale);
  });
  return b.take();
}

void dequantize(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor& scale = *in[1];
  Granularity g = granularity(node, in[0]->type.shape, scale.type.shape);
  for_each_index(out[0].type.shape, [&](const Index& v, i64 flat) {
    i64 s = flat_index(scale.type.shape, g.of(v));
    i64 difference = in[0]->get_int(flat) - (present(in, 2) ? in[2]->get_int(s) : 0);
    out[0].set(flat, static_cast<float>(difference) * static_cast<float>(scale.get(s)));
  });
}

// --- DynamicQuantizeLinear: outputs y (u8), scale (f32), zero point (u8) ---------------------------------------------

std::vector<TensorType> infer_dynamic(const Node&, Types in) {
  if (in[0].dtype != DType::f32) fail("takes f32, not {}", name(in[0].dtype));
  return {{DType::u8, in[0].shape}, {DType::f32, {}}, {DType::u8, {}}};
}

Expr f32(double value) { return const_float(value, DType::f32); }

// An output that nobody wants is computed all the same when another needs it.
Func lower_dynamic(const Node&, Types in, Types out) {
  const Shape& shape = in[0].shape;
  FuncBuilder b("dynamicquantizelinear");
  auto result = [&](size_t i, const char* name, DType dtype, const Shape& of) {
    return present(out, i) ? b.output(name, dtype, of) : b.temp(name, dtype, of);
  };
  int x = b.input("x", DType::f32, shape), y = result(0, "y", DType::u8, shape);
  int scale = result(1, "scale", DType::f32, {}), zero = result(2, "zero", DType::u8, {});
  int low = b.temp("low", DType::f32, {}), high = b.temp("high", DType::f32, {});
  auto element = [&](const Vars&, const Vars& r) { return b.load(x, r); };
  b.reduce("min", {}, shape, low, StoreOp::min, f32(0), element);
  b.reduce("max", {}, shape, high, StoreOp::max, f32(0), element);
  b.block("scale", {}, scale, [&](const Vars&) {
    Expr span = b.load(high, {}) - b.load(low, {});
    return select(f32(0) < span, span / f32(255), f32(1));
  });
  b.block("zero", {}, zero, [&](const Vars&) {
    return quantized(DType::u8, (f32(0) - b.load(low, {})) / b.load(scale, {}), const_int(0));
  });
  b.block("quantize", shape, y,
          [&](const Vars& v) { return quantized(DType::u8, b.load(x, v) / b.load(scale, {}), b.load(zero, {})); });
  return b.take();
}

void dynamic_quantize(const Node&, std::span<const Tensor* const> in, std::span<Tensor> out) {
  float low = 0, high = 0;
  for (float x : in[0]->data<float>()) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  float scale = high > low ? (high - low) / 255 : 1;
  Tensor zero({DType::u8, {}});
  set_quantized(zero, 0, (0 - low) / scale, 0);
  for (i64 i = 0; i < in[0]->size(); i++)
    set_quantized(out[0], i, static_cast<float>(in[0]->get(i)) / scale, zero.get_int(0));
  if (out.size() > 1) out[1].set(0, scale);
  if (out.size() > 2) out[2].set_int(0, zero.get_int(0));
}

const OpDef kOps[] = {
    {"DequantizeLinear", FuseKind::elementwise, 2, 3, infer_dequantize, lower_dequantize, dequantize},
    {"DynamicQuantizeLinear", FuseKind::opaque, 1, 1, infer_dynamic, lower_dynamic, dynamic_quantize},
    {"QuantizeLinear", FuseKind::elementwise, 2, 3, infer_quantize, lower_quantize, quantize},
};

}  // namespace

}  // namespace mcc::ops

namespace mcc {

std::span<const OpDef> quantize_ops() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> made(std::begin(ops::kOps), std::end(ops::kOps));
    made.insert(made.end(), ops::integer_product_ops().begin(), ops::integer_product_ops().end());
    return made;
  }();
  return ops;
}

}  // namespace mcc
