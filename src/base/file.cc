#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <system_error>

namespace mcc {
namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("{}: cannot read: {}", path.string(), std::strerror(errno));
  struct stat info{};
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    close(fd);
    fail("{}: is a folder, a file is needed", path.string());
  }
  std::string bytes;
  // Grown step by step it would need twice the memory.
  if (S_ISREG(info.st_mode)) bytes.reserve(static_cast<size_t>(info.st_size));
  char chunk[1 << 16];
  ssize_t n;
  while ((n = read(fd, chunk, sizeof chunk)) > 0) bytes.append(chunk, static_cast<size_t>(n));
  const int error = errno;
  close(fd);
  if (n < 0) fail("{}: cannot read: {}", path.string(), std::strerror(error));
  return bytes;
}

void write_file(const fs::path& path, std::string_view bytes) {
  const fs::path part = path.string() + fmt::format(".part{}", getpid());
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) fail("{}: cannot write: {}", path.string(), std::strerror(errno));
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      const int error = errno;
      close(fd);
      unlink(part.c_str());
      fail("{}: cannot write: {}", path.string(), std::strerror(error));
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  close(fd);
  std::error_code error;
  fs::rename(part, path, error);
  if (error) {
    unlink(part.c_str());
    fail("{}: cannot write: {}", path.string(), error.message());
  }
}

bool starts_with_elf_magic(std::string_view bytes) { return bytes.starts_with("\177ELF"); }

FolderHold::~FolderHold() {
  if (fd_ >= 0) close(fd_);
}

int FolderHold::take(const fs::path& folder) {
  fd_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) return errno;
  std::error_code error;
  int why = flock(fd_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (why == 0 && !fs::exists(folder, error)) why = ENOENT;
  if (why == 0) return 0;
  close(fd_);
  fd_ = -1;
  return why;
}

void remove_abandoned(const fs::path& parent, const std::string& prefix) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    std::error_code ignored;
    if (!entry.path().filename().string().starts_with(prefix) || !entry.is_directory(ignored)) continue;
    FolderHold hold;
    if (hold.take(entry.path()) == 0) fs::remove_all(entry.path(), ignored);
  }
}

TempDir::TempDir() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  const char* wanted = std::getenv("TMPDIR");
  if (error) fail("TMPDIR={}: cannot hold temporary files: {}", wanted ? wanted : "/tmp", error.message());
  static std::once_flag swept;
  std::call_once(swept, [&] { remove_abandoned(parent, "mcc-scratch."); });
  for (;;) {
    std::string name = (parent / "mcc-scratch.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fail("{}: cannot make a temporary folder: {}", name, std::strerror(errno));
    path_ = name;
    const int why = hold_.take(path_);
    if (why == 0) return;
    if (why == EWOULDBLOCK || why == ENOENT) continue;  // another process takes the new folder for an abandoned one
    rmdir(name.c_str());
    fail("{}: cannot hold a temporary folder: {}", name, std::strerror(why));
  }
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace mcc
