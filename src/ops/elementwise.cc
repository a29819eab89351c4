// Elementwise operators: type rules, lowering to one block, and evaluation, driven by the rows of unary.cc and
// binary.cc.
#include "ops/elementwise.h"
#include "base/text.h"

#include <algorithm>
#include <map>

namespace mcc {

namespace {

using namespace ops;

const Elementwise& row_of(const Node& node) {
  static const std::map<std::string_view, const Elementwise*> rows = [] {
    std::map<std::string_view, const Elementwise*> by_name;
    for (std::span<const Elementwise> part : {unary_rows(), binary_rows()})
      for (const Elementwise& row : part) by_name[row.name] = &row;
    return by_name;
  }();
  return *rows.at(node.op);
}

void check_type(const Elementwise& row, DType dtype) {
  auto check = [&](bool fits, std::string_view wanted) {
    if (!fits) fail("takes {}, not {}", wanted, name(dtype));
  };
  switch (row.takes) {
    case Takes::anything: return;
    case Takes::numbers: return check(dtype != DType::boolean, "numbers");
    case Takes::floats: return check(is_float(dtype), "floating-point numbers");
    case Takes::integers: return check(is_int(dtype), "integers");
    case Takes::booleans: return check(dtype == DType::boolean, "bool");
  }
}

DType named_type(const Node& node) {
  std::string to = node.attrs.get_string("to", "");
  std::optional<DType> dtype = dtype_from_name(to);
  if (!dtype) fail("cannot cast to '{}'", to);
  return *dtype;
}

std::vector<TensorType> infer(const Node& node, Types in) {
  const Elementwise& row = row_of(node);
  if (row.check) row.check(node);
  size_t first = row.gives == Gives::chosen ? 1 : 0;
  if (first == 1 && in[0].dtype != DType::boolean) fail("the condition is {}, not bool", name(in[0].dtype));
  TensorType out = in[first];
  for (size_t i = 0; i < in.size(); i++) {
    if (i >= first) check_type(row, in[i].dtype);
    if (i > first && row.gives != Gives::first) require_same_dtype(in[first], in[i]);
    out.shape = broadcast(out.shape, in[i].shape);
  }
  if (row.gives == Gives::truth) out.dtype = DType::boolean;
  if (row.gives == Gives::named) out.dtype = named_type(node);
  return {out};
}

loop::Func lower(const Node& node, Types in, Types out) {
  const Elementwise& row = row_of(node);
  std::string name = lower_case(node.op);
  FuncBuilder b(name);
  std::vector<int> xs = add_inputs(b, in);
  int y = b.output("y", out[0].dtype, out[0].shape);
  b.block(name, out[0].shape, y, [&](const Vars& v) {
    std::vector<Expr> values;
    for (size_t i = 0; i < in.size(); i++)
      values.push_back(loop::cast(compute_type(in[i].dtype), b.load(xs[i], broadcast_index(in[i].shape, v))));
    return loop::cast(out[0].dtype, row.expr(node, values));
  });
  return b.take();
}

Wide wide_element(const Tensor& tensor, i64 i) {
  i64 bits = tensor.get_int(i);
  return tensor.type.dtype == DType::u64 ? Wide{static_cast<u64>(bits)} : Wide{bits};
}

void set_wide(Tensor& to, i64 i, Wide value) {
  if (is_float(to.type.dtype))
    to.set(i, static_cast<double>(value));
  else if (to.type.dtype == DType::boolean)
    to.set(i, value != 0);
  else
    to.set_int(i, static_cast<i64>(static_cast<u64>(value)));
}

void reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Elementwise& row = row_of(node);
  bool floats = std::any_of(in.begin(), in.end(), [](const Tensor* t) { return is_float(t->type.dtype); });
  bool as_integers = row.on_integers && !floats;
  std::vector<Wide> wides(in.size());
  std::vector<double> doubles(in.size());
  for_each_index(out[0].type.shape, [&](const Index& index, i64 flat) {
    for (size_t i = 0; i < in.size(); i++) {
      bool same_shape = in[i]->type.shape == out[0].type.shape;
      i64 from = same_shape ? flat : flat_broadcast(in[i]->type.shape, index);
      if (as_integers)
        wides[i] = wide_element(*in[i], from);
      else
        doubles[i] = in[i]->get(from);
    }
    if (as_integers)
      set_wide(out[0], flat, row.on_integers(node, wides));
    else
      set_saturated(out[0], flat, row.on_doubles(node, doubles));
  });
}

OpDef make_op(const Elementwise& row) {
  int least = row.inputs == kAnyNumber ? 1 : row.inputs;
  return {row.name, FuseKind::elementwise, least, row.inputs, infer, lower, reference};
}

}  // namespace

std::span<const OpDef> elementwise_ops() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> made;
    for (const Elementwise& row : unary_rows()) made.push_back(make_op(row));
    for (const Elementwise& row : binary_rows()) made.push_back(make_op(row));
    return made;
  }();
  return ops;
}

}  // namespace mcc
