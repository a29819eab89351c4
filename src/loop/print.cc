// The text form of loop programs (grammar in loop_ops.h). Printing loses nothing: parse_func gives back an equal Func.
//
// Three things need care for that. Variables that share a name print as name, name#1, name#2, ... in the order of
// Func::vars. That order is the order in which loops first appear; a Func where it is not starts with a `vars` line.
// Buffers print in their own order: those up to the last parameter in the parentheses, the rest as declarations.
#include <fmt/format.h>

#include "base/text.h"
#include "loop/loop_ops.h"
#include "loop/scalar.h"
#include "loop/text_form.h"

namespace mcc::loop {

std::string_view name(ExprOp op) { return op_names()[at(op)]; }

std::span<const std::string_view> op_names() {
  static constexpr std::string_view names[] = {
      "constant", "var",     "load",    "add",    "sub",        "mul",     "div",   "mod",    "floordiv",
      "floormod", "min",     "max",     "pow",    "lt",         "le",      "eq",    "ne",     "and",
      "or",       "not",     "bit_and", "bit_or", "bit_xor",    "bit_not", "shl",   "shr",    "select",
      "cast",     "neg",     "abs",     "sqrt",   "exp",        "log",     "sin",   "cos",    "tan",
      "asin",     "acos",    "atan",    "sinh",   "cosh",       "tanh",    "asinh", "acosh",  "atanh",
      "erf",      "sigmoid", "floor",   "ceil",   "round_even", "trunc",   "sign",  "is_nan", "is_inf"};
  static_assert(std::size(names) == static_cast<size_t>(ExprOp::is_inf) + 1);
  return names;
}

std::span<const std::string_view> store_op_names() {
  static constexpr std::string_view names[] = {"=", "+=", "*=", "min=", "max=", "and=", "or=", "xor="};
  return names;
}

std::span<const std::string_view> loop_kind_names() {
  static constexpr std::string_view names[] = {"for", "parallel", "vectorize", "unroll"};
  return names;
}

std::span<const std::string_view> scope_names() {
  static constexpr std::string_view names[] = {"input", "constant", "output", "temp", "local", "reg"};
  return names;
}

std::optional<Infix> infix(ExprOp op) {
  switch (op) {
    case ExprOp::logical_or: return Infix{"||", 1};
    case ExprOp::logical_and: return Infix{"&&", 2};
    case ExprOp::lt: return Infix{"<", 3};
    case ExprOp::le: return Infix{"<=", 3};
    case ExprOp::eq: return Infix{"==", 3};
    case ExprOp::ne: return Infix{"!=", 3};
    case ExprOp::add: return Infix{"+", 4};
    case ExprOp::sub: return Infix{"-", 4};
    case ExprOp::mul: return Infix{"*", 5};
    case ExprOp::div: return Infix{"/", 5};
    case ExprOp::floordiv: return Infix{"//", 5};
    case ExprOp::floormod: return Infix{"%", 5};
    default: return std::nullopt;
  }
}

bool is_identifier(std::string_view text) {
  if (text.empty() || !is_name_start(text[0])) return false;
  for (const char c : text) {
    if (!is_name_char(c)) return false;
  }
  return true;
}

namespace {

class Printer {
 public:
  explicit Printer(const Func& func) : func_(func) {
    std::map<std::string, int> seen;
    for (const std::string& name : func.vars) {
      const int before = seen[name]++;
      vars_.push_back(before == 0 ? name : fmt::format("{}#{}", name, before));
    }
  }

  void expr(const Expr& e, int least = 0);
  void func();
  std::string take() { return std::move(out_); }

 private:
  void constant(const Expr& e);
  void list(const std::vector<Expr>& items);
  void buffer(const Buffer& b);
  void body(const std::vector<Stmt>& stmts, size_t indent);
  void block(const std::vector<Stmt>& stmts, size_t indent);
  void prefetch(const Prefetch& fetch);
  void store(const Store& s);
  const std::string& buffer_name(i64 id) { return func_.buffer(id).name; }

