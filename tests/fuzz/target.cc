// Descriptions of devices; what is accepted must survive being written and read again.
#include "target/target.h"
#include "fuzz/fuzz.h"

namespace {
void parse(std::string_view text) {
  const std::string written = mcc::to_json(mcc::target_from_json(text));
  MCC_CHECK(mcc::to_json(read_back([&] { return mcc::target_from_json(written); })) == written);
}
}  // namespace

MCC_FUZZ_TARGET(parse)
