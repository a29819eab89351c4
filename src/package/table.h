// The artifact's static description (mcc_model of mcc_runtime.h) as an object file.
#pragma once
#include <filesystem>

#include "package/contents.h"
#include "package/elf.h"

namespace mcc {

void write_table_object(const std::filesystem::path& file, const ElfMachine& machine, const Contents& contents);
void write_weights_object(const std::filesystem::path& file, const ElfMachine& machine, const Contents& contents);

}  // namespace mcc
