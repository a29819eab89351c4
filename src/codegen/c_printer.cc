// Kernels as portable C99 (--emit=c): plain loops, one function for the kernel and one for each parallel loop, the same
// symbol, scratch layout and calling convention as the objects. Vectorize and unroll marks are left to the C compiler.
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"
#include "codegen/c_prelude.h"
#include "codegen/codegen.h"
#include "codegen/layout.h"
#include "loop/scalar.h"

namespace mcc {

namespace {

using codegen::Layout;
using codegen::Place;
using codegen::Placement;
using loop::Expr;
using loop::ExprOp;
using loop::Func;
using loop::Loop;
using loop::LoopKind;
using loop::Stmt;
using loop::StoreOp;

// C type of a value in an expression, and of an element in memory.
std::string value_type(DType dtype) {
  if (dtype == DType::f64) return "double";
  if (is_float(dtype)) return "float";
  if (dtype == DType::boolean) return "int";
  return fmt::format("{}int{}_t", is_unsigned(dtype) ? "u" : "", 8 * size_of(dtype));
}
std::string memory_type(DType dtype) {
  if (dtype == DType::f16 || dtype == DType::bf16) return "uint16_t";
  return dtype == DType::boolean ? "uint8_t" : value_type(dtype);
}
bool is_narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

std::string identifier(char kind, int number, const std::string& name) {
  std::string result = fmt::format("{}{}_", kind, number);
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return result;
}

std::string rounded(DType dtype, const std::string& value) {
  return is_narrow(dtype) ? fmt::format("mcc_round_{}({})", name(dtype), value) : value;
}

std::string constant(const Expr& e) {
  if (!is_float(e.dtype)) {
    if (e.dtype == DType::u64) return fmt::format("UINT64_C({})", static_cast<u64>(e.i));
    if (e.i == std::numeric_limits<i64>::min()) return "INT64_MIN";
    return e.dtype == DType::i64 && std::abs(e.i) > INT32_MAX ? fmt::format("INT64_C({})", e.i)
                                                              : fmt::format("{}", e.i);
  }
  const char* suffix = e.dtype == DType::f64 ? "" : "f";
  if (std::isnan(e.f)) return e.dtype == DType::f64 ? "(double)NAN" : "NAN";
  if (std::isinf(e.f))
    return fmt::format("{}{}", e.f < 0 ? "-" : "", e.dtype == DType::f64 ? "(double)INFINITY" : "INFINITY");
  return shortest(e.f) + suffix;
}

std::string operation_name(ExprOp op) { return std::string(name(op)); }

std::string c_convert(DType from, DType to, const std::string& value) {
  if (is_float(from) && !is_float(to)) {
    if (to == DType::boolean) return fmt::format("({} != 0)", value);
    if (to == DType::u64) return fmt::format("mcc_saturate_u64({})", value);
    const i64 low = min_value(to), high = max_value(to);
    const std::string lowest = low == std::numeric_limits<i64>::min() ? "INT64_MIN" : fmt::format("{}", low);
    return fmt::format("({})mcc_saturate({}, {}, INT64_C({}))", value_type(to), value, lowest, high);
  }
  if (to == DType::boolean) return fmt::format("({} != 0)", value);
  return rounded(to, fmt::format("({}){}", value_type(to), value));
}

std::string float_binary(ExprOp op, DType dtype, const std::string& a, const std::string& b) {
  const char* suffix = dtype == DType::f64 ? "" : "f";
  switch (op) {
    case ExprOp::add: return rounded(dtype, fmt::format("({} + {})", a, b));
    case ExprOp::sub: return rounded(dtype, fmt::format("({} - {})", a, b));
    case ExprOp::mul: return rounded(dtype, fmt::format("({} * {})", a, b));
    case ExprOp::div: return rounded(dtype, fmt::format("({} / {})", a, b));
    case ExprOp::mod: return rounded(dtype, fmt::format("fmod{}({}, {})", suffix, a, b));
    case ExprOp::pow: return rounded(dtype, fmt::format("pow{}({}, {})", suffix, a, b));
    default: return fmt::format("mcc_{}{}({}, {})", operation_name(op), dtype == DType::f64 ? "d" : "f", a, b);
  }
}

// Everything wraps: computed in 64 bits, cut to the type.
std::string integer_binary(ExprOp op, DType dtype, const std::string& a, const std::string& b) {
  const std::string type = value_type(dtype);
  const bool wide = dtype == DType::u64;
  switch (op) {
    case ExprOp::bit_and: return fmt::format("({})({} & {})", type, a, b);
    case ExprOp::bit_or: return fmt::format("({})({} | {})", type, a, b);
    case ExprOp::bit_xor: return fmt::format("({})({} ^ {})", type, a, b);
    case ExprOp::shl: return fmt::format("({})mcc_shl((int64_t){}, (int64_t){}, {})", type, a, b, 8 * size_of(dtype));
    case ExprOp::shr:
      return wide ? fmt::format("mcc_ushr({}, {})", a, b)
                  : fmt::format("({})mcc_shr({}, {}, {})", type, a, b, 8 * size_of(dtype));
    case ExprOp::add:
    case ExprOp::sub:
    case ExprOp::mul: return fmt::format("({})mcc_{}((int64_t){}, (int64_t){})", type, operation_name(op), a, b);
    default: break;
  }
  std::string function = operation_name(op);
  if (wide && op == ExprOp::floordiv) function = "div";
  if (wide && op == ExprOp::floormod) function = "mod";
  return fmt::format("({})mcc_{}{}({}, {})", type, wide ? "u" : "", function, a, b);
}

std::string binary(ExprOp op, DType dtype, const std::string& a, const std::string& b) {
  switch (op) {
    case ExprOp::lt: return fmt::format("({} < {})", a, b);
    case ExprOp::le: return fmt::format("({} <= {})", a, b);
    case ExprOp::eq: return fmt::format("({} == {})", a, b);
    case ExprOp::ne: return fmt::format("({} != {})", a, b);
    case ExprOp::logical_and: return fmt::format("({} && {})", a, b);
    case ExprOp::logical_or: return fmt::format("({} || {})", a, b);
    default: break;
  }
  if (dtype == DType::boolean) {  // accumulations and selections of bool
    return fmt::format("({} {} {})", a,
                       op == ExprOp::bit_xor                    ? "^"
                       : op == ExprOp::min || op == ExprOp::mul ? "&"
                                                                : "|",
                       b);
  }
  return is_float(dtype) ? float_binary(op, dtype, a, b) : integer_binary(op, dtype, a, b);
}

std::string integer_unary(ExprOp op, DType dtype, const std::string& a) {
  const std::string type = value_type(dtype);
  switch (op) {
    case ExprOp::neg: return fmt::format("({})mcc_sub(0, (int64_t){})", type, a);
    case ExprOp::bit_not: return fmt::format("({})({} ^ -1)", type, a);  // compilers warn of ~ on what was a comparison
    case ExprOp::abs: return is_unsigned(dtype) ? a : fmt::format("({})mcc_abs({})", type, a);
    case ExprOp::sign:
      return is_unsigned(dtype) ? fmt::format("({})({} != 0)", type, a) : fmt::format("({})mcc_sign({})", type, a);
    default: return a;
  }
}

std::string float_unary(ExprOp op, DType dtype, const std::string& a) {
  const bool wide = dtype == DType::f64;
  switch (op) {
    case ExprOp::neg: return fmt::format("(-{})", a);
    case ExprOp::is_nan: return fmt::format("(isnan({}) != 0)", a);
    case ExprOp::is_inf: return fmt::format("(isinf({}) != 0)", a);
    case ExprOp::sign:
    case ExprOp::sigmoid: return rounded(dtype, fmt::format("mcc_{}{}({})", operation_name(op), wide ? "d" : "f", a));
    default: break;
  }
  const std::string function = op == ExprOp::abs ? "fabs" : op == ExprOp::round_even ? "rint" : operation_name(op);
  return rounded(dtype, fmt::format("{}{}({})", function, wide ? "" : "f", a));
}

class Printer {
 public:
  Printer(const Func& func, std::string symbol)
      : func_(func), layout_(codegen::make_layout(func)), symbol_(std::move(symbol)) {}

