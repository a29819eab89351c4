// Best traces + memory plan + packed weights + runtime -> the artifact folder (docs/ARTIFACT.md).
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/passes.h"
#include "records/record.h"
#include "schedule/task.h"
#include "target/target.h"

namespace mcc {

// Where everything lives while the model runs. Offsets into the arena, 64-byte aligned.
struct MemoryPlan {
  struct Place {
    enum class Kind : u8 { none, arena, input, output, weight } kind = Kind::none;
    // Arena: bytes from its start; input/output: bytes into that tensor; weight: decided per kernel (weights.h).
    i64 offset = 0;
    int index = -1;  // input/output number
  };
  std::vector<Place> values;  // one for each graph value
  std::vector<i64> scratch;   // one for each call: arena offset of its scratch memory
  i64 arena_bytes = 0;
};
// Greedy by size over lifetimes (Pisarchyk & Lee 2020); element-wise kernels may write over an input that dies.
MemoryPlan plan_memory(const LoweredModel& model, const std::vector<loop::Func>& scheduled, int threads);

// Machine code by the kernel it belongs to: programs that differ in a few kernels share the rest. Thread-safe.
class ObjectCache {
 public:
  // What compile() gave for this key; it is called at most once for each (save when two threads ask at once).
  std::string get(const std::string& key, const std::function<std::string()>& compile);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> objects_;
};

struct PackageOptions {
  Target target;
  std::string emit = "so";  // so, a, obj, exe, c
  std::string model_name;   // becomes part of symbols and file names after cleaning
  std::filesystem::path out_dir;
  bool strict = false;                            // numerics (Task::strict)
  std::map<std::string, Trace> traces;            // task key -> trace to use; tasks not listed get default_trace
  std::map<std::string, std::string> record_ids;  // task key -> id of the record the trace came from, the default too
  ObjectCache* objects = nullptr;                 // of the same target; may be shared by several package()
};
struct Artifact {
  std::filesystem::path folder;
  i64 arena_bytes = 0, weight_bytes = 0, code_bytes = 0;
};
// Throws Error when package() could not write there: no such parent, no permission, or the folder holds something other
// than an artifact.
void check_out_dir(const std::filesystem::path& out_dir);
// The tasks of a lowered model, equal ones merged, in order of first use.
std::vector<Task> model_tasks(const LoweredModel& model, const Target& target, bool strict = false);
// Whether the caches keep all constants of the model from one run to the next: they take half of the last cache at
// most.
bool constants_stay(const LoweredModel& model, const Target& target);
// What package() would say of sizes, without compiling.
struct Sizes {
  i64 arena_bytes = 0, weight_bytes = 0;
};
Sizes artifact_sizes(const LoweredModel& model, const PackageOptions& options);
// Writes the folder whole or not at all. Byte-identical for the same inputs.
Artifact package(const LoweredModel& model, const PackageOptions& options);

}  // namespace mcc
