// What a fuzz target is: a function of a text that may throw Error, which is the right answer to bad input. Everything
// else that comes out - another exception, a sanitizer's report, a hang - ends the process, and that is a finding.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/base.h"

// The value of fn(), which reads back what we wrote ourselves: refusing that is a finding too.
template <typename Fn>
auto read_back(const Fn& fn) {
  try {
    return fn();
  } catch (const mcc::Error& error) {
    throw mcc::InternalError(error.what());
  }
}

#define MCC_FUZZ_TARGET(run)                                                          \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    try {                                                                             \
      run(std::string_view(reinterpret_cast<const char*>(data), size));               \
    } catch (const mcc::Error&) {                                                     \
    }                                                                                 \
    return 0;                                                                         \
  }