  std::string print() {
    std::string body;
    std::set<int> used;
    sequence(func_.body, 1, body, used);
    return chunks_ + fmt::format("\nvoid {}(void* const* args, char* scratch, struct mcc_runtime* rt) {{\n", symbol_) +
           "  const int64_t thread = 0;\n  (void)args, (void)scratch, (void)rt, (void)thread;\n" + declarations(used) +
           body + "}\n";
  }

 private:
  std::string buffer_name(int b) const { return identifier('b', b, func_.buffer(b).name); }
  std::string var_name(int v) const { return identifier('v', v, func_.vars[at(v)]); }

  std::string declarations(const std::set<int>& used) const {
    std::string text;
    for (const int b : used) {
      const loop::Buffer& buffer = func_.buffer(b);
      const Placement& place = layout_.buffers[at(b)];
      const std::string type = memory_type(buffer.dtype), id = buffer_name(b);
      if (place.place == Place::stack) {
        text += fmt::format("  {0} {1}[{2}];\n  (void){1};\n", type, id,
                            std::max<i64>(1, place.bytes / size_of(buffer.dtype)));
        continue;
      }
      const bool read_only = buffer.scope == loop::Scope::input || buffer.scope == loop::Scope::constant;
      std::string from = fmt::format("args[{}]", place.offset);
      if (place.place == Place::shared) from = fmt::format("(void*)(scratch + {})", place.offset);
      if (place.place == Place::thread) {
        from = fmt::format("(void*)(scratch + {} + thread * {})", layout_.shared_bytes + place.offset,
                           layout_.thread_bytes);
      }
      text += fmt::format("  {0}{1}* {2} = ({0}{1}*){3};\n", read_only ? "const " : "", type, id, from);
    }
    return text;
  }

