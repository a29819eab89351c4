// Files: whole reads, atomic writes (never a half-written file under its final name), temporary folders.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/base.h"

namespace mcc {

std::string read_file(const std::filesystem::path& path);                           // throws Error
void write_file(const std::filesystem::path& path, std::string_view bytes);         // by rename; throws Error
bool starts_with_elf_magic(std::string_view bytes);

// A folder of its own under $TMPDIR, removed with everything in it at the end of its life.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace mcc
