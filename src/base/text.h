// Strings: splitting, joining, cases, numbers read strictly.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"

namespace mcc {

std::vector<std::string> split(std::string_view text, char separator);  // "a,,b" -> {"a", "", "b"}; "" -> {}
std::vector<std::string> split_words(std::string_view text);            // at any white space, no empty words
std::string_view trim(std::string_view text);
std::string lower_case(std::string_view text);  // ASCII only, whatever the locale
// For messages: white space of other kinds becomes a space, other control characters '?'; a text that is longer than
// `longest` bytes is cut there and ends in "...".
std::string one_line(std::string text, size_t longest = std::string::npos);
std::optional<i64> to_i64(std::string_view text);        // the whole text or nothing
std::optional<double> to_double(std::string_view text);  // likewise
// A double in the fewest digits that read back to the same value; "inf", "-inf", "nan"; always with a '.', 'e' or
// other letter.
std::string shortest(double value);
// Durations as people write them: "90" (seconds), "10m", "1.5h", "30s". Nothing if it is not one.
std::optional<double> to_seconds(std::string_view text);

template <typename Range>
std::string join(const Range& range, std::string_view separator) {
  return fmt::format("{}", fmt::join(range, separator));
}

}  // namespace mcc
