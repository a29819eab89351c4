#include "measure/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/process.h"
#include "measure/timing.h"

extern char** environ;

namespace mcc {
namespace {

constexpr double kReferenceLimitS = 300;  // the reference program is slow and runs once for each task

void fail_rest(const std::vector<Result*>& results, size_t from, const Result& why) {
  for (size_t i = from; i < results.size(); i++) *results[i] = why;
}

// What a process says after a candidate scribbled over its memory may be anything.
Reply understood(const std::string& line) {
  try {
    return reply_from_line(line);
  } catch (const Error& error) {
    return {Reply::Kind::result, {Outcome::crash, {}, error.what()}};
  }
}

}  // namespace

Supervisor::Supervisor(double timeout_s) : timeout_s_(timeout_s) { signal(SIGPIPE, SIG_IGN); }

void Supervisor::start() {
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
    throw JobError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down[0], 0);
  posix_spawn_file_actions_adddup2(&actions, up[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // Ctrl-C is the tuner's to handle
  std::string program = kThisProgram, flag = "--measure-child";
  char* argv[] = {program.data(), flag.data(), nullptr};
  const int failed = posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(down[0]);
  close(up[1]);
  to_ = down[1];
  from_ = up[0];
  if (failed) throw JobError(fmt::format("cannot start the measuring process: {}", std::strerror(failed)));
  timed_out_ = false;
  pending_.clear();
}

void Supervisor::stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  close(to_);
  close(from_);
  pid_ = 0;
}

void Supervisor::send(const std::string& line) {
  const std::string bytes = line + "\n";
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = write(to_, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // it died; receive() will see the end
    at += static_cast<size_t>(n);
  }
}

// The next line; nothing when the process died or the time ran out (then it is stopped, and death() tells).
std::optional<std::string> Supervisor::receive(double limit_s) {
  const double end = now_s() + limit_s;
  for (;;) {
    if (const size_t at = pending_.find('\n'); at != std::string::npos) {
      std::string line = pending_.substr(0, at);
      pending_.erase(0, at + 1);
      return line;
    }
    const double left = end - now_s();
    if (left <= 0) {
      timed_out_ = true;
      stop();
      return std::nullopt;
    }
    pollfd fd{from_, POLLIN, 0};
    if (poll(&fd, 1, static_cast<int>(std::ceil(left * 1e3))) <= 0) continue;
    char chunk[1 << 14];
    const ssize_t n = read(from_, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0) {
      pending_.append(chunk, static_cast<size_t>(n));
      continue;
    }
    while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    close(to_);
    close(from_);
    pid_ = 0;
    return std::nullopt;
  }
}

// What the end of the process says of the candidate it was at, after waiting for `limit_s`.
Result Supervisor::death(double limit_s) const {
  if (timed_out_) return {Outcome::timeout, {}, fmt::format("no answer within {} s", limit_s)};
  if (!WIFSIGNALED(status_)) return {Outcome::crash, {}, fmt::format("exit status {}", WEXITSTATUS(status_))};
  const int signal = WTERMSIG(status_);
  return {signal == SIGKILL ? Outcome::device_lost : Outcome::crash,
          {},
          fmt::format("signal {} ({})", signal, strsignal(signal))};
}

// More seconds of one of the last `sent` results. False: of none of them.
static bool add_samples(const Reply& reply, size_t sent, const std::vector<Result*>& results) {
  if (reply.candidate < 0 || at(reply.candidate) >= sent) return false;
  std::vector<double>& samples = results[results.size() - sent + at(reply.candidate)]->seconds;
  samples.insert(samples.end(), reply.result.seconds.begin(), reply.result.seconds.end());
  return true;
}

// Sends the candidates, and what is left of them again after each crash.
double Supervisor::measure(Job job, const std::vector<Result*>& results) {
  bool killed = false;
  for (size_t done = 0; done < results.size();) {
    if (pid_ <= 0) start();
    send(to_line(job));
    bool reference_ready = false;
    for (;;) {
      const double limit = reference_ready ? timeout_s_ : kReferenceLimitS;
      const auto line = receive(limit);
      if (!line) {
        if (done == results.size()) return 1;  // it died after the last result
        Result failure = death(limit);
        if (failure.outcome == Outcome::device_lost && !std::exchange(killed, true)) break;  // once more
        if (!reference_ready) {
          failure.note = "the reference program failed: " + failure.note;
          fail_rest(results, done, failure);
          return 1;
        }
        *results[done++] = failure;
        break;
      }
      const Reply reply = understood(*line);
      if (reply.kind == Reply::Kind::failed) {
        fail_rest(results, done, {Outcome::build_error, {}, reply.result.note});
        return 1;
      }
      if (reply.kind == Reply::Kind::reference_ready) reference_ready = true;
      if (reply.kind == Reply::Kind::done)
        return std::max(reply.clock_before / reply.clock_after, reply.clock_after / reply.clock_before);
      const bool complete = done == results.size();
      bool sensible = true;
      if (reply.kind == Reply::Kind::result) sensible = !complete;
      if (reply.kind == Reply::Kind::more) sensible = complete && add_samples(reply, job.candidates.size(), results);
      if (!sensible) {
        stop();
        return 1;
      }
      if (reply.kind == Reply::Kind::result) {
        *results[done++] = reply.result;
        if (reply.result.outcome == Outcome::wrong_result || reply.result.outcome == Outcome::crash) {
          stop();  // it may have scribbled over anything
          break;
        }
      }
    }
    job.candidates.erase(job.candidates.begin(), job.candidates.end() - static_cast<i64>(results.size() - done));
  }
  return 1;
}

}  // namespace mcc
