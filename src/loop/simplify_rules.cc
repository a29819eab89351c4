// The rule table and its matcher. Sums, bounds and comparisons of integers are not here: they need arithmetic, not
// patterns (simplify.cc).
#include "loop/simplify_rules.h"

#include <array>

#include "loop/build.h"
#include "loop/parse.h"

namespace mcc::loop {

std::span<const RuleText> rule_texts() {
  constexpr RuleTypes any = RuleTypes::any, ints = RuleTypes::ints;
  static constexpr RuleText table[] = {
      // minimum and maximum; the ones that NaN would break are for integers
      {any, "min(x, x)", "x", ""},
      {any, "max(x, x)", "x", ""},
      {any, "min(min(x, y), y)", "min(x, y)", ""},
      {any, "max(max(x, y), y)", "max(x, y)", ""},
      {ints, "min(max(x, y), y)", "y", ""},
      {ints, "max(min(x, y), y)", "y", ""},
      {ints, "min(max(x, y), x)", "x", ""},
      {ints, "max(min(x, y), x)", "x", ""},
      {ints, "min(min(x, c), d)", "min(x, min(c, d))", ""},
      {ints, "max(max(x, c), d)", "max(x, max(c, d))", ""},
      {ints, "max(min(x, c), d)", "d", "c <= d"},
      {ints, "min(max(x, c), d)", "d", "d <= c"},
      // select
      {any, "select(p, x, x)", "x", ""},
      {any, "select(!p, x, y)", "select(p, y, x)", ""},
      {any, "select(p, select(p, x, y), z)", "select(p, x, z)", ""},
      {any, "select(p, x, select(p, y, z))", "select(p, x, z)", ""},
      {any, "select(p, select(q, x, y), y)", "select(p && q, x, y)", ""},
      {any, "select(p, q, false)", "p && q", ""},
      {any, "select(p, true, q)", "p || q", ""},
      {any, "select(p, false, true)", "!p", ""},
      // logic
      {any, "!(!p)", "p", ""},
      {any, "!(x == y)", "x != y", ""},
      {any, "!(x != y)", "x == y", ""},
      {ints, "!(x < y)", "y <= x", ""},
      {ints, "!(x <= y)", "y < x", ""},
      {any, "p && p", "p", ""},
      {any, "p || p", "p", ""},
      {any, "p && !p", "false", ""},
      {any, "!p && p", "false", ""},
      {any, "p || !p", "true", ""},
      {any, "!p || p", "true", ""},
      {any, "p && q && q", "p && q", ""},
      {any, "p && q && p", "p && q", ""},
      {any, "p && (p || q)", "p", ""},
      {any, "p || p && q", "p", ""},
      // comparison
      {any, "x < x", "false", ""},
      {ints, "x <= x", "true", ""},
      {ints, "x == x", "true", ""},
      {ints, "x != x", "false", ""},
      // division
      {ints, "x % 1", "0", ""},
      {ints, "x // c // d", "x // (c*d)", "0 < c && 0 < d && 0 < c*d && c*d // d == c"},
      {ints, "x % c % d", "x % d", "0 < c && 0 < d && c % d == 0"},
      {ints, "x % c // d", "0", "0 < c && c <= d"},
      // functions
      {any, "neg(neg(x))", "x", ""},
      {any, "abs(abs(x))", "abs(x)", ""},
      {any, "floor(floor(x))", "floor(x)", ""},
      {any, "ceil(ceil(x))", "ceil(x)", ""},
      {any, "trunc(trunc(x))", "trunc(x)", ""},
      {any, "round_even(round_even(x))", "round_even(x)", ""},
      // bits
      {ints, "bit_and(x, x)", "x", ""},
      {ints, "bit_or(x, x)", "x", ""},
      {ints, "bit_xor(x, x)", "0", ""},
      {ints, "bit_not(bit_not(x))", "x", ""},
  };
  return table;
}

namespace {

bool is_bool_wildcard(size_t id) { return id >= 3 && id < 6; }
bool is_constant_wildcard(size_t id) { return id >= 6; }

Expr parse_side(std::string_view text) {
  return parse_expr(text, [](std::string_view name) {
    const size_t id = kWildcards.find(name);
    MCC_CHECK(name.size() == 1 && id != std::string_view::npos);
    Expr wildcard = var(static_cast<int>(id));
    if (is_bool_wildcard(id)) wildcard.dtype = DType::boolean;
    return wildcard;
  });
}

std::vector<Rule> parse_rules() {
  std::vector<Rule> parsed;
  for (const RuleText& text : rule_texts()) {
    Rule rule{text.types, parse_side(text.left), parse_side(text.right), const_int(1, DType::boolean)};
    if (!text.when.empty()) rule.when = parse_side(text.when);
    parsed.push_back(std::move(rule));
  }
  return parsed;
}

struct Bindings {
  std::array<const Expr*, kWildcards.size()> of{};
  std::optional<DType> dtype;  // of x, y, z, c, d
};

bool bind(size_t id, const Expr& expr, RuleTypes types, Bindings& bindings) {
  if (is_bool_wildcard(id)) {
    if (expr.dtype != DType::boolean) return false;
  } else {
    if (bindings.dtype && *bindings.dtype != expr.dtype) return false;
    if (types == RuleTypes::ints && !is_int(expr.dtype)) return false;
    if (is_constant_wildcard(id) && expr.op != ExprOp::constant) return false;
    bindings.dtype = expr.dtype;
  }
  if (bindings.of[id] != nullptr) return *bindings.of[id] == expr;
  bindings.of[id] = &expr;
  return true;
}

bool match(const Expr& pattern, const Expr& expr, RuleTypes types, Bindings& bindings) {
  if (pattern.op == ExprOp::var) return bind(static_cast<size_t>(pattern.i), expr, types, bindings);
  if (pattern.op != expr.op || pattern.args.size() != expr.args.size()) return false;
  if (pattern.op == ExprOp::constant) {
    return pattern.i == expr.i && (pattern.dtype == DType::boolean ? expr.dtype == DType::boolean : is_int(expr.dtype));
  }
  for (size_t i = 0; i < pattern.args.size(); i++) {
    if (!match(pattern.args[i], expr.args[i], types, bindings)) return false;
  }
  return true;
}

// The rules that have an operation at their root, for each operation.
using RulesByOp = std::array<std::vector<const Rule*>, static_cast<size_t>(ExprOp::is_inf) + 1>;

RulesByOp index_rules() {
  RulesByOp by_op;
  for (const Rule& rule : rules()) by_op[at(rule.left.op)].push_back(&rule);
  return by_op;
}

}  // namespace

std::span<const Rule> rules() {
  static const std::vector<Rule> parsed = parse_rules();
  return parsed;
}

Expr instantiate(const Expr& pattern, std::span<const Expr* const> bindings, DType dtype) {
  if (pattern.op == ExprOp::var) return *bindings[at(pattern.i)];
  if (pattern.op == ExprOp::constant) return pattern.dtype == DType::boolean ? pattern : const_int(pattern.i, dtype);
  std::vector<Expr> args;
  for (const Expr& arg : pattern.args) args.push_back(instantiate(arg, bindings, dtype));
  if (args.size() == 3) return select(std::move(args[0]), std::move(args[1]), std::move(args[2]));
  if (args.size() == 2) return binary(pattern.op, std::move(args[0]), std::move(args[1]));
  return unary(pattern.op, std::move(args[0]));
}

std::optional<Expr> rewrite(const Expr& expr) {
  static const RulesByOp by_op = index_rules();
  for (const Rule* rule : by_op[at(expr.op)]) {
    Bindings bindings;
    if (!match(rule->left, expr, rule->types, bindings)) continue;
    const DType dtype = bindings.dtype.value_or(DType::i64);
    if (instantiate(rule->when, bindings.of, dtype).i == 0) continue;
    return instantiate(rule->right, bindings.of, dtype);
  }
  return std::nullopt;
}

}  // namespace mcc::loop
