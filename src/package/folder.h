// The artifact folder, written whole or not at all; file by file where a folder cannot be replaced (folder.cc).
#pragma once
#include <filesystem>

#include "base/file.h"

namespace mcc {

// A new folder beside the final one, or in it. commit() puts it in the place of the final one; without commit it
// vanishes; what killed processes left there vanishes with the next one.
class StagedFolder {
 public:
  explicit StagedFolder(const std::filesystem::path& final_path);  // checks as check_out_dir() does
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  void commit();

 private:
  void move_in() const;
  std::filesystem::path final_, path_;
  bool beside_ = true;
  FolderHold hold_;
};

}  // namespace mcc
