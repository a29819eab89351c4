// See folder.h. A folder that holds anything but an artifact (what its manifest lists) is somebody else's and stays as
// it is.
#include "package/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "package/package.h"

namespace mcc {
namespace fs = std::filesystem;
namespace {

fs::path without_slash(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

fs::path parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

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
  const fs::path path = without_slash(out_dir), parent = parent_of(path);
  std::error_code error;
  if (path.empty()) fail("the output folder has no name: use -o OUT_DIR");
  if (!fs::is_directory(parent, error)) fail("{}: no such folder to write the artifact into", parent.string());
  if (access(parent.c_str(), W_OK) != 0) fail("{}: no permission to write the artifact there", parent.string());
  if (!fs::exists(path, error)) return;
  if (!fs::is_directory(path, error)) fail("{}: is a file; give a folder with -o", path.string());
  const std::set<std::string> known = artifact_files(path);
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    const std::string name = fs::relative(entry.path(), path).string();
    if (!entry.is_directory() && !known.contains(name))
      fail("{}: holds {}, which is no part of an artifact; give another folder with -o, or empty this one",
           path.string(), name);
  }
}

StagedFolder::StagedFolder(fs::path final_path) : final_(without_slash(final_path)) {
  check_out_dir(final_);
  const std::string stage = final_.filename().string() + ".mcc-stage";
  remove_abandoned(parent_of(final_), stage);
  path_ = parent_of(final_) / (stage + fmt::format("{}", getpid()));
  std::error_code error;
  fs::remove_all(path_, error);
  if (!fs::create_directory(path_, error)) fail("{}: cannot write the artifact: {}", path_.string(), error.message());
  hold_.take(path_);
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

// The new folder and an older artifact change places in one step, and the older one goes with the stage. File systems
// that cannot do that (NFS) have the older one removed first.
void StagedFolder::commit() {
  std::error_code error;
  const bool replaces = fs::exists(final_, error);
  int failed = renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, final_.c_str(), replaces ? RENAME_EXCHANGE : 0);
  if (failed && errno == EINVAL) {
    fs::remove_all(final_, error);
    failed = rename(path_.c_str(), final_.c_str());
  }
  if (failed) fail("{}: cannot write the artifact: {}", final_.string(), std::strerror(errno));
}

}  // namespace mcc
