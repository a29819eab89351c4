// --emit=c: the model as C source that any C11 compiler for a POSIX system builds, with no part of mcc at hand.
#pragma once
#include <filesystem>

#include "package/contents.h"

namespace mcc {

// Writes model.c (tables), kernels.c, weights.c, runtime/ and a Makefile.
void write_c_source(const std::filesystem::path& folder, const Contents& contents);

}  // namespace mcc
