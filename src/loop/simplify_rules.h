// Rewrite rules as text, one a line: what the simplifier applies at each operation and what a test checks by filling
// the wildcards with random expressions and evaluating both sides.
//
// Wildcards: x y z stand for any expression of one type, p q r for any bool, c d for constants of the type of x.
// `types` says which types x may have. `when` is a condition on c and d, evaluated in their type.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "loop/loop.h"

namespace mcc::loop {

enum class RuleTypes : u8 { any, ints };

struct RuleText {
  RuleTypes types;
  std::string_view left, right, when;
};
std::span<const RuleText> rule_texts();

// A rule parsed: wildcards are variables numbered by their place in kWildcards.
inline constexpr std::string_view kWildcards = "xyzpqrcd";
struct Rule {
  RuleTypes types = RuleTypes::any;
  Expr left, right, when;
};
std::span<const Rule> rules();

// The right side of the first rule that matches at the root of `expr`; nothing if none does.
std::optional<Expr> rewrite(const Expr& expr);
// `pattern` with each wildcard replaced by its binding; literals take the type `dtype`. Folds constants.
Expr instantiate(const Expr& pattern, std::span<const Expr* const> bindings, DType dtype);

}  // namespace mcc::loop
