#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/text.h"

extern char** environ;

namespace mcc {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw JobError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  static void close_end(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

// Reads what is there; closes the end and returns false at its end of file.
bool drain(int& fd, std::string& into) {
  char chunk[1 << 14];
  const ssize_t n = read(fd, chunk, sizeof chunk);
  if (n > 0) into.append(chunk, static_cast<size_t>(n));
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) Pipe::close_end(fd);
  return fd >= 0;
}

// A program that handles Ctrl-C itself wants its children to finish; the terminal interrupts a whole process group.
bool handles_interrupts() {
  struct sigaction now{};
  return sigaction(SIGINT, nullptr, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& argv, double limit_s) {
  Pipe out, err;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (handles_interrupts()) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // 0: a group of its own
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, 1);
  posix_spawn_file_actions_adddup2(&actions, err.write_end, 2);
  std::vector<char*> args;
  for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
  args.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, args[0], &actions, &attributes, args.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) throw JobError(fmt::format("cannot start {}: {}", argv[0], std::strerror(failed)));
  Pipe::close_end(out.write_end), Pipe::close_end(err.write_end);

  ProcessResult result;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
  while (out.read_end >= 0 || err.read_end >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) {
      kill(pid, SIGKILL);
      result.timed_out = true;
      break;
    }
    pollfd fds[2] = {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}};
    if (poll(fds, 2, static_cast<int>(std::min<long>(left, 1000))) < 0 && errno != EINTR) break;
    if (fds[0].revents) drain(out.read_end, result.out);
    if (fds[1].revents) drain(err.read_end, result.err);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

std::string ProcessResult::why_failed() const {
  if (timed_out) return "it took too long";
  for (const std::string& line : split(err, '\n')) {
    if (!line.empty() && !line.starts_with("PLEASE submit a bug report")) return line;  // LLVM's first words of a crash
  }
  return signal != 0 ? fmt::format("signal {} ({})", signal, strsignal(signal))
                     : fmt::format("exit status {}", exit_code);
}

std::string find_program(const std::vector<std::string>& names) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/bin";
  for (const std::string& name : names) {
    std::string_view left = rest;
    while (!left.empty()) {
      const std::string_view folder = left.substr(0, left.find(':'));
      left.remove_prefix(std::min(left.size(), folder.size() + 1));
      std::error_code ignored;
      if (std::filesystem::exists(std::filesystem::path(folder) / name, ignored))
        return (std::filesystem::path(folder) / name).string();
    }
  }
  throw JobError(fmt::format("{} is not installed: it is needed for this", names[0]));
}

}  // namespace mcc
