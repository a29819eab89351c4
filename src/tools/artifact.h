// Artifacts as the tools see them: described by their manifest, run in this process or as a program.
#pragma once
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "runtime/artifact/main.h"
#include "target/target.h"

namespace mcc {

struct ArtifactInfo {
  std::filesystem::path folder, file;  // file: model.so, model, ...
  std::string emit;
  Target target;
  int threads = 1;
  struct Port {
    std::string name;
    TensorType type;
    int number = 0;  // of an input: which of the documented random streams is its
  };
  std::vector<Port> inputs, outputs;
  nlohmann::json kernels;
};
ArtifactInfo read_artifact(const std::filesystem::path& folder);  // throws Error when it holds none

// A model.so for this machine, opened.
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
bool runs_in_process(const ArtifactInfo& info);  // a shared object for this machine

// The command line that runs the artifact as a program (its own when it is one, else one linked into `scratch`), under
// the target's emulator if it has one.
std::vector<std::string> program_command(const ArtifactInfo& info, const std::filesystem::path& scratch);

// One run on the given inputs, in whatever way the artifact can be run here. Throws JobError when it fails.
std::vector<Tensor> run_once(const ArtifactInfo& info, const std::vector<Tensor>& inputs, int threads);

std::string file_name_of(std::string_view tensor_name);  // with characters outside [A-Za-z0-9._-] as _

}  // namespace mcc
