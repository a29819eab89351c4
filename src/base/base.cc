#include "base/base.h"

namespace mcc {

void check_failed(const char* file, int line, const char* condition) {
  throw InternalError(fmt::format("internal error: {}:{}: {} does not hold", file, line, condition));
}

}  // namespace mcc
