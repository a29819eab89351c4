// Relocatable objects with one data section, written as the ELF-64 specification (System V ABI, chapter 4) says:
// header, the section's content, symbols, strings, relocations, section headers. Weights go through here rather than
// through a compiler, which would need many times their size in memory and minutes of time.
#include "package/elf.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <map>

#ifndef EM_RISCV
#define EM_RISCV 243
#endif

namespace mcc {
namespace {

u64 absolute_64(int machine) {  // the relocation type for "address of a symbol, 8 bytes"
  if (machine == EM_X86_64) return R_X86_64_64;
  if (machine == EM_AARCH64) return R_AARCH64_ABS64;
  MCC_CHECK(machine == EM_RISCV);
  return R_RISCV_64;
}

struct Strings {
  std::string bytes = std::string(1, '\0');
  Elf64_Word add(std::string_view text) {
    const size_t at = bytes.size();
    bytes.append(text).push_back('\0');
    return static_cast<Elf64_Word>(at);
  }
};

enum SectionNumber : Elf64_Half { kNull, kData, kSymbols, kStrings, kRelocs, kSectionNames, kStackNote, kSections };

struct Writer {
  std::ofstream out;
  i64 at = 0;

  void put(std::string_view bytes) {
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    at += static_cast<i64>(bytes.size());
  }
  void pad_to(i64 offset) {
    static const std::string zeros(4096, '\0');
    while (at < offset) put(std::string_view(zeros).substr(0, static_cast<size_t>(std::min<i64>(4096, offset - at))));
  }
  template <typename T>
  void put_all(const std::vector<T>& items) {
    put({reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T)});
  }
};

struct Tables {
  std::vector<Elf64_Sym> symbols = std::vector<Elf64_Sym>(1);
  std::vector<Elf64_Rela> relocs;
  Strings names;
};

Tables make_tables(const ElfMachine& machine, const ElfData& data) {
  Tables t;
  std::map<std::string, u64, std::less<>> number;
  const auto add = [&](const std::string& name, int bind, int visibility, Elf64_Half section, i64 value, i64 size) {
    number[name] = t.symbols.size();
    Elf64_Sym symbol{};
    symbol.st_name = t.names.add(name);
    symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(bind, section == SHN_UNDEF ? STT_NOTYPE : STT_OBJECT));
    symbol.st_other = static_cast<unsigned char>(visibility);
    symbol.st_shndx = section;
    symbol.st_value = static_cast<Elf64_Addr>(value);
    symbol.st_size = static_cast<Elf64_Xword>(size);
    t.symbols.push_back(symbol);
  };
  for (const ElfSymbol& s : data.symbols)
    add(s.name, s.weak ? STB_WEAK : STB_GLOBAL, STV_HIDDEN, kData, s.offset, s.size);
  for (const ElfReloc& r : data.relocs) {
    if (!number.contains(r.symbol)) add(r.symbol, STB_GLOBAL, STV_HIDDEN, SHN_UNDEF, 0, 0);
    Elf64_Rela rela{};
    rela.r_offset = static_cast<Elf64_Addr>(r.offset);
    rela.r_info = ELF64_R_INFO(number[r.symbol], absolute_64(machine.machine));
    rela.r_addend = r.addend;
    t.relocs.push_back(rela);
  }
  return t;
}

Elf64_Ehdr file_header(const ElfMachine& machine) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = static_cast<Elf64_Half>(machine.machine);
  header.e_version = EV_CURRENT;
  header.e_flags = static_cast<Elf64_Word>(machine.flags);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kSectionNames;
  return header;
}

Elf64_Shdr section(Elf64_Word name, Elf64_Word type, u64 flags, i64 align) {
  Elf64_Shdr header{};
  header.sh_name = name;
  header.sh_type = type;
  header.sh_flags = flags;
  header.sh_addralign = static_cast<Elf64_Xword>(align);
  return header;
}

