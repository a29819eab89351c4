// The words and signs of the text form, shared by the printer and the parser.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "loop/loop.h"

namespace mcc::loop {

// Each indexed by its enumeration.
std::span<const std::string_view> op_names();
std::span<const std::string_view> store_op_names();
std::span<const std::string_view> loop_kind_names();
std::span<const std::string_view> scope_names();

// Operators written between their arguments; all associate to the left, higher precedence binds tighter.
struct Infix {
  std::string_view text;
  int precedence = 0;
};
std::optional<Infix> infix(ExprOp op);

inline bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_name_char(char c) { return is_name_start(c) || (c >= '0' && c <= '9') || c == '.'; }
bool is_identifier(std::string_view text);

}  // namespace mcc::loop
