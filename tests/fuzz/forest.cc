// Forests of the cost model; what is accepted must survive being written and read again, and scores any row.
#include "costmodel/forest.h"
#include "costmodel/cost_model.h"
#include "fuzz/fuzz.h"

namespace {
void parse(std::string_view text) {
  const mcc::Forest forest = mcc::forest_from_text(text);
  forest.score(std::vector<float>(mcc::feature_names().size(), 0.5F));
  const std::string written = mcc::to_text(forest);
  MCC_CHECK(mcc::to_text(read_back([&] { return mcc::forest_from_text(written); })) == written);
}
}  // namespace

MCC_FUZZ_TARGET(parse)
