// Child processes: run one to its end with a time limit, and collect what it printed.
#pragma once
#include <string>
#include <vector>

#include "base/base.h"

namespace mcc {

struct ProcessResult {
  int exit_code = -1;      // of a normal exit, else -1
  int signal = 0;          // that ended it, else 0
  bool timed_out = false;  // killed because the limit ran out
  std::string out, err;

  std::string why_failed() const;  // one line: its own words, or how it ended
};

// Runs argv[0] (found on PATH) with nothing on standard input. Throws JobError when it cannot be started. Where this
// program handles SIGINT, Ctrl-C on the terminal does not reach the child.
ProcessResult run_process(const std::vector<std::string>& argv, double limit_s);

// The path of the first of these programs that PATH has; throws JobError, naming the first, when it has none.
std::string find_program(const std::vector<std::string>& names);

// The running program, as something to run: itself even when its file has been replaced meanwhile.
inline constexpr const char* kThisProgram = "/proc/self/exe";

}  // namespace mcc
