// Text -> graph: a recursive-descent parser over characters that remembers where it is, so that each error names line
// and column. `#` starts a comment. Constants given by hash are filled from a generator seeded by that hash.
#include <algorithm>
#include <cctype>
#include <limits>
#include <unordered_map>

#include "base/hash.h"
#include "base/rng.h"
#include "base/text.h"
#include "graph/print.h"
#include "graph/text_form.h"

namespace mcc {
namespace {

constexpr i64 kLargestFilled = i64{1} << 32;  // bytes

Tensor filled_from_hash(const TensorType& type, std::string_view hash) {
  Tensor tensor(type);
  Rng rng(hash64(hash));
  const i64 limit = type.dtype == DType::boolean ? 2 : 100;
  for (i64 i = 0; i < tensor.size(); i++) {
    if (is_float(type.dtype))
      tensor.set(i, rng.uniform() * 2 - 1);
    else
      tensor.set_int(i, rng.below(limit));
  }
  return tensor;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Graph run() {
    expect_word("graph");
    if (!peek('{')) word();
    expect('{');
    while (!accept('}')) line();
    skip_space();
    if (at_ < text_.size()) error("text after the end of the graph");
    return std::move(graph_);
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;

  [[noreturn]] void error(std::string_view message) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t start = before.rfind('\n');
    const size_t column = at_ - (start == std::string_view::npos ? 0 : start + 1) + 1;
    fail("graph text, line {}, column {}: {}", line, column, message);
  }

  void skip_space() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
        at_++;
      else
        return;
    }
  }

  bool peek(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool accept(char c) {
    if (!peek(c)) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) error(fmt::format("'{}' expected", c));
  }

  std::string word() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) at_++;
    if (at_ == begin) error("a name expected");
    return std::string(text_.substr(begin, at_ - begin));
  }
  void expect_word(std::string_view expected) {
    if (word() != expected) error(fmt::format("'{}' expected", expected));
  }

  bool accept_word(std::string_view expected) {
    skip_space();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(expected) || (rest.size() > expected.size() && is_name_char(rest[expected.size()])))
      return false;
    at_ += expected.size();
    return true;
  }

  std::string string() {
    expect('"');
    std::string result;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c == 'n') c = '\n';
      }
      result += c;
    }
    expect('"');
    return result;
  }

  std::string value_name() {
    expect('%');
    return peek('"') ? string() : word();
  }

  ValueId use_value() {
    const size_t begin = at_;
    const std::string name = value_name();
    const auto found = ids_.find(name);
    if (found == ids_.end()) {
      at_ = begin;
      error(fmt::format("%{} is not defined above", name));
    }
    return found->second;
  }

  ValueId new_value() {
    const std::string name = value_name();
    expect(':');
    const ValueId id = graph_.add_value(name, type());
    if (!ids_.emplace(name, id).second) error(fmt::format("%{} is defined twice", name));
    return id;
  }

  // The characters of a number, "inf" and "nan" included.
  std::string_view number_text() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  std::string_view("+-.").find(text_[at_]) != std::string_view::npos))
      at_++;
    return text_.substr(begin, at_ - begin);
  }

  i64 integer() {
    const auto value = to_i64(number_text());
    if (!value) error("an integer expected");
    return *value;
  }

  TensorType type() {
    const std::string text = word();
    const std::optional<DType> dtype = dtype_from_name(text);
    if (!dtype) error(fmt::format("'{}' is not an element type", text));
    Shape shape;
    expect('[');
    while (!accept(']')) {
      shape.push_back(integer());
      if (shape.back() < 0) error("a dimension cannot be negative");
      if (!peek(']')) expect(',');
    }
    return {*dtype, shape};
  }

  void element(Tensor& tensor, i64 i) {
    const std::string_view text = number_text();
    if (!is_float(tensor.type.dtype)) {
      if (const auto whole = to_i64(text)) return tensor.set_int(i, *whole);
    }
    const auto value = to_double(text);
    if (!value) error("a number expected");
    tensor.set(i, *value);
  }

  Tensor data(const TensorType& type) {
    if (!peek('[')) {
      expect_word("hash");
      expect(':');
      if (bytes(type) > kLargestFilled) error(fmt::format("{} is too large to be filled", to_string(type)));
      return filled_from_hash(type, word());
    }
    if (elements(type.shape) > static_cast<i64>(text_.size()))
      error(fmt::format("too few numbers for {}", to_string(type)));
    Tensor tensor(type);
    expect('[');
    for (i64 i = 0; i < tensor.size(); i++) {
      if (i) expect(',');
      element(tensor, i);
    }
    expect(']');
    return tensor;
  }

  int input_place() {
    const auto value = to_i64(number_text());
    if (!value || *value < 0 || *value > std::numeric_limits<int>::max()) error("the number of an input expected");
    return static_cast<int>(*value);
  }

  AttrValue number_list() {
    std::vector<double> reals;
    std::vector<i64> ints;
    expect('[');
    while (!accept(']')) {
      const std::string_view text = number_text();
      if (const auto whole = to_i64(text)) ints.push_back(*whole);
      const auto value = to_double(text);
      if (!value) error("a number expected");
      reals.push_back(*value);
      if (!peek(']')) expect(',');
    }
    if (ints.size() == reals.size()) return ints;
    return reals;
  }

  AttrValue attribute() {
    if (peek('"')) return string();
    if (peek('[')) return number_list();
    const size_t begin = at_;
    const std::string_view text = number_text();
    if (const auto whole = to_i64(text)) return *whole;
    if (const auto real = to_double(text)) return *real;
    at_ = begin;
    const TensorType t = type();
    expect('=');
    return data(t);
  }

  void node() {
    Node node;
    do node.out.push_back(accept('_') ? kNone : new_value());
    while (accept(','));
    expect('=');
    node.op = word();
    expect('(');
    while (!accept(')')) {
      node.in.push_back(accept('_') ? kNone : use_value());
      if (!peek(')')) expect(',');
    }
    if (accept('{')) {
      while (!accept('}')) {
        const std::string name = word();
        expect('=');
        node.attrs.set(name, attribute());
        if (!peek('}')) expect(',');
      }
    }
    if (peek('"')) node.name = string();
    graph_.nodes.push_back(std::move(node));
  }

  void line() {
    if (peek('%') || peek('_')) return node();
    const std::string kind = word();
    if (kind == "input") {
      graph_.inputs.push_back(new_value());
      if (accept_word("number")) graph_.values.back().number = input_place();
    } else if (kind == "const") {
      const ValueId id = new_value();
      expect('=');
      Value& value = graph_.values.at(static_cast<size_t>(id));
      value.constant = std::make_shared<const Tensor>(data(value.type));
    } else if (kind == "output") {
      graph_.outputs.push_back(use_value());
    } else {
      error(fmt::format("'{}' begins no line of a graph", kind));
    }
  }
};

}  // namespace

Graph parse_graph(std::string_view text) { return Parser(text).run(); }

}  // namespace mcc
