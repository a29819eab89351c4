// The scanner: names (with dots and #), numbers, quoted names, and signs of one or two characters.
#include "loop/scan.h"

#include "loop/text_form.h"

namespace mcc::loop {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

size_t Scanner::number_end(size_t at) const {
  const auto digits = [&] {
    while (at < source_.size() && is_digit(source_[at])) at++;
  };
  digits();
  if (at < source_.size() && source_[at] == '.') {
    at++;
    digits();
  }
  if (at < source_.size() && source_[at] == 'e') {
    at++;
    if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) at++;
    digits();
  }
  return at;
}

void Scanner::advance() {
  while (at_ < source_.size() &&
         (source_[at_] == ' ' || source_[at_] == '\n' || source_[at_] == '\t' || source_[at_] == '\r'))
    at_++;
  const size_t begin = at_;
  token_ = {Token::end, {}, begin};
  if (begin == source_.size()) return;
  const char c = source_[begin];
  if (is_name_start(c)) {
    while (at_ < source_.size() && (is_name_char(source_[at_]) || source_[at_] == '#')) at_++;
    token_.kind = Token::name;
  } else if (is_digit(c)) {
    at_ = number_end(begin);
    token_.kind = Token::number;
  } else if (c == '"') {
    at_ = source_.find('"', begin + 1);
    if (at_ == std::string_view::npos) {
      at_ = source_.size();
      error_at(begin, "a quoted name has no end");
    }
    at_++;
    token_.kind = Token::text;
  } else {
    static constexpr std::string_view pairs[] = {"//", "<=", "==", "!=", "&&", "||", "+=", "*="};
    at_ = begin + 1;
    for (const std::string_view pair : pairs) {
      if (source_.substr(begin, 2) == pair) at_ = begin + 2;
    }
    token_.kind = Token::sign;
  }
  token_.spelling = source_.substr(begin, at_ - begin);
}

}  // namespace mcc::loop