std::vector<Elf64_Shdr> section_headers(const ElfData& data, Strings& names) {
  std::vector<Elf64_Shdr> headers(kSections);
  headers[kData] =
      section(names.add(data.section), SHT_PROGBITS, SHF_ALLOC | (data.relocated ? SHF_WRITE : 0), data.align);
  headers[kSymbols] = section(names.add(".symtab"), SHT_SYMTAB, 0, 8);
  headers[kSymbols].sh_link = kStrings;
  headers[kSymbols].sh_info = 1;  // the first global symbol
  headers[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  headers[kStrings] = section(names.add(".strtab"), SHT_STRTAB, 0, 1);
  headers[kRelocs] = section(names.add(".rela" + data.section), SHT_RELA, SHF_INFO_LINK, 8);
  headers[kRelocs].sh_link = kSymbols;
  headers[kRelocs].sh_info = kData;
  headers[kRelocs].sh_entsize = sizeof(Elf64_Rela);
  headers[kSectionNames] = section(names.add(".shstrtab"), SHT_STRTAB, 0, 1);
  headers[kStackNote] = section(names.add(".note.GNU-stack"), SHT_PROGBITS, 0, 1);
  return headers;
}

template <typename T>
T read_at(std::string_view object, u64 offset) {
  MCC_CHECK(offset + sizeof(T) <= object.size());
  T value;
  std::memcpy(&value, object.data() + offset, sizeof value);
  return value;
}

}  // namespace

void write_elf(const std::filesystem::path& file, const ElfMachine& machine, const ElfData& data) {
  const Tables tables = make_tables(machine, data);
  Strings section_names;
  std::vector<Elf64_Shdr> headers = section_headers(data, section_names);
  Elf64_Ehdr header = file_header(machine);

  Writer w{std::ofstream(file, std::ios::binary)};
  const auto begin = [&](SectionNumber number) {
    w.pad_to(round_up(w.at, static_cast<i64>(std::max<Elf64_Xword>(1, headers[number].sh_addralign))));
    headers[number].sh_offset = static_cast<Elf64_Off>(w.at);
  };
  const auto end = [&](SectionNumber number) {
    headers[number].sh_size = static_cast<Elf64_Xword>(w.at) - headers[number].sh_offset;
  };
  w.put_all(std::vector<Elf64_Ehdr>{header});
  begin(kData);
  const i64 start = w.at;
  for (const auto& [offset, content] : data.pieces) {
    w.pad_to(start + offset);
    w.put(content);
  }
  w.pad_to(start + data.bytes);
  end(kData);
  begin(kSymbols);
  w.put_all(tables.symbols);
  end(kSymbols);
  begin(kStrings);
  w.put(tables.names.bytes);
  end(kStrings);
  begin(kRelocs);
  w.put_all(tables.relocs);
  end(kRelocs);
  begin(kSectionNames);
  w.put(section_names.bytes);
  end(kSectionNames);
  w.pad_to(round_up(w.at, 8));
  header.e_shoff = static_cast<Elf64_Off>(w.at);
  w.put_all(headers);
  w.out.seekp(0);
  w.put_all(std::vector<Elf64_Ehdr>{header});
  w.out.close();
  if (!w.out) throw JobError(fmt::format("{}: cannot write: disk full?", file.string()));
}

ElfMachine elf_machine(std::string_view object) {
  const auto header = read_at<Elf64_Ehdr>(object, 0);
  MCC_CHECK(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0);
  return {header.e_machine, header.e_flags};
}

i64 elf_code_bytes(std::string_view object) {
  const auto header = read_at<Elf64_Ehdr>(object, 0);
  i64 sum = 0;
  for (int s = 0; s < header.e_shnum; s++) {
    const auto section = read_at<Elf64_Shdr>(object, header.e_shoff + static_cast<u64>(s) * sizeof(Elf64_Shdr));
    if (section.sh_flags & SHF_EXECINSTR) sum += static_cast<i64>(section.sh_size);
  }
  return sum;
}

}  // namespace mcc