  // Index arithmetic cannot overflow and is printed plainly.
  std::string index_expression(const Expr& e) {
    switch (e.op) {
      case ExprOp::add: return fmt::format("({} + {})", index_expression(e.args[0]), index_expression(e.args[1]));
      case ExprOp::sub: return fmt::format("({} - {})", index_expression(e.args[0]), index_expression(e.args[1]));
      case ExprOp::mul: return fmt::format("({} * {})", index_expression(e.args[0]), index_expression(e.args[1]));
      default: return expression(e);
    }
  }

  std::string element(int b, const std::vector<Expr>& index) {
    std::string offset;
    for (size_t d = 0; d < index.size(); d++) {
      const i64 stride = layout_.buffers[at(b)].strides[d];
      if (!offset.empty()) offset += " + ";
      offset += stride == 1 ? index_expression(index[d]) : fmt::format("{} * {}", index_expression(index[d]), stride);
    }
    return fmt::format("{}[{}]", buffer_name(b), offset.empty() ? "0" : offset);
  }

  std::string load(int b, const std::vector<Expr>& index) {
    const DType dtype = func_.buffer(b).dtype;
    if (is_narrow(dtype)) return fmt::format("mcc_from_{}({})", name(dtype), element(b, index));
    return dtype == DType::boolean ? fmt::format("({} != 0)", element(b, index)) : element(b, index);
  }

  std::string expression(const Expr& e) {
    switch (e.op) {
      case ExprOp::constant: return e.i < 0 || std::signbit(e.f) ? "(" + constant(e) + ")" : constant(e);
      case ExprOp::var: return var_name(static_cast<int>(e.i));
      case ExprOp::load: return load(static_cast<int>(e.i), e.args);
      case ExprOp::select:
        return fmt::format("({} ? {} : {})", expression(e.args[0]), expression(e.args[1]), expression(e.args[2]));
      case ExprOp::cast:
        return e.dtype == e.args[0].dtype ? expression(e.args[0])
                                          : c_convert(e.args[0].dtype, e.dtype, expression(e.args[0]));
      case ExprOp::logical_not: return "!" + expression(e.args[0]);
      default: break;
    }
    const DType dtype = e.args[0].dtype;
    const std::string a = expression(e.args[0]);
    if (e.args.size() == 2) return binary(e.op, dtype, a, expression(e.args[1]));
    return is_float(dtype) ? float_unary(e.op, dtype, a) : integer_unary(e.op, dtype, a);
  }

  void store(const loop::Store& s, const std::string& indent, std::string& out) {
    const DType dtype = func_.buffer(s.buffer).dtype;
    std::string value = expression(s.value);
    if (s.op != StoreOp::assign) value = binary(loop::operation(s.op), dtype, load(s.buffer, s.index), value);
    if (is_narrow(dtype)) value = fmt::format("mcc_to_{}({})", name(dtype), value);
    out += fmt::format("{}{} = {};\n", indent, element(s.buffer, s.index), value);
  }

  void prefetch(const loop::Prefetch& fetch, const std::string& indent, std::string& out) {
    const loop::Buffer& buffer = func_.buffer(fetch.buffer);
    const std::string at = fmt::format("({}) * {}", expression(fetch.at), size_of(buffer.dtype));
    for (i64 line = 0; line < fetch.lines; line++) {
      out +=
          fmt::format("{}mcc_prefetch({}, {} + {});\n", indent, buffer_name(fetch.buffer), at, line * loop::kLineBytes);
    }
  }

  // Statements outside of parallel loops; the buffers they touch are added to `used`.
  void sequence(const std::vector<Stmt>& body, int depth, std::string& out, std::set<int>& used) {
    for (const Stmt& stmt : body) {
      const Loop* l = std::get_if<Loop>(&stmt.node);
      const bool conducts = codegen::has_parallel_region(stmt);
      const loop::If* branch = std::get_if<loop::If>(&stmt.node);
      if (!conducts) codegen::add_used_buffers(stmt, used);
      if (conducts && branch) codegen::add_used_buffers(branch->condition, used);
      if (conducts && l) {
        for (const loop::Prefetch& fetch : l->ahead) used.insert(fetch.buffer);
      }
      if (conducts && l && l->kind == LoopKind::parallel) {
        call_parallel(*l, depth, out);
      } else {
        statement(stmt, depth, out, [&](const std::vector<Stmt>& inner) {
          conducts ? sequence(inner, depth + 1, out, used) : statements(inner, depth + 1, out);
        });
      }
    }
  }

