// Files: whole reads, atomic writes (never a half-written file under its final name), temporary folders.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/base.h"

namespace mcc {

std::string read_file(const std::filesystem::path& path);                    // throws Error
void write_file(const std::filesystem::path& path, std::string_view bytes);  // by rename; throws Error
bool starts_with_elf_magic(std::string_view bytes);

// A hold on an existing folder for the life of this process: what a killed process leaves behind has no holder.
class FolderHold {
 public:
  FolderHold() = default;
  ~FolderHold();
  FolderHold(const FolderHold&) = delete;
  FolderHold& operator=(const FolderHold&) = delete;
  // 0, or the errno why not: EWOULDBLOCK when another process has it, ENOENT when it is gone.
  int take(const std::filesystem::path& folder);

 private:
  int fd_ = -1;
};
// Removes the folders parent/prefix* that no process holds.
void remove_abandoned(const std::filesystem::path& parent, const std::string& prefix);

// A folder of its own under $TMPDIR (Error when that cannot be), removed with everything in it at the end of its life.
// The first one of a process also removes those of killed processes.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  FolderHold hold_;
};

}  // namespace mcc
