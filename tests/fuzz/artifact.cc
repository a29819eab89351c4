// Manifests of artifacts, which mcc-run and mcc-verify believe only after a check.
#include "fuzz/fuzz.h"
#include "package/artifact_info.h"

namespace {
void parse(std::string_view text) {
  const mcc::ArtifactInfo info = mcc::artifact_from_manifest(text, "folder");
  MCC_CHECK(info.threads > 0 && info.file.parent_path() == "folder");
  for (const auto& port : info.inputs) MCC_CHECK(mcc::bytes(port.type) >= 0);
}
}  // namespace

MCC_FUZZ_TARGET(parse)
