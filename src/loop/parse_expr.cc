// Expressions of the text form: precedence climbing for the operators, one function for each other production. Builds
// exactly what is written; types are those of the parts, and what does not fit together is reported where it stands.
#include <charconv>
#include <limits>

#include "base/text.h"
#include "loop/build.h"
#include "loop/parse.h"
#include "loop/scalar.h"
#include "loop/text_form.h"

namespace mcc::loop {

namespace {

class ExprParser {
 public:
  ExprParser(Scanner& scan, const Names& names) : scan_(scan), names_(names) {}
  Expr parse(int least = 1);
  std::vector<Expr> list(std::string_view close);

 private:
  Expr primary();
  Expr number(bool negative);
  Expr call(const Token& callee);
  Expr load(const Token& buffer);
  Expr named(const Token& token);
  Expr make(ExprOp op, DType dtype, std::vector<Expr> args, size_t at);
  DType type_suffix(DType otherwise);

  Scanner& scan_;
  const Names& names_;
};

std::optional<ExprOp> infix_op(std::string_view text) {
  static constexpr ExprOp ops[] = {ExprOp::logical_or, ExprOp::logical_and, ExprOp::lt,       ExprOp::le,
                                   ExprOp::eq,         ExprOp::ne,          ExprOp::add,      ExprOp::sub,
                                   ExprOp::mul,        ExprOp::div,         ExprOp::floordiv, ExprOp::floormod};
  for (const ExprOp op : ops) {
    if (infix(op)->text == text) return op;
  }
  return std::nullopt;
}

Expr ExprParser::parse(int least) {
  Expr left = primary();
  while (scan_.peek().kind == Token::sign) {
    const auto op = infix_op(scan_.peek().spelling);
    if (!op || infix(*op)->precedence < least) break;
    const size_t at = scan_.next().at;
    Expr right = parse(infix(*op)->precedence + 1);
    const DType dtype = result_type(*op, left.dtype);
    std::vector<Expr> args;
    args.push_back(std::move(left));
    args.push_back(std::move(right));
    left = make(*op, dtype, std::move(args), at);
  }
  return left;
}

std::vector<Expr> ExprParser::list(std::string_view close) {
  std::vector<Expr> items;
  if (scan_.accept(close)) return items;
  do items.push_back(parse());
  while (scan_.accept(","));
  scan_.expect(close);
  return items;
}

// Builds exactly the expression that is written (no folding), and checks what its parts must be.
Expr ExprParser::make(ExprOp op, DType dtype, std::vector<Expr> args, size_t at) {
  const auto need = [&](bool ok, std::string_view what) {
    if (!ok) scan_.error_at(at, fmt::format("{}: {}", name(op), what));
  };
  need(static_cast<int>(args.size()) == arity(op), fmt::format("takes {} arguments, not {}", arity(op), args.size()));
  if (op == ExprOp::select) need(args[0].dtype == DType::boolean, "the condition is not a bool");
  for (size_t i = op == ExprOp::select ? 2 : 1; i < args.size(); i++) {
    const DType other = args[i - 1].dtype;
    need(args[i].dtype == other, fmt::format("the types {} and {} differ", mcc::name(other), mcc::name(args[i].dtype)));
  }
  Expr e;
  e.op = op;
  e.dtype = dtype;
  e.args = std::move(args);
  return e;
}

DType ExprParser::type_suffix(DType otherwise) {
  if (!scan_.accept(":")) return otherwise;
  const Token token = scan_.next();
  const auto dtype = dtype_from_name(token.spelling);
  if (!dtype) scan_.error_at(token.at, fmt::format("unknown type '{}'", token.spelling));
  return *dtype;
}

double read_float(std::string_view spelling, DType dtype) {
  if (dtype == DType::f64) return to_double(spelling).value_or(0);
  float value = 0;
  const auto end = spelling.data() + spelling.size();
  if (std::from_chars(spelling.data(), end, value).ec == std::errc()) return round_to(dtype, value);
  return round_to(dtype, to_double(spelling).value_or(0));
}

Expr ExprParser::number(bool negative) {
  const Token token = scan_.next();
  const bool special = token.kind == Token::name;
  const bool floating = special || token.spelling.find_first_of(".e") != std::string_view::npos;
  const DType dtype = type_suffix(floating ? DType::f32 : DType::i64);
  Expr e;
  e.dtype = dtype;
  if (floating != is_float(dtype)) {
    scan_.error_at(token.at, fmt::format("'{}' is not a constant of type {}", token.spelling, mcc::name(dtype)));
  }
  if (special) {
    e.f = token.spelling == "nan" ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (floating) {
    e.f = read_float(token.spelling, dtype);
  } else {
    const std::string digits = negative ? fmt::format("-{}", token.spelling) : std::string(token.spelling);
    const auto value = to_i64(digits);
    if (!value || wrap(dtype, *value) != *value) {
      scan_.error_at(token.at, fmt::format("{} does not fit in {}", digits, mcc::name(dtype)));
    }
    e.i = *value;
    return e;
  }
  if (negative) e.f = -e.f;
  return e;
}

bool is_special(const Token& token) {
  return token.kind == Token::name && (token.spelling == "inf" || token.spelling == "nan");
}

Expr ExprParser::primary() {
  const Scanner::Nested nested(scan_);
  const Token token = scan_.peek();
  if (token.kind == Token::number || is_special(token)) return number(false);
  if (scan_.accept("-")) {
    if (scan_.peek().kind == Token::number || is_special(scan_.peek())) return number(true);
    scan_.error("expected a number after '-'; negation is written neg(x)");
  }
  if (scan_.accept("(")) {
    Expr inner = parse();
    scan_.expect(")");
    return inner;
  }
  if (scan_.accept("!")) {
    std::vector<Expr> args;
    args.push_back(primary());
    return make(ExprOp::logical_not, DType::boolean, std::move(args), token.at);
  }
  if (token.kind != Token::name) scan_.error(fmt::format("expected an expression, found {}", Scanner::shown(token)));
  scan_.next();
  if (scan_.accept("(")) return call(token);
  if (scan_.accept("[")) return load(token);
  return named(token);
}

Expr ExprParser::named(const Token& token) {
  if (token.spelling == "true" || token.spelling == "false") return const_int(token.spelling == "true", DType::boolean);
  try {
    return names_.variable(token.spelling);
  } catch (const Error& e) {
    scan_.error_at(token.at, e.what());
  }
}

Expr ExprParser::call(const Token& callee) {
  std::vector<Expr> args = list(")");
  if (callee.spelling.starts_with("cast.")) {
    const auto to = dtype_from_name(callee.spelling.substr(5));
    if (!to) scan_.error_at(callee.at, fmt::format("unknown type '{}'", callee.spelling.substr(5)));
    return make(ExprOp::cast, *to, std::move(args), callee.at);
  }
  const auto found = find_word(op_names(), callee.spelling);
  if (!found || static_cast<ExprOp>(*found) <= ExprOp::load) {
    scan_.error_at(callee.at, fmt::format("unknown operation '{}'", callee.spelling));
  }
  const auto op = static_cast<ExprOp>(*found);
  const DType operand = args.empty() ? DType::i64 : args.back().dtype;
  return make(op, op == ExprOp::select ? operand : result_type(op, operand), std::move(args), callee.at);
}

Expr ExprParser::load(const Token& buffer) {
  const auto id = names_.buffer ? names_.buffer(buffer.spelling) : std::nullopt;
  if (!id) scan_.error_at(buffer.at, fmt::format("unknown buffer '{}'", buffer.spelling));
  const Buffer& b = (*names_.buffers)[at(*id)];
  Expr e;
  e.op = ExprOp::load;
  e.dtype = b.dtype;
  e.i = *id;
  e.args = list("]");
  if (e.args.size() != b.shape.size()) {
    scan_.error_at(buffer.at, fmt::format("{} has {} dimensions, not {}", b.name, b.shape.size(), e.args.size()));
  }
  return e;
}

}  // namespace

Expr parse_expr(Scanner& scan, const Names& names) { return ExprParser(scan, names).parse(); }

std::vector<Expr> parse_expr_list(Scanner& scan, const Names& names, std::string_view close) {
  return ExprParser(scan, names).list(close);
}

Expr parse_expr(std::string_view text, const std::function<Expr(std::string_view name)>& variable) {
  Scanner scan(text);
  Names names;
  names.variable = variable;
  Expr e = parse_expr(scan, names);
  if (scan.peek().kind != Token::end) scan.error(fmt::format("unexpected {}", Scanner::shown(scan.peek())));
  return e;
}

}  // namespace mcc::loop
