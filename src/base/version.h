// The version of mcc, as CMakeLists.txt tells it; in records and manifests.
#pragma once

namespace mcc {

extern const char* const kVersion;

}  // namespace mcc
