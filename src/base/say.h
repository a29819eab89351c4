// Words for people, on standard error. That they cannot be written (a closed pipe, a full disk) never ends the work.
#pragma once
#include <cstdio>

#include "base/base.h"

namespace mcc {

inline void say(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

template <typename First, typename... Rest>
void say(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  say(fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
}

}  // namespace mcc
