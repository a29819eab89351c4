// The local runner: build a batch, then have a child process check and time it. The child is this same program; it is kept from batch
// to batch, and started anew when a candidate crashed it or hung. Building and timing never overlap.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/file.h"
#include "base/process.h"
#include "measure/bench.h"
#include "measure/builder.h"
#include "measure/runner.h"
#include "measure/wire.h"

extern char** environ;

namespace mcc {
namespace {

constexpr double kReferenceLimitS = 300;   // the reference program is slow and runs once for each task
constexpr double kDisturbed = 1.25;        // the clock probe moved by more than this: the batch is timed again
constexpr i64 kColdBytes = 512 << 10;      // larger constants come from memory in a real model

// One measuring process and the two pipes to it.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { stop(); }

  bool running() const { return pid_ > 0; }
  void start();
  void stop();
  void send(const std::string& line);
  // The next line; nothing when the process died or the time ran out (then how() tells, and it is stopped).
  std::optional<std::string> receive(double limit_s);
  bool timed_out() const { return timed_out_; }
  std::string how_it_died() const;

 private:
  pid_t pid_ = 0;
  int to_ = -1, from_ = -1, status_ = 0;
  bool timed_out_ = false;
  std::string pending_;
};

void Child::start() {
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) throw JobError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down[0], 0);
  posix_spawn_file_actions_adddup2(&actions, up[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::string program = self_path().string(), flag = "--measure-child";
  char* argv[] = {program.data(), flag.data(), nullptr};
  const int failed = posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(down[0]), close(up[1]);
  to_ = down[1], from_ = up[0];
  if (failed) throw JobError(fmt::format("cannot start the measuring process: {}", std::strerror(failed)));
  timed_out_ = false;
  pending_.clear();
}

void Child::stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  close(to_), close(from_);
  pid_ = 0;
}

void Child::send(const std::string& line) {
  const std::string bytes = line + "\n";
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = write(to_, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // it died; receive() will see the end
    at += static_cast<size_t>(n);
  }
}

std::optional<std::string> Child::receive(double limit_s) {
  const double end = now_s() + limit_s;
  for (;;) {
    if (const size_t at = pending_.find('\n'); at != std::string::npos) {
      std::string line = pending_.substr(0, at);
      pending_.erase(0, at + 1);
      return line;
    }
    const double left = end - now_s();
    if (left <= 0) return timed_out_ = true, stop(), std::nullopt;
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
    close(to_), close(from_);
    pid_ = 0;
    return std::nullopt;
  }
}

std::string Child::how_it_died() const {
  if (WIFSIGNALED(status_)) return fmt::format("signal {} ({})", WTERMSIG(status_), strsignal(WTERMSIG(status_)));
  return fmt::format("exit status {}", WEXITSTATUS(status_));
}

class LocalRunner : public Runner {
 public:
  explicit LocalRunner(const MeasureOptions& options) : options_(options) { signal(SIGPIPE, SIG_IGN); }
  std::vector<Result> run(const Task& task, std::span<const Trace> traces, double best_seconds) override;
  std::string name() const override { return "local"; }

 private:
  Job make_job(const Task& task, const Built& built, double best_seconds) const;
  double time_batch(Job job, std::vector<Result*> results);

  MeasureOptions options_;
  TempDir folder_;
  Child child_;
  i64 batches_ = 0;
  std::string reference_task_, reference_object_;
};

Job LocalRunner::make_job(const Task& task, const Built& built, double best_seconds) const {
  Job job;
  job.task = task.key;
  job.library = built.library.string();
  job.reference = built.reference;
  job.threads = task.target.cores;
  job.best_seconds = std::isfinite(best_seconds) ? best_seconds : 0;
  job.warmup_runs = options_.warmup_runs, job.repeats = options_.repeats;
  job.min_sample_s = options_.min_sample_s, job.stop_factor = options_.stop_factor;
  job.tolerance = options_.tolerance, job.seed = options_.seed;
  job.cold_bytes = kColdBytes;
  return job;
}

// Sends the candidates, and what is left of them again after each crash. Returns how much the machine's clock moved meanwhile.
double LocalRunner::time_batch(Job job, std::vector<Result*> results) {
  for (size_t at = 0; at < results.size();) {
    if (!child_.running()) child_.start();
    child_.send(to_line(job));
    bool reference_ready = false;
    for (;;) {
      const auto line = child_.receive(reference_ready ? options_.timeout_s : kReferenceLimitS);
      if (!line) {
        const std::string why = child_.timed_out() ? fmt::format("no answer within {} s", options_.timeout_s) : child_.how_it_died();
        if (!reference_ready) throw JobError(fmt::format("the reference program of task {} failed: {}", job.task, why));
        *results[at++] = {child_.timed_out() ? Outcome::timeout : Outcome::crash, {}, why};
        break;
      }
      const Reply reply = reply_from_line(*line);
      if (reply.kind == Reply::Kind::failed) throw JobError(fmt::format("measuring task {}: {}", job.task, reply.result.note));
      if (reply.kind == Reply::Kind::reference_ready) reference_ready = true;
      if (reply.kind == Reply::Kind::done) return std::max(reply.clock_before / reply.clock_after, reply.clock_after / reply.clock_before);
      if (reply.kind == Reply::Kind::result) {
        *results[at++] = reply.result;
        if (reply.result.outcome == Outcome::wrong_result) {  // it may have scribbled over anything
          child_.stop();
          break;
        }
      }
    }
    job.candidates.erase(job.candidates.begin(), job.candidates.end() - static_cast<i64>(results.size() - at));
  }
  return 1;
}

std::vector<Result> LocalRunner::run(const Task& task, std::span<const Trace> traces, double best_seconds) {
  if (reference_task_ != task.key) reference_task_ = task.key, reference_object_.clear();
  const std::filesystem::path folder = folder_.path() / fmt::format("{}", batches_++);
  std::filesystem::create_directory(folder);
  const Built built = build(task, traces, folder, reference_object_, options_.build_threads);
  std::vector<Result> results = built.failures;
  Job job = make_job(task, built, best_seconds);
  std::vector<Result*> wanted;
  for (size_t i = 0; i < traces.size(); i++) {
    if (!built.candidates[i]) continue;
    job.candidates.push_back(*built.candidates[i]);
    wanted.push_back(&results[i]);
  }
  if (!wanted.empty() && time_batch(job, wanted) > kDisturbed) {
    // The machine changed its speed in the middle: time those that ran once more and keep the better times of both.
    std::vector<Result> again(wanted.size());
    std::vector<Result*> targets;
    Job second = job;
    second.candidates.clear();
    for (size_t i = 0; i < wanted.size(); i++) {
      if (wanted[i]->outcome != Outcome::ok) continue;
      second.candidates.push_back(job.candidates[i]);
      targets.push_back(&again[i]);
    }
    time_batch(second, targets);
    for (size_t i = 0; i < wanted.size(); i++) {
      if (again[i].outcome == Outcome::ok && again[i].median() < wanted[i]->median()) *wanted[i] = again[i];
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return results;
}

}  // namespace

std::unique_ptr<Runner> local_runner(const MeasureOptions& options) { return std::make_unique<LocalRunner>(options); }

}  // namespace mcc
