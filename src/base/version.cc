#include "base/version.h"

namespace mcc {

const char* const kVersion = MCC_VERSION;

}  // namespace mcc
