// Products of quantised numbers: MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv.
//
// All are one scheme: both sides become i32 with their zero points taken off, an integer product of them is summed
// exactly, and the QLinear forms scale the sum back: y = saturate(round_even(sum * (scale_a * scale_b / scale_y)) +
// zero_y). Zero points and scales are one for the tensor, or one for each row of A, each column of B, each output
// channel of W.
#include "base/text.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/quantize.h"

namespace mcc::ops {

namespace {

using namespace loop;

// Positions of the inputs; -1: the form has none.
struct Inputs {
  int b, zero_a, zero_b, scale_a, scale_b, scale_y, zero_y, bias;
  bool conv;
};
constexpr Inputs kInteger{1, 2, 3, -1, -1, -1, -1, -1, false}, kQLinear{3, 2, 5, 1, 4, 6, 7, -1, false};
constexpr Inputs kConvInteger{1, 2, 3, -1, -1, -1, -1, -1, true}, kQLinearConv{3, 2, 5, 1, 4, 6, 7, 8, true};

const Inputs& inputs_of(const Node& node) {
  bool conv = node.op == "ConvInteger" || node.op == "QLinearConv";
  if (node.op == "QLinearConv" || node.op == "QLinearMatMul") return conv ? kQLinearConv : kQLinear;
  return conv ? kConvInteger : kInteger;
}

bool given(Types in, int i) { return i >= 0 && present(in, at(i)); }

// Which dimension of the indexed tensor a parameter with more than one value runs along.
enum class Along : u8 { last, before_last, first, second };

template <typename T>
const T& along(const std::vector<T>& v, Along where) {
  switch (where) {
    case Along::last: return v.back();
    case Along::before_last: return v.size() < 2 ? v.back() : v[v.size() - 2];
    case Along::first: return v.front();
    case Along::second: return v[1];
  }
  return v.back();
}

Vars param_index(const Shape& param, const Vars& v, Along where) {
  if (elements(param) == 1) return Vars(param.size(), const_int(0));
  return param.size() == 1 ? Vars{along(v, where)} : broadcast_index(param, v);
}

i64 param_at(const Shape& param, const Index& v, Along where) {
  if (elements(param) == 1) return 0;
  return param.size() == 1 ? along(v, where) : flat_broadcast(param, v);
}

Along a_along(const Inputs& form) { return form.conv ? Along::first : Along::before_last; }
Along b_along(const Inputs& form) { return form.conv ? Along::first : Along::last; }
Along y_along_a(const Inputs& form) { return form.conv ? Along::first : Along::before_last; }
Along y_along_b(const Inputs& form) { return form.conv ? Along::second : Along::last; }

// The product's own node and types: MatMul or Conv of i32.
Node product_node(const Node& node) {
  Node product = node;
  product.op = inputs_of(node).conv ? "Conv" : "MatMul";
  product.in.clear();
  product.out.resize(1);
  return product;
}

std::vector<TensorType> product_types(const Node& node, Types in) {
  return {{DType::i32, in[0].shape}, {DType::i32, in[at(inputs_of(node).b)].shape}};
}

// A scale or zero point of the tensor `of`: one value, one for each place along a dimension, or what broadcasts.
void require_parameter(Types in, int i, const Shape& of, Along where, std::string_view what) {
  if (!given(in, i)) return;
  const Shape& shape = in[at(i)].shape;
  if (elements(shape) == 1) return;
  const bool fits = shape.size() == 1 ? !of.empty() && shape[0] == along(of, where) : broadcast(shape, of) == of;
  if (!fits) fail("{} {} does not fit {}", what, to_string(in[at(i)]), to_string(of));
}

// What the QLinear forms add to an integer product.
void check_requantize(const Inputs& form, Types in, const Shape& out) {
  for (const int i : {form.scale_a, form.scale_b, form.scale_y, form.zero_y})
    if (!given(in, i)) fail("input {} is missing", i);
  for (const int i : {form.scale_a, form.scale_b, form.scale_y})
    if (!is_float(in[at(i)].dtype)) fail("the scale {} is not a float", to_string(in[at(i)]));
  if (!is_int(in[at(form.zero_y)].dtype)) fail("the zero point {} is no integer", to_string(in[at(form.zero_y)]));
  require_parameter(in, form.scale_a, out, y_along_a(form), "the scale of the first operand");
  require_parameter(in, form.scale_b, out, y_along_b(form), "the scale of the second operand");
  require_parameter(in, form.scale_y, out, y_along_b(form), "the scale of the result");
  require_parameter(in, form.zero_y, out, y_along_b(form), "the zero point of the result");
  if (given(in, form.bias) && in[at(form.bias)] != TensorType{DType::i32, {out[1]}})
    fail("bias {} does not fit {} output channels of i32", to_string(in[at(form.bias)]), out[1]);
}

std::vector<TensorType> infer(const Node& node, Types in) {
  const Inputs& form = inputs_of(node);
  if (!is_int(in[0].dtype) || !is_int(in[at(form.b)].dtype)) fail("takes integers");
  TensorType out = find_op(product_node(node).op)->infer(product_node(node), product_types(node, in))[0];
  require_parameter(in, form.zero_a, in[0].shape, a_along(form), "the zero point of the first operand");
  require_parameter(in, form.zero_b, in[at(form.b)].shape, b_along(form), "the zero point of the second operand");
  if (form.scale_y < 0) return {out};
  check_requantize(form, in, out.shape);
  return {{in[at(form.zero_y)].dtype, out.shape}};
}

// The two sides as i32 without zero points; two temps of the Func.
struct Sides {
  int a, b;
};

Sides add_sides(FuncBuilder& b, const Node& node, Types in, const std::vector<int>& ids) {
  const Inputs& form = inputs_of(node);
  auto side = [&](const std::string& name, int input, int zero, Along where) {
    const TensorType& type = in[at(input)];
    int temp = b.temp(name, DType::i32, type.shape);
    b.block(name, type.shape, temp, [&](const Vars& v) {
      Expr x = loop::cast(DType::i32, b.load(ids[at(input)], v));
      if (!given(in, zero)) return x;
      return x - loop::cast(DType::i32, b.load(ids[at(zero)], param_index(in[at(zero)].shape, v, where)));
    });
    return temp;
  };
  return {side("a32", 0, form.zero_a, a_along(form)), side("b32", form.b, form.zero_b, b_along(form))};
}

void add_matmul(FuncBuilder& b, const Node& node, Types in, Sides sides, const Shape& out, int sums) {
  const Shape &a_shape = in[0].shape, &b_shape = in[at(inputs_of(node).b)].shape;
  Product p = product_of(node, a_shape, b_shape);
  auto index = [&](const Shape& shape, const Vars& batch, const Expr& row, const Expr& column) {
    Vars at = broadcast_index(Shape(shape.begin(), shape.end() - 2), batch);
    at.insert(at.end(), {row, column});
    return at;
  };
  b.reduce("matmul", out, {p.k}, sums, StoreOp::add, const_int(0, DType::i32), [&](const Vars& s, const Vars& r) {
    Vars batch(s.begin(), s.begin() + static_cast<i64>(p.batch.size())), left{r[0]}, right{r[0]};
    if (p.has_m) left = index(a_shape, batch, s[batch.size()], r[0]);
    if (p.has_n) right = index(b_shape, batch, r[0], s.back());
    return b.load(sides.a, left) * b.load(sides.b, right);
  });
}

void add_conv(FuncBuilder& b, const Node& node, Types in, Sides sides, const Shape& out, int sums) {
  std::vector<TensorType> types = product_types(node, in);
  ConvShape c = conv_shape(product_node(node), types);
  bool last = c.window.channels_last;
  int padded = pad_input(b, sides.a, types[0], c.window, const_int(0, DType::i32));
  Shape reduction = c.window.kernel;
  reduction.insert(reduction.begin(), c.group_in());
  b.reduce("conv", out, reduction, sums, StoreOp::add, const_int(0, DType::i32), [&](const Vars& s, const Vars& r) {
    Parts<Expr> y = split(last, s);
    Vars k(r.begin() + 1, r.end()), weight = r;
    weight.insert(weight.begin(), y.channel);
    Expr channel = c.group == 1 ? r[0] : floordiv(y.channel, c.group_out()) * c.group_in() + r[0];
    Parts<Expr> x{y.batch, channel, window_index(c.window, y.at, k)};
    return b.load(padded, arrange(last, x)) * b.load(sides.b, weight);
  });
}

Func lower(const Node& node, Types in, Types out) {
  const Inputs& form = inputs_of(node);
  FuncBuilder b(lower_case(node.op));
  std::vector<int> ids = add_inputs(b, in);
  int y = b.output("y", out[0].dtype, out[0].shape);
  Sides sides = add_sides(b, node, in, ids);
  bool scaled = form.scale_y >= 0;
  int sums = scaled ? b.temp("sums", DType::i32, out[0].shape) : y;
  (form.conv ? add_conv : add_matmul)(b, node, in, sides, out[0].shape, sums);
  if (!scaled) return b.take();
  b.block("requantize", out[0].shape, y, [&](const Vars& v) {
    auto param = [&](int i, Along where) { return b.load(ids[at(i)], param_index(in[at(i)].shape, v, where)); };
    auto real = [&](int i, Along where) { return loop::cast(DType::f32, param(i, where)); };
    Expr sum = b.load(sums, v);
    if (given(in, form.bias)) sum = sum + param(form.bias, Along::second);
    Expr scale =
        real(form.scale_a, y_along_a(form)) * real(form.scale_b, y_along_b(form)) / real(form.scale_y, y_along_b(form));
    return quantized(out[0].dtype, loop::cast(DType::f32, sum) * scale, param(form.zero_y, y_along_b(form)));
  });
  return b.take();
}

Tensor without_zero_point(const Tensor& x, const Tensor* zero, Along where) {
  Tensor shifted({DType::i32, x.type.shape});
  for_each_index(x.type.shape, [&](const Index& v, i64 flat) {
    shifted.set_int(flat, x.get_int(flat) - (zero ? zero->get_int(param_at(zero->type.shape, v, where)) : 0));
  });
  return shifted;
}

void reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Inputs& form = inputs_of(node);
  auto input = [&](int i) { return i >= 0 && present(in, at(i)) ? in[at(i)] : nullptr; };
  Tensor a = without_zero_point(*in[0], input(form.zero_a), a_along(form));
  Tensor b = without_zero_point(*in[at(form.b)], input(form.zero_b), b_along(form));
  std::vector<Tensor> sums{Tensor({DType::i32, out[0].type.shape})};
  std::vector<const Tensor*> sides{&a, &b};
  find_op(product_node(node).op)->reference(product_node(node), sides, sums);
  if (form.scale_y < 0) {
    out[0] = sums[0];
    return;
  }
  const Tensor* bias = input(form.bias);
  for_each_index(out[0].type.shape, [&](const Index& v, i64 flat) {
    auto real = [&](int i, Along where) {
      return static_cast<float>(in[at(i)]->get(param_at(in[at(i)]->type.shape, v, where)));
    };
    i64 sum = sums[0].get_int(flat) + (bias ? bias->get_int(v[1]) : 0);
    float scale =
        real(form.scale_a, y_along_a(form)) * real(form.scale_b, y_along_b(form)) / real(form.scale_y, y_along_b(form));
    const Tensor& zero = *in[at(form.zero_y)];
    set_quantized(out[0], flat, static_cast<float>(sum) * scale,
                  zero.get_int(param_at(zero.type.shape, v, y_along_b(form))));
  });
}

const OpDef kOps[] = {
    {"ConvInteger", FuseKind::anchor, 2, 4, infer, lower, reference},
    {"MatMulInteger", FuseKind::anchor, 2, 4, infer, lower, reference},
    {"QLinearConv", FuseKind::anchor, 8, 9, infer, lower, reference},
    {"QLinearMatMul", FuseKind::anchor, 8, 8, infer, lower, reference},
};

}  // namespace

std::span<const OpDef> integer_product_ops() { return kOps; }

}  // namespace mcc::ops