  const Func& func_;
  std::vector<std::string> vars_;  // printed names
  std::string out_;
};

void Printer::constant(const Expr& e) {
  if (e.dtype == DType::boolean) {
    out_ += e.i != 0 ? "true" : "false";
  } else if (is_float(e.dtype)) {
    const float narrow = static_cast<float>(e.f);
    const bool exact = e.dtype != DType::f64 && static_cast<double>(narrow) == e.f;
    std::string text = exact ? fmt::format("{}", narrow) : shortest(e.f);
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    out_ += text;
    if (e.dtype != DType::f32) out_ += fmt::format(":{}", mcc::name(e.dtype));
  } else {
    out_ += std::to_string(e.i);
    if (e.dtype != DType::i64) out_ += fmt::format(":{}", mcc::name(e.dtype));
  }
}

void Printer::list(const std::vector<Expr>& items) {
  for (size_t i = 0; i < items.size(); i++) {
    if (i > 0) out_ += ", ";
    expr(items[i]);
  }
}

// An operation that binds less tightly than `least` needs parentheses.
void Printer::expr(const Expr& e, int least) {
  if (e.op == ExprOp::constant) return constant(e);
  if (e.op == ExprOp::var) {
    out_ += vars_[at(e.i)];
  } else if (e.op == ExprOp::load) {
    out_ += buffer_name(e.i) + "[";
    list(e.args);
    out_ += "]";
  } else if (const auto op = infix(e.op)) {
    const bool tight = op->precedence == 5;
    if (op->precedence < least) out_ += "(";
    expr(e.args[0], op->precedence);
    out_ += tight && op->text == "*" ? std::string(op->text) : fmt::format(" {} ", op->text);
    expr(e.args[1], op->precedence + 1);
    if (op->precedence < least) out_ += ")";
  } else if (e.op == ExprOp::logical_not) {
    out_ += "!";
    expr(e.args[0], 6);
  } else {
    out_ += e.op == ExprOp::cast ? fmt::format("cast.{}", mcc::name(e.dtype)) : std::string(name(e.op));
    out_ += "(";
    list(e.args);
    out_ += ")";
  }
}

void Printer::buffer(const Buffer& b) {
  out_ += fmt::format("{} {}: {}[{}]", scope_names()[at(b.scope)], b.name, mcc::name(b.dtype), join(b.shape, ","));
  if (b.pack.dims.empty() && b.pack.source.empty()) return;
  out_ += fmt::format(" pack [{}]", join(b.pack.source, ","));
  if (b.pack.winograd != 0) out_ += fmt::format(" winograd {}:", b.pack.winograd);
  for (const PackDim& dim : b.pack.dims) {
    out_ += dim.scale == 1 ? fmt::format(" {}", dim.axis) : fmt::format(" {}*{}", dim.axis, dim.scale);
  }
}

void Printer::store(const Store& s) {
  out_ += buffer_name(s.buffer) + "[";
  list(s.index);
  out_ += fmt::format("] {} ", store_op_names()[at(s.op)]);
  expr(s.value);
  if (!s.block.empty()) out_ += " @" + s.block;
}

void Printer::prefetch(const Prefetch& fetch) {
  out_ += fmt::format("prefetch {} {}[", fetch.lines, buffer_name(fetch.buffer));
  expr(fetch.at);
  out_ += "] ";
}

void Printer::block(const std::vector<Stmt>& stmts, size_t indent) {
  out_ += "{\n";
  body(stmts, indent + 2);
  out_.append(indent, ' ');
  out_ += "}";
}

void Printer::body(const std::vector<Stmt>& stmts, size_t indent) {
  for (const Stmt& stmt : stmts) {
    out_.append(indent, ' ');
    if (const auto* loop = std::get_if<Loop>(&stmt.node)) {
      out_ += fmt::format("{} {} in {} ", loop_kind_names()[at(loop->kind)], vars_[at(loop->var)], loop->extent);
      for (const Prefetch& fetch : loop->ahead) prefetch(fetch);
      block(loop->body, indent);
    } else if (const auto* branch = std::get_if<If>(&stmt.node)) {
      out_ += "if ";
      expr(branch->condition);
      out_ += " ";
      block(branch->then_body, indent);
      if (!branch->else_body.empty()) {
        out_ += " else ";
        block(branch->else_body, indent);
      }
    } else {
      store(std::get<Store>(stmt.node));
    }
    out_ += "\n";
  }
}

// Whether the loops first appear in the order of their variables, all of which have one.
void first_appearances(const std::vector<Stmt>& body, std::vector<int>& order, std::vector<bool>& seen) {
  for (const Stmt& stmt : body) {
    if (const auto* loop = std::get_if<Loop>(&stmt.node)) {
      if (!seen[at(loop->var)]) order.push_back(loop->var);
      seen[at(loop->var)] = true;
      first_appearances(loop->body, order, seen);
    } else if (const auto* branch = std::get_if<If>(&stmt.node)) {
      first_appearances(branch->then_body, order, seen);
      first_appearances(branch->else_body, order, seen);
    }
  }
}

bool vars_in_order(const Func& func) {
  std::vector<int> order;
  std::vector<bool> seen(func.vars.size(), false);
  first_appearances(func.body, order, seen);
  return order.size() == func.vars.size() && std::is_sorted(order.begin(), order.end());
}

void Printer::func() {
  size_t in_head = 0;
  for (size_t i = 0; i < func_.buffers.size(); i++) {
    if (is_param(func_.buffers[i].scope)) in_head = i + 1;
  }
  out_ += is_identifier(func_.name) ? fmt::format("func {}(", func_.name) : fmt::format("func \"{}\"(", func_.name);
  for (size_t i = 0; i < in_head; i++) {
    if (i > 0) out_ += ", ";
    buffer(func_.buffers[i]);
  }
  out_ += ") {\n";
  if (!vars_in_order(func_)) out_ += fmt::format("  vars {}\n", join(func_.vars, ", "));
  for (size_t i = in_head; i < func_.buffers.size(); i++) {
    out_ += "  ";
    buffer(func_.buffers[i]);
    out_ += "\n";
  }
  body(func_.body, 2);
  out_ += "}\n";
}

}  // namespace

std::string print(const Func& func) {
  Printer printer(func);
  printer.func();
  return printer.take();
}

std::string print(const Func& func, const Expr& expr) {
  Printer printer(func);
  printer.expr(expr);
  return printer.take();
}

}  // namespace mcc::loop
