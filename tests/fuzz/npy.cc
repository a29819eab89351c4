// NumPy arrays; what is accepted must survive being written and read again.
#include "graph/npy.h"
#include "fuzz/fuzz.h"

namespace {
void parse(std::string_view bytes) {
  const std::string written = mcc::to_npy(mcc::parse_npy(bytes, "input"));
  MCC_CHECK(mcc::to_npy(read_back([&] { return mcc::parse_npy(written, "written"); })) == written);
}
}  // namespace

MCC_FUZZ_TARGET(parse)
