// Parsing expressions, for the parser of whole programs and for rewrite rules, which have no Func around them.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "loop/loop.h"
#include "loop/scan.h"

namespace mcc::loop {

// What the names of an expression mean.
struct Names {
  std::function<Expr(std::string_view)> variable;              // throws Error without a place for an unknown one
  std::function<std::optional<int>(std::string_view)> buffer;  // by name
  const std::vector<Buffer>* buffers = nullptr;
};

Expr parse_expr(Scanner& scan, const Names& names);
// Expressions separated by commas, up to and with the closing sign.
std::vector<Expr> parse_expr_list(Scanner& scan, const Names& names, std::string_view close);

// A whole text without loads. Throws Error with line and column.
Expr parse_expr(std::string_view text, const std::function<Expr(std::string_view name)>& variable);

inline std::optional<size_t> find_word(std::span<const std::string_view> words, std::string_view word) {
  for (size_t i = 0; i < words.size(); i++) {
    if (words[i] == word) return i;
  }
  return std::nullopt;
}

}  // namespace mcc::loop
