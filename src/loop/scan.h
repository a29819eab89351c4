// Splits the text form into tokens that know where they stand, so that every error names a line and column.
#pragma once
#include <string>
#include <string_view>

#include "base/base.h"

namespace mcc::loop {

struct Token {
  enum Kind { end, name, number, text, sign } kind = end;
  std::string_view spelling;
  size_t at = 0;
};

class Scanner {
 public:
  explicit Scanner(std::string_view source) : source_(source) { advance(); }

  const Token& peek() const { return token_; }
  Token next() {
    Token token = token_;
    advance();
    return token;
  }
  bool accept(std::string_view spelling) {
    if (token_.spelling != spelling || token_.kind == Token::text) return false;
    advance();
    return true;
  }
  void expect(std::string_view spelling) {
    if (!accept(spelling)) error(fmt::format("expected '{}', found {}", spelling, shown(token_)));
  }
  [[noreturn]] void error(const std::string& what) const { error_at(token_.at, what); }
  [[noreturn]] void error_at(size_t at, const std::string& what) const {
    size_t line = 1, column = 1;
    for (const char c : source_.substr(0, at)) {
      column = c == '\n' ? 1 : column + 1;
      line += c == '\n';
    }
    fail("{}:{}: {}", line, column, what);
  }
  // Parsers recurse, so texts that nest too deeply for the stack are refused: hold one of these while in a nested part.
  class Nested {
   public:
    explicit Nested(Scanner& scan) : scan_(scan) {
      if (++scan_.depth_ > kDeepest) scan_.error("nested too deeply");
    }
    ~Nested() { scan_.depth_--; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    static constexpr int kDeepest = 1000;
    Scanner& scan_;
  };

  static std::string shown(const Token& token) {
    return token.kind == Token::end ? "the end of the text" : fmt::format("'{}'", token.spelling);
  }

 private:
  void advance();
  size_t number_end(size_t at) const;

  std::string_view source_;
  size_t at_ = 0;
  int depth_ = 0;
  Token token_;
};

}  // namespace mcc::loop
