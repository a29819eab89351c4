// Einsum: one nest over all labels of the equation, the output's as spatial loops and the others as reduction, whose
// value is the product of the operands. It covers every equation (diagonals, "...", broadcasting of extents of one);
// equations that are matrix products are rewritten to MatMul by a graph pass, where speed is.
#include <algorithm>
#include <cctype>

#include "ops/matmul.h"

namespace mcc::ops {
namespace {

constexpr std::string_view kDots = "...";

struct Equation {
  std::vector<std::string> in;
  std::string out;
  bool has_out = false;
};

Equation split_equation(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  Equation e;
  size_t arrow = text.find("->");
  e.has_out = arrow != std::string::npos;
  std::string left = text.substr(0, arrow);
  if (e.has_out) e.out = text.substr(arrow + 2);
  for (size_t from = 0;;) {
    size_t comma = left.find(',', from);
    e.in.push_back(left.substr(from, comma - from));
    if (comma == std::string::npos) return e;
    from = comma + 1;
  }
}

// "ab...c" with two dimensions under the dots -> "ab10c". Throws for anything but letters and one group of dots.
std::string expand_dots(const std::string& labels, i64 dots) {
  std::string expanded;
  size_t at_dots = labels.find(kDots);
  for (size_t i = 0; i < labels.size(); i++) {
    if (i == at_dots) {
      for (i64 d = dots; d-- > 0;) expanded += static_cast<char>('0' + d);
      i += kDots.size() - 1;
    } else if (std::isalpha(static_cast<unsigned char>(labels[i]))) {
      expanded += labels[i];
    } else {
      fail("'{}' in the equation is no label", labels[i]);
    }
  }
  return expanded;
}

i64 dots_in(const std::string& labels, i64 rank) {
  if (labels.find(kDots) == std::string::npos) return 0;
  return rank - static_cast<i64>(labels.size() - kDots.size());
}

void note_extents(Einsum& e, const std::string& labels, const Shape& shape) {
  if (labels.size() != shape.size()) fail("'{}' does not fit shape {}", labels, to_string(shape));
  for (size_t d = 0; d < shape.size(); d++) {
    i64& extent = e.extent[static_cast<unsigned char>(labels[d])];
    if (extent > 1 && shape[d] > 1 && extent != shape[d])
      fail("label '{}' has extents {} and {}", labels[d], extent, shape[d]);
    if (extent == -1 || extent == 1) extent = shape[d];
  }
}

// Without an arrow: the dimensions under the dots, then all labels that occur once, in alphabetical order.
std::string implied_output(const Einsum& e, i64 dots) {
  std::string all, out = dots > 0 ? expand_dots("...", dots) : "";
  for (const std::string& labels : e.in) all += labels;
  std::sort(all.begin(), all.end());
  for (char label : all)
    if (std::isalpha(static_cast<unsigned char>(label)) && std::count(all.begin(), all.end(), label) == 1) out += label;
  return out;
}

}  // namespace

Shape Einsum::extents_of(const std::string& labels) const {
  Shape shape;
  for (char label : labels) shape.push_back(extent_of(label));
  return shape;
}

Einsum parse_einsum(const std::string& text, Types in) {
  Equation equation = split_equation(text);
  if (equation.in.size() != in.size())
    fail("equation '{}' names {} operands, not {}", text, equation.in.size(), in.size());
  Einsum e;
  e.extent.assign(256, -1);
  i64 dots = 0;
  for (size_t i = 0; i < in.size(); i++) {
    i64 here = dots_in(equation.in[i], rank(in[i]));
    if (here < 0 || here > 9) fail("'{}' does not fit {}", equation.in[i], to_string(in[i]));
    dots = std::max(dots, here);
    e.in.push_back(expand_dots(equation.in[i], here));
    note_extents(e, e.in.back(), in[i].shape);
  }
  e.out = equation.has_out ? expand_dots(equation.out, dots) : implied_output(e, dots);
  for (char label : e.out)
    if (e.extent_of(label) < 0) fail("output label '{}' occurs in no operand", label);
  for (const std::string& labels : e.in)
    for (char label : labels)
      if ((e.out + e.summed).find(label) == std::string::npos) e.summed += label;
  return e;
}

loop::Func lower_einsum(const Node& node, Types in, Types out) {
  Einsum e = parse_einsum(node.attrs.get_string("equation", ""), in);
  DType dtype = out[0].dtype, acc = compute_type(dtype);
  FuncBuilder b(node.op);
  std::vector<int> operands = add_inputs(b, in, {"x"});
  int y = b.output("y", dtype, out[0].shape);
  auto product = [&](const Vars& s, const Vars& r) {
    auto index_of = [&](char label) {
      size_t at = e.out.find(label);
      return at != std::string::npos ? s[at] : r[e.summed.find(label)];
    };
    Expr value = loop::constant(acc, 1);
    for (size_t i = 0; i < operands.size(); i++) {
      Vars index;
      for (size_t d = 0; d < e.in[i].size(); d++)
        index.push_back(in[i].shape[d] == 1 ? loop::const_int(0) : index_of(e.in[i][d]));
      Expr factor = loop::cast(acc, b.load(operands[i], index));
      value = i == 0 ? factor : value * factor;
    }
    return value;
  };
  if (e.summed.empty()) {
    b.block("einsum", out[0].shape, y, [&](const Vars& v) { return loop::cast(dtype, product(v, {})); });
    return b.take();
  }
  int sums = acc == dtype ? y : b.temp("sums", acc, out[0].shape);
  b.reduce("einsum", out[0].shape, e.extents_of(e.summed), sums, loop::StoreOp::add, loop::constant(acc, 0), product);
  if (sums != y) b.block("cast", out[0].shape, y, [&](const Vars& v) { return loop::cast(dtype, b.load(sums, v)); });
  return b.take();
}

}  // namespace mcc::ops
