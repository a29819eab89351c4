// Writing relocatable ELF files of data, and a look into those that others wrote. 64-bit, little-endian.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/base.h"

namespace mcc {

// What must agree between objects that are linked together; copied from one that a compiler made for the target.
struct ElfMachine {
  int machine = 0;  // EM_X86_64, EM_AARCH64, EM_RISCV
  u64 flags = 0;    // on RISC-V: compressed code, floating-point ABI
};
ElfMachine elf_machine(std::string_view object);  // throws InternalError when it is none
i64 elf_code_bytes(std::string_view object);      // sum of its executable sections

struct ElfReloc {
  i64 offset = 0;      // in the section: 8 bytes that become symbol's address + addend
  std::string symbol;  // of the object, or undefined in it
  i64 addend = 0;
};
struct ElfSymbol {
  std::string name;
  i64 offset = 0, size = 0;  // in the section
  bool weak = false;
};
// One section of data. The content is given in pieces, so that gigabytes of weights need not be joined in memory.
struct ElfData {
  std::string section;     // ".rodata.weights"
  bool relocated = false;  // the loader writes addresses into it: writable until then
  i64 align = 64;
  i64 bytes = 0;
  std::vector<std::pair<i64, std::string_view>> pieces;  // (offset, content), ascending; zero between them
  std::vector<ElfSymbol> symbols;                        // all global and hidden
  std::vector<ElfReloc> relocs;
};
void write_elf(const std::filesystem::path& file, const ElfMachine& machine, const ElfData& data);

}  // namespace mcc
