// Child processes: run one to its end with a time limit, and collect what it printed.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/base.h"

namespace mcc {

struct ProcessResult {
  int exit_code = -1;      // of a normal exit, else -1
  int signal = 0;          // that ended it, else 0
  bool timed_out = false;  // killed because the limit ran out
  std::string out, err;
};

// Runs argv[0] (found on PATH) with nothing on standard input. Throws JobError when it cannot be started. Where this
// program handles SIGINT, Ctrl-C on the terminal does not reach the child.
ProcessResult run_process(const std::vector<std::string>& argv, double limit_s);

// The path of the first of these programs that PATH has; throws JobError, naming the first, when it has none.
std::string find_program(const std::vector<std::string>& names);

std::filesystem::path self_path();  // the running program's own file

}  // namespace mcc
