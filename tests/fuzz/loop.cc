// Loop programs; what is accepted must print to a text that means the same, and can be checked.
#include "fuzz/fuzz.h"
#include "loop/loop_ops.h"

namespace {
void parse(std::string_view text) {
  const mcc::loop::Func func = mcc::loop::parse_func(text);
  const std::string printed = mcc::loop::print(func);
  MCC_CHECK(mcc::loop::print(read_back([&] { return mcc::loop::parse_func(printed); })) == printed);
  mcc::loop::verify(func);
}
}  // namespace

MCC_FUZZ_TARGET(parse)
