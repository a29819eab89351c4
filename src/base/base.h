// What every folder uses: the integer type, the one exception, and checks for our own bugs.
//
// Error rule. Bad input (a file, an option, a model we cannot handle) throws Error with one line that says what, where
// and what to do; main() catches it once and exits with status 2. A failed job throws JobError (status 1). An expected
// failure - an illegal schedule, a crashed candidate - is a value with a reason. MCC_CHECK is for our own mistakes: it
// throws InternalError, so that one bad candidate cannot end a tuning run.
#pragma once
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mcc {

using i64 = std::int64_t;
using u64 = std::uint64_t;
using u8 = std::uint8_t;

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct JobError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

// Throws Error with a formatted message: fail("{}: no such file", path).
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

#define MCC_CHECK(condition)                                               \
  do {                                                                     \
    if (!(condition)) ::mcc::check_failed(__FILE__, __LINE__, #condition); \
  } while (0)

inline i64 ceil_div(i64 a, i64 b) { return a / b + (a % b > 0); }   // b > 0
inline i64 floor_div(i64 a, i64 b) { return a / b - (a % b < 0); }  // b > 0
inline i64 round_up(i64 a, i64 b) { return ceil_div(a, b) * b; }

// An id, a number or an enumerator as a subscript: shape[at(axis)].
template <typename T>
constexpr size_t at(T i) {
  return static_cast<size_t>(i);
}

}  // namespace mcc
