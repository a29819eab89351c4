// What an artifact's manifest tells the programs that use it. A manifest is a file from outside: it is read whole and
// checked before anything is believed.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "graph/types.h"
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
  struct Kernel {
    std::string symbol, name, task;
    std::vector<std::string> nodes;
    i64 flops = 0, bytes = 0;
  };
  std::vector<Kernel> kernels;  // in the order they run
  i64 weight_bytes = 0, arena_bytes = 0;
};

ArtifactInfo read_artifact(const std::filesystem::path& folder);  // throws Error when it holds none, or a damaged one
ArtifactInfo artifact_from_manifest(std::string_view manifest, const std::filesystem::path& folder);

}  // namespace mcc