  void statements(const std::vector<Stmt>& body, int depth, std::string& out) {
    for (const Stmt& stmt : body) {
      statement(stmt, depth, out, [&](const std::vector<Stmt>& inner) { statements(inner, depth + 1, out); });
    }
  }

  void statement(const Stmt& stmt, int depth, std::string& out,
                 const std::function<void(const std::vector<Stmt>&)>& body) {
    const std::string indent(static_cast<size_t>(2 * depth), ' ');
    if (const loop::Store* s = std::get_if<loop::Store>(&stmt.node)) {
      store(*s, indent, out);
    } else if (const Loop* l = std::get_if<Loop>(&stmt.node)) {
      const std::string v = var_name(l->var);
      out += fmt::format("{0}for (int64_t {1} = 0; {1} < {2}; {1}++) {{\n", indent, v, l->extent);
      open_.push_back(l->var);
      for (const loop::Prefetch& fetch : l->ahead) prefetch(fetch, indent + "  ", out);
      body(l->body);
      open_.pop_back();
      out += indent + "}\n";
    } else {
      const loop::If& branch = std::get<loop::If>(stmt.node);
      out += fmt::format("{}if ({}) {{\n", indent, expression(branch.condition));
      body(branch.then_body);
      if (!branch.else_body.empty()) {
        out += indent + "} else {\n";
        body(branch.else_body);
      }
      out += indent + "}\n";
    }
  }

  void call_parallel(const Loop& outer, int depth, std::string& out) {
    const std::vector<const Loop*> nest = codegen::parallel_nest(outer);
    const std::string chunk = fmt::format("{}_chunk{}", symbol_, ++regions_);
    const std::vector<int> vars = open_;
    const size_t slots = std::max<size_t>(1, vars.size());
    i64 range = 1;
    for (const Loop* l : nest) range *= l->extent;

    std::string body;
    i64 inner = range;
    for (const Loop* l : nest) {
      inner = l->extent == 0 ? 0 : inner / l->extent;
      body += fmt::format("    const int64_t {} = at / {} % {};\n", var_name(l->var), std::max<i64>(1, inner),
                          std::max<i64>(1, l->extent));
      body += fmt::format("    (void){};\n", var_name(l->var));
    }
    statements(nest.back()->body, 2, body);
    chunks_ += fmt::format("\nstruct {}_context {{\n  void* const* args;\n  char* scratch;\n  int64_t vars[{}];\n}};\n",
                           chunk, slots);
    chunks_ += fmt::format("static void {}(void* ctx, int64_t begin, int64_t end, int32_t thread_number) {{\n", chunk);
    chunks_ += fmt::format("  const struct {}_context* const c = (const struct {}_context*)ctx;\n", chunk, chunk);
    chunks_ +=
        "  void* const* const args = c->args;\n  char* const scratch = c->scratch;\n  const int64_t thread = "
        "thread_number;\n";
    chunks_ += "  (void)args, (void)scratch, (void)thread;\n";
    for (size_t v = 0; v < vars.size(); v++) {
      chunks_ += fmt::format("  const int64_t {0} = c->vars[{1}];\n  (void){0};\n", var_name(vars[v]), v);
    }
    chunks_ += declarations(codegen::used_buffers(outer.body)) + "  for (int64_t at = begin; at < end; at++) {\n" +
               body + "  }\n}\n";

    const std::string indent(static_cast<size_t>(2 * depth), ' ');
    std::vector<std::string> values;
    for (const int v : vars) values.push_back(var_name(v));
    if (values.empty()) values.emplace_back("0");
    out += fmt::format("{0}{{\n{0}  struct {1}_context c = {{args, scratch, {{{2}}}}};\n", indent, chunk,
                       join(values, ", "));
    out += fmt::format("{0}  (*(mcc_parallel_fn*)rt)(rt, {1}, &c, {2});\n{0}}}\n", indent, chunk, range);
  }

  const Func& func_;
  const Layout layout_;
  const std::string symbol_;
  std::string chunks_;
  std::vector<int> open_;  // variables of the open loops, outermost first
  int regions_ = 0;
};

}  // namespace

std::string print_c(std::span<const KernelSource> kernels) {
  std::string text = codegen::kCPrelude;
  for (const KernelSource& kernel : kernels) text += Printer(*kernel.func, kernel.symbol).print();
  return text;
}

}  // namespace mcc
