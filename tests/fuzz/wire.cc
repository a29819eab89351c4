// The lines between the tuner and the process that runs candidates. A candidate with a wild store may have that process
// say anything.
#include "measure/wire.h"
#include "fuzz/fuzz.h"

namespace {
void parse(std::string_view line) {
  const std::string written = mcc::to_line(mcc::reply_from_line(std::string(line)));
  MCC_CHECK(mcc::to_line(read_back([&] { return mcc::reply_from_line(written); })) == written);
}
}  // namespace

MCC_FUZZ_TARGET(parse)
