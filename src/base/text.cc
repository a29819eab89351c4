#include "base/text.h"

#include <charconv>
#include <cmath>

namespace mcc {
namespace {

template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::string lower_case(std::string_view text) {
  std::string low(text);
  for (char& c : low) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return low;
}

std::string one_line(std::string text, size_t longest) {
  for (char& c : text) {
    if (is_space(c)) {
      c = ' ';
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      c = '?';
    }
  }
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (size_t at = 0;;) {
    const size_t next = text.find(separator, at);
    parts.emplace_back(text.substr(at, next - at));
    if (next == std::string_view::npos) return parts;
    at = next + 1;
  }
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    while (at < text.size() && is_space(text[at])) at++;
    const size_t begin = at;
    while (at < text.size() && !is_space(text[at])) at++;
    if (at > begin) words.emplace_back(text.substr(begin, at - begin));
  }
  return words;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<i64> to_i64(std::string_view text) { return parse_whole<i64>(text); }
std::optional<double> to_double(std::string_view text) { return parse_whole<double>(text); }

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::optional<double> to_seconds(std::string_view text) {
  double unit = 1;
  if (text.ends_with("s"))
    text.remove_suffix(1);
  else if (text.ends_with("m"))
    unit = 60, text.remove_suffix(1);
  else if (text.ends_with("h"))
    unit = 3600, text.remove_suffix(1);
  const auto value = to_double(text);
  if (!value || *value < 0 || !std::isfinite(*value)) return std::nullopt;
  return *value * unit;
}

}  // namespace mcc
