// Quantised operators of ONNX Runtime (com.microsoft). Those named QLinear... compute with real numbers between two
// quantised tensors, and so they are imported: each operand dequantised, the plain operator, the result quantised.
// Which operator that is and where its operands stand says a table. The products keep their integers: a sum of
// products of integers is exact, and is scaled afterwards. Weights of four bits become real numbers.
#include <algorithm>

#include "frontend/compat_conv.h"

namespace mcc::frontend {
namespace {

// Inputs: `plain` ones that are not quantised, (x, scale, zero point) of each operand, scale and zero point of the
// result. With any number of operands those of the result come first.
constexpr size_t kAny = 0;
struct QLinear {
  std::string_view name, op;
  size_t plain, operands;
};
constexpr QLinear kQLinear[] = {
    {"QLinearAdd", "Add", 0, 2},
    {"QLinearMul", "Mul", 0, 2},
    {"QLinearSigmoid", "Sigmoid", 0, 1},
    {"QLinearLeakyRelu", "LeakyRelu", 0, 1},
    {"QLinearSoftmax", "Softmax", 0, 1},
    {"QLinearAveragePool", "AveragePool", 0, 1},
    {"QLinearGlobalAveragePool", "GlobalAveragePool", 0, 1},
    {"QLinearReduceMean", "ReduceMean", 0, 1},
    {"QLinearWhere", "Where", 1, 2},
    {"QLinearConcat", "Concat", 0, kAny},
};

// The one value of an input, as a scalar.
ValueId single(const OnnxCall& call, size_t i, std::string_view what) {
  const ValueId v = call.need(i, what);
  if (elements(call.builder.shape(v)) != 1) fail("{} {} is not one value", what, to_string(call.builder.shape(v)));
  return call.reshape(v, {});
}

// One zero point for each scale.
ValueId zero_point(const OnnxCall& call, size_t i, DType dtype) {
  return call.has(i) ? single(call, i, "a zero point") : call.scalar(dtype, 0);
}

ValueId dequantized(const OnnxCall& call, size_t i) {
  const ValueId x = call.need(i, "an operand");
  return call.emit1("DequantizeLinear",
                    {x, single(call, i + 1, "a scale"), zero_point(call, i + 2, call.builder.type(x).dtype)});
}

ValueId quantized(const OnnxCall& call, ValueId y, size_t scale, DType dtype) {
  return call.emit1("QuantizeLinear", {y, single(call, scale, "a scale"), zero_point(call, scale + 1, dtype)});
}

Outputs qlinear(OnnxCall& call) {
  const auto* form =
      std::find_if(std::begin(kQLinear), std::end(kQLinear), [&](const QLinear& row) { return row.name == call.op; });
  MCC_CHECK(form != std::end(kQLinear));
  const bool any = form->operands == kAny;
  const size_t first = any ? 2 : form->plain,
               count = any ? (call.in.size() - std::min(call.in.size(), first)) / 3 : form->operands;
  if (count == 0) fail("has no operands");
  take_inputs(call, first + 3 * count + (any ? 0 : 2));
  const DType dtype = call.dtype(first);
  std::vector<ValueId> operands;
  for (size_t i = 0; i < form->plain; i++) operands.push_back(call.need(i, "an operand"));
  for (size_t i = 0; i < count; i++) operands.push_back(dequantized(call, first + 3 * i));

  Attrs attrs = call.attrs;
  const bool last = attrs.get_int("channels_last", 0) != 0;
  const i64 opset = attrs.get_int("opset", 13);
  attrs.erase("channels_last");
  attrs.erase("opset");
  if (last) operands[0] = channels_first(call, operands[0]);
  ValueId y = import_as(call, form->op, operands, attrs, opset);
  if (last) y = channels_last(call, y);
  return {quantized(call, y, any ? 0 : first + 3 * count, dtype)};
}

// Sums of products of integers, less their zero points, times the scales, plus a bias.
struct IntegerProduct {
  ValueId a, zero_a, scale_a;
  ValueId b, zero_b, scale_b;
};

ValueId scaled_sums(const OnnxCall& call, ValueId sums, ValueId scale_a, ValueId scale_b) {
  const ValueId scale = call.emit1("Mul", {scale_a, scale_b});
  return call.emit1("Mul", {call.cast(sums, DType::f32), scale});
}

ValueId product(const OnnxCall& call, const IntegerProduct& p, ValueId bias) {
  const ValueId sums = call.emit1("MatMulInteger", {p.a, p.b, p.zero_a, p.zero_b});
  const ValueId y = scaled_sums(call, sums, p.scale_a, p.scale_b);
  return bias == kNone ? y : call.emit1("Add", {y, bias});
}

Outputs dynamic_quantize_matmul(OnnxCall& call) {
  take_inputs(call, 5);
  const Outputs a = call.emit("DynamicQuantizeLinear", {call.need(0, "A")}, {}, 3);
  return {product(call, {a[0], a[2], a[1], call.need(1, "B"), call.input(3), call.need(2, "b_scale")}, call.input(4))};
}

Outputs matmul_integer_to_float(OnnxCall& call) {
  take_inputs(call, 7);
  return {product(call,
                  {call.need(0, "A"), call.input(4), single(call, 2, "a_scale"), call.need(1, "B"), call.input(5),
                   call.need(3, "b_scale")},
                  call.input(6))};
}

// C is of the sums' scale and is added to them. Without a scale of the result it stays real.
Outputs qgemm(OnnxCall& call) {
  take_inputs(call, 9);
  for (const size_t i : {0, 3}) require_rank(call, i, 2);
  const auto side = [&](size_t i, const char* key) {
    return call.attrs.get_int(key, 0) != 0 ? call.transpose(call.in[i], {1, 0}) : call.in[i];
  };
  const ValueId a = side(0, "transA"), b = side(3, "transB"), scale_b = call.need(4, "b_scale");
  ValueId sums = call.emit1("MatMulInteger", {a, b, call.input(2), call.input(5)});
  const Shape shape = call.builder.shape(sums);
  if (call.has(6)) sums = call.emit1("Add", {sums, call.in[6]});
  if (call.builder.shape(sums) != shape)
    fail("C {} does not broadcast to {}", to_string(call.shape(6)), to_string(shape));
  const ValueId alpha = call.scalar(DType::f32, call.attrs.get_float("alpha", 1));
  const ValueId y = scaled_sums(call, sums, call.emit1("Mul", {single(call, 1, "a_scale"), alpha}), scale_b);
  if (call.builder.shape(y) != shape) fail("b_scale {} does not fit {}", to_string(call.shape(4)), to_string(shape));
  if (!call.has(7) && !call.has(8)) return {y};
  return {quantized(call, y, 7, call.builder.type(call.need(8, "y_zero_point")).dtype)};
}

// Bytes of two numbers each, the lower half first, as twice as many along the last axis; of one number as they are.
ValueId unpacked(const OnnxCall& call, ValueId v, i64 bits) {
  if (bits == 8) return v;
  Shape shape = call.builder.shape(v), one = shape;
  one.push_back(1);
  shape.back() *= 2;
  const ValueId low = call.emit1("BitwiseAnd", {v, call.scalar(DType::u8, 15)});
  const ValueId high =
      call.emit1("BitShift", {v, call.scalar(DType::u8, 4)}, make_attrs({{"direction", std::string("RIGHT")}}));
  return call.reshape(call.emit1("Concat", {call.reshape(low, one), call.reshape(high, one)},
                                 make_attrs({{"axis", std::ssize(one) - 1}})),
                      shape);
}

// Weights of few bits: of each of N columns the K numbers in blocks, which have a scale and a zero point each.
struct Blocks {
  i64 k, n, bits, size, count;
  explicit Blocks(const OnnxCall& call)
      : k(call.attrs.get_int("K")),
        n(call.attrs.get_int("N")),
        bits(call.attrs.get_int("bits", 4)),
        size(call.attrs.get_int("block_size")) {
    small_ints({k, n, size}, "K, N, block_size", 1, 3);
    if (bits != 4 && bits != 8) fail("{} bits are not supported", bits);
    if (size % 2 != 0) fail("block_size {} is odd", size);
    count = ceil_div(k, size);
  }
};

// Zero points are packed like the weights, each column from a new byte on, or are numbers of the scales' type.
ValueId zero_points(const OnnxCall& call, size_t i, const Blocks& b, DType dtype) {
  if (!call.has(i)) return call.scalar(dtype, b.bits == 4 ? 8 : 128);
  ValueId v = call.in[i];
  if (call.builder.type(v).dtype == DType::u8) {
    v = unpacked(call, call.reshape(v, {b.n, ceil_div(b.count * b.bits, 8)}), b.bits);
    v = slice(call, v, 1, 0, b.count);
  }
  return call.reshape(call.cast(v, dtype), {b.n, b.count, 1});
}

// Inputs A, B, scales, zero_points?, g_idx?, bias?.
Outputs matmul_nbits(OnnxCall& call) {
  take_inputs(call, 6);
  if (call.has(4)) fail("g_idx is not supported");
  const Blocks b(call);
  const DType dtype = call.dtype(0);
  if (call.builder.type(call.need(1, "B")).dtype != DType::u8) fail("B is not of bytes");
  ValueId w = unpacked(call, call.reshape(call.in[1], {b.n, b.count, b.size * b.bits / 8}), b.bits);
  w = call.emit1("Sub", {call.cast(w, dtype), zero_points(call, 3, b, dtype)});
  w = call.emit1("Mul", {w, call.reshape(call.cast(call.need(2, "scales"), dtype), {b.n, b.count, 1})});
  w = slice(call, call.reshape(w, {b.n, b.count * b.size}), 1, 0, b.k);
  const ValueId y = call.emit1("MatMul", {call.in[0], call.transpose(w, {1, 0})});
  return {call.has(5) ? call.emit1("Add", {y, call.in[5]}) : y};
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft.QLinearAdd", qlinear, ""},
    {"com.microsoft.QLinearMul", qlinear, ""},
    {"com.microsoft.QLinearSigmoid", qlinear, ""},
    {"com.microsoft.QLinearLeakyRelu", qlinear, "alpha"},
    {"com.microsoft.QLinearSoftmax", qlinear, "axis opset"},
    {"com.microsoft.QLinearAveragePool", qlinear,
     "auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides"},
    {"com.microsoft.QLinearGlobalAveragePool", qlinear, "channels_last"},
    {"com.microsoft.QLinearReduceMean", qlinear, "axes keepdims"},
    {"com.microsoft.QLinearWhere", qlinear, ""},
    {"com.microsoft.QLinearConcat", qlinear, "axis"},
    {"com.microsoft.QGemm", qgemm, "alpha transA transB"},
    {"com.microsoft.DynamicQuantizeMatMul", dynamic_quantize_matmul, ""},
    {"com.microsoft.MatMulIntegerToFloat", matmul_integer_to_float, ""},
    {"com.microsoft.MatMulNBits", matmul_nbits, "K N accuracy_level bits block_size",
     "4 and 8 bits, no g_idx; weights become real numbers at compile time"},
};

}  // namespace

std::span<const OnnxOp> qlinear_imports() { return kOps; }

}  // namespace mcc::frontend
