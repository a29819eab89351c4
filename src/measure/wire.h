// What travels between the tuner and a measuring process, as JSON lines: one Job down, one result for each candidate up
// (in order), then more samples of some of them, then done. The same lines serve the local child and remote runners.
#pragma once
#include <string>
#include <vector>

#include "loop/loop.h"
#include "measure/runner.h"

namespace mcc {

struct CandidateJob {
  std::string symbol;
  i64 scratch_bytes = 0;
  std::vector<loop::Buffer> params;  // with this candidate's packing of constants
};

struct Job {
  std::string task;        // key: the reference output is computed once for each
  std::string library;     // shared object with all symbols
  CandidateJob reference;  // the unscheduled program
  std::vector<CandidateJob> candidates;
  int threads = 1;
  double best_seconds = 0;  // known so far; 0 if none
  int warmup_runs = 1, repeats = 3, passes = 16;
  double min_sample_s = 3e-4, stop_factor = 3, tolerance = 1e-4;
  i64 cold_bytes = 0;  // constants larger than this are pushed out of the caches before each run; 0: never
  u64 seed = 1;
};

// Steps of a job that the measuring process announces, so that the tuner knows what was running when it died.
struct Reply {
  enum class Kind : u8 { reference_ready, result, done, failed, more } kind = Kind::done;
  Result result;                             // of Kind::result and more; note of Kind::failed
  i64 candidate = 0;                         // of Kind::more: number within the job
  double clock_before = 0, clock_after = 0;  // of Kind::done: seconds a fixed loop took before and after the batch
};

std::string to_line(const Job& job);
Job job_from_line(const std::string& line);  // throws Error
std::string to_line(const Reply& reply);
Reply reply_from_line(const std::string& line);  // throws Error

}  // namespace mcc
