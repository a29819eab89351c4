// What mcc-tune does with whole programs: builds them, times them in processes of their own, and decides which of the
// tuned kernels ship. Kernels are compiled once, however many programs they are part of.
#pragma once
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/file.h"
#include "package/package.h"
#include "tools/log_choice.h"

namespace mcc {

struct Latency {
  std::optional<double> default_ms, tuned_ms;  // of one run of the model; nothing where it was not measured
  bool default_wins() const { return default_ms && tuned_ms && *default_ms < *tuned_ms; }
};

class ProgramBuilder {
 public:
  // `stop`: from then on nothing more is tried, and the duel of choose() is short.
  ProgramBuilder(const LoweredModel& model, Target target, std::string model_name, bool strict,
                 const std::atomic<bool>& stop);

  // The finished artifact in `out`; `log` tells the records its kernels came from.
  Artifact write(const Traces& traces, const std::vector<Task>& tasks, const RecordStore& log,
                 const std::filesystem::path& out, const std::string& emit);
  // Builds and times the program of default schedules; what later steps are compared with. Returns milliseconds.
  double try_default();
  // What is to be kept back from a time budget for choose(), in seconds. After try_default().
  double finish_s() const;
  // The combination of the tasks' fastest kernels that is fastest in the whole model, until about the deadline; empty
  // where the default program is faster. `latency` is set. After try_default().
  Traces choose(const std::vector<Task>& tasks, const RecordStore& log, const Deadline& deadline, Latency& latency);

 private:
  PackageOptions options(const Traces& traces, const std::filesystem::path& out, const std::string& emit);
  double time_ms(const std::filesystem::path& artifact, int repeat, std::string* why = nullptr) const;
  double program_seconds(const Traces& traces);
  Latency duel(const Traces& traces);

  const LoweredModel& model_;
  Target target_;
  std::string name_;
  bool strict_;
  const std::atomic<bool>& stop_;
  ObjectCache objects_;
  TempDir folder_;
  double default_ms_ = 0, build_s_ = 0;
  int repeat_ = 5;  // runs that make a timing
};

}  // namespace mcc
