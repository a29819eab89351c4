// Gives jobs to a measuring process and outlives whatever happens to it: a candidate that crashes, hangs or scribbles
// costs itself alone, the others of its batch are measured by the next process. No candidate kills outright (SIGKILL):
// when somebody does, out of memory or by hand, the work is done once more, and is Outcome::device_lost if that is
// killed too. The process is `PROGRAM --measure-child`, this same program; it is kept from job to job.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "measure/wire.h"

namespace mcc {

class Supervisor {
 public:
  // timeout_s: for one candidate, all its runs.
  explicit Supervisor(double timeout_s);
  ~Supervisor() { stop(); }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Fills results[i] for job.candidates[i]. Returns by which factor the machine's clock moved meanwhile (1: not, or not
  // known). Throws JobError when the process cannot be started; all else is a result.
  double measure(Job job, const std::vector<Result*>& results);

 private:
  void start();
  void stop();
  void send(const std::string& line);
  std::optional<std::string> receive(double limit_s);
  Result death(double limit_s) const;

  double timeout_s_;
  pid_t pid_ = 0;
  int to_ = -1, from_ = -1, status_ = 0;
  bool timed_out_ = false;
  std::string pending_;
};

}  // namespace mcc
