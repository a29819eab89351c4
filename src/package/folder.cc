// See folder.h. A folder that holds anything but an artifact (what its manifest lists) is somebody else's and stays as
// it is.
//
// The stage stands beside the final folder, and both change places in one step. Some folders cannot be replaced: a
// mount point (a container's volume), one in a parent that is not ours to write, one that this process (or the shell
// that started it) stands in. Their files are moved in one by one, each whole, the manifest last.
#include "package/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "package/package.h"

namespace mcc {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kInnerStage = ".mcc-stage";  // the stage inside a folder that cannot be replaced

// Absolute, without links: the folder that a link names is what is written.
fs::path resolved(const fs::path& path) {
  std::error_code error;
  if (path.empty()) fail("the output folder has no name: use -o OUT_DIR");
  if (fs::is_symlink(path, error) && !fs::exists(path, error)) fail("{}: is a link to nothing", path.string());
  const fs::path full = fs::weakly_canonical(fs::absolute(path), error);
  if (error) fail("{}: cannot write the artifact: {}", path.string(), error.message());
  return full.has_filename() ? full : full.parent_path();
}

bool may_write(const fs::path& folder) { return access(folder.c_str(), W_OK) == 0; }

bool holds_working_folder(const fs::path& folder) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  return !error && std::mismatch(folder.begin(), folder.end(), here.begin(), here.end()).first == folder.end();
}

bool can_be_replaced(const fs::path& folder) {
  struct stat inner{}, outer{};
  if (stat(folder.c_str(), &inner) != 0) return true;  // there is none yet
  return may_write(folder.parent_path()) && !holds_working_folder(folder) &&
         stat(folder.parent_path().c_str(), &outer) == 0 && inner.st_dev == outer.st_dev;
}

// The names that an artifact's manifest accounts for; empty when there is no readable manifest.
std::set<std::string> artifact_files(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code ignored;
  if (!fs::is_regular_file(folder / "manifest.json", ignored)) return names;
  const auto manifest = nlohmann::json::parse(read_file(folder / "manifest.json"), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("manifest_version") || !manifest.contains("hashes")) return names;
  const nlohmann::json& hashes = manifest["hashes"];
  if (!hashes.is_object() || !hashes.contains("files") || !hashes["files"].is_object()) return names;
  names.insert("manifest.json");
  for (const auto& [file, hash] : hashes["files"].items()) names.insert(file);
  return names;
}

}  // namespace

void check_out_dir(const fs::path& out_dir) {
  const fs::path path = resolved(out_dir), parent = path.parent_path();
  std::error_code error;
  if (!fs::is_directory(parent, error)) fail("{}: no such folder to write the artifact into", parent.string());
  const bool exists = fs::exists(path, error);
  if (exists && !fs::is_directory(path, error)) fail("{}: is a file; give a folder with -o", path.string());
  if (!may_write(exists && !can_be_replaced(path) ? path : parent))
    fail("{}: no permission to write the artifact there", (exists ? path : parent).string());
  if (!exists) return;
  const std::set<std::string> known = artifact_files(path);
  for (const auto& entry :
       fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error)) {
    const std::string name = fs::relative(entry.path(), path).string();
    if (!entry.is_directory() && !known.contains(name) && !name.starts_with(kInnerStage))
      fail("{}: holds {}, which is no part of an artifact; give another folder with -o, or empty this one",
           path.string(), name);
  }
}

StagedFolder::StagedFolder(const fs::path& final_path) : final_(resolved(final_path)) {
  check_out_dir(final_);
  beside_ = can_be_replaced(final_);
  const fs::path parent = beside_ ? final_.parent_path() : final_;
  const std::string stage = beside_ ? final_.filename().string() + ".mcc-stage" : std::string(kInnerStage);
  remove_abandoned(parent, stage);
  path_ = parent / (stage + fmt::format("{}", getpid()));
  std::error_code error;
  fs::remove_all(path_, error);
  if (!fs::create_directory(path_, error)) fail("{}: cannot write the artifact: {}", path_.string(), error.message());
  hold_.take(path_);
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

// File systems that cannot exchange two folders (NFS) have the older one removed first. Busy: a mount point after all.
void StagedFolder::commit() {
  if (!beside_) return move_in();
  std::error_code error;
  const bool replaces = fs::exists(final_, error);
  int failed = renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, final_.c_str(), replaces ? RENAME_EXCHANGE : 0);
  if (failed && (errno == EBUSY || errno == EXDEV)) return move_in();
  if (failed && errno == EINVAL) {
    fs::remove_all(final_, error);
    failed = rename(path_.c_str(), final_.c_str());
  }
  if (failed) fail("{}: cannot write the artifact: {}", final_.string(), std::strerror(errno));
}

void StagedFolder::move_in() const {
  std::set<std::string> old = artifact_files(final_);
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path_))
    if (!entry.is_directory()) files.push_back(fs::relative(entry.path(), path_).string());
  std::stable_partition(files.begin(), files.end(), [](const std::string& file) { return file != "manifest.json"; });
  try {
    for (const std::string& file : files) {
      const fs::path to = final_ / file;
      fs::create_directories(to.parent_path());
      std::error_code other_disk;
      fs::rename(path_ / file, to, other_disk);
      if (other_disk) fs::remove(to), fs::copy_file(path_ / file, to);
      old.erase(file);
    }
    for (const std::string& file : old) fs::remove(final_ / file);
  } catch (const fs::filesystem_error& error) {
    fail("{}: cannot write the artifact: {}", final_.string(), error.code().message());
  }
}

}  // namespace mcc
