// Traces -> one shared object: apply and check each, compile all in parallel (on all cores of this machine), link once.
// Nothing is timed here.
#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "measure/wire.h"

namespace mcc {

struct Built {
  std::filesystem::path library;  // empty when nothing could be built
  CandidateJob reference;
  std::vector<std::optional<CandidateJob>> candidates;  // one for each trace; nothing when it failed
  std::vector<Result> failures;                         // why; meaningful where candidates[i] is nothing
};
// Writes into `folder`, which must outlive the use of the library. `reference_object` caches the compiled reference of
// the task (in/out).
Built build(const Task& task, std::span<const Trace> traces, const std::filesystem::path& folder,
            std::string& reference_object);

// The parameters of a candidate, and its scratch memory.
CandidateJob candidate_job(const loop::Func& func, std::string symbol, int threads);

}  // namespace mcc
