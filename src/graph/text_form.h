// What print.cc and parse.cc must agree on: which value names need no quotes.
#pragma once
#include <string_view>

namespace mcc {

bool is_name_char(char c);
bool is_plain_name(std::string_view text);

}  // namespace mcc
