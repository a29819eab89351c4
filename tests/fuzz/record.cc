// Lines of an exported tuning log; what is accepted must survive being written and read again.
#include "records/record.h"
#include "fuzz/fuzz.h"

namespace {
void parse(std::string_view line) {
  const std::string written = mcc::to_json_line(mcc::record_from_json_line(line));
  MCC_CHECK(mcc::to_json_line(read_back([&] { return mcc::record_from_json_line(written); })) == written);
}
}  // namespace

MCC_FUZZ_TARGET(parse)
