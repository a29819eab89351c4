// Artifacts as the tools see them: described by their manifest, run in this process or as a program.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "package/artifact_info.h"
#include "runtime/artifact/main.h"

namespace mcc {

// A model.so for this machine, opened. Throws Error when it is none, or another one than its manifest says.
class OpenedModel {
 public:
  explicit OpenedModel(const ArtifactInfo& info);
  ~OpenedModel();
  OpenedModel(const OpenedModel&) = delete;
  OpenedModel& operator=(const OpenedModel&) = delete;

  const mcc_model* model = nullptr;
  mcc_run_fn run = nullptr;
  decltype(&mcc_model_run_hooked) run_hooked = nullptr;
  decltype(&mcc_runtime_create) runtime_create = nullptr;
  decltype(&mcc_runtime_destroy) runtime_destroy = nullptr;

 private:
  void* handle_ = nullptr;
};
double port_bytes(const std::vector<ArtifactInfo::Port>& ports);
double run_bytes(const ArtifactInfo& info);      // of inputs, outputs and arena
bool runs_in_process(const ArtifactInfo& info);  // a shared object for this machine

// The command line that runs the artifact as a program (its own when it is one, else one linked into `scratch`), under
// the target's emulator if it has one.
std::vector<std::string> program_command(const ArtifactInfo& info, const std::filesystem::path& scratch);

// One run on the given inputs, in whatever way the artifact can be run here. Throws JobError when it fails.
std::vector<Tensor> run_once(const ArtifactInfo& info, const std::vector<Tensor>& inputs, int threads);

// Of the file of output number o: its name with characters outside [A-Za-z0-9._-] as _, and ~o after it where an
// earlier output has the same. As mcc_write_npy() names it.
std::string output_file(const ArtifactInfo& info, size_t o);

}  // namespace mcc
