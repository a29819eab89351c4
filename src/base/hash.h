// A stable 128-bit hash of bytes: the same on every machine and in every version. Names tasks, kernels and files.
#pragma once
#include <string>
#include <string_view>

#include "base/base.h"

namespace mcc {

u64 hash64(std::string_view bytes, u64 seed = 0);
std::string hash_hex(std::string_view bytes);  // 32 hexadecimal digits

}  // namespace mcc
