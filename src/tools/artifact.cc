// See artifact.h. Shared objects for this machine are opened here; every other form runs as a program of its own, which
// takes its inputs and gives its outputs as .npy files, under an emulator when it is made for another machine.
#include "tools/artifact.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/file.h"
#include "base/process.h"
#include "graph/npy.h"
#include "package/link.h"

namespace mcc {
namespace fs = std::filesystem;
namespace {

constexpr double kRunLimitS = 3600;

template <typename Fn>
Fn symbol(void* handle, const char* name, const fs::path& file) {
  void* address = dlsym(handle, name);
  if (!address) fail("{}: has no {}: not a model made by mcc", file.string(), name);
  return reinterpret_cast<Fn>(address);
}

TensorType type_of(const mcc_tensor_info& info) {
  return {static_cast<DType>(info.dtype), Shape(info.shape, info.shape + info.rank)};
}

// The memory that a run is given is what the manifest says; a model that wants another must not get it.
bool fits(const std::vector<ArtifactInfo::Port>& ports, const mcc_tensor_info* infos, int count) {
  return std::ssize(ports) == count &&
         std::equal(ports.begin(), ports.end(), infos, [](const auto& port, const auto& info) {
           return port.name == info.name && port.type == type_of(info);
         });
}

std::vector<Tensor> run_in_process(const ArtifactInfo& info, const std::vector<Tensor>& inputs, int threads) {
  const OpenedModel opened(info);
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<Tensor> outputs;
  for (const Tensor& tensor : inputs) in.push_back(tensor.bytes());
  for (const ArtifactInfo::Port& port : info.outputs) {
    outputs.emplace_back(port.type);
    out.push_back(outputs.back().bytes());
  }
  Tensor arena({DType::u8, {opened.model->arena_bytes}});
  mcc_runtime* rt = opened.runtime_create(threads);
  if (!rt) throw JobError("cannot start the threads");
  const int status = opened.run(opened.model, in.data(), out.data(), arena.bytes(), rt);
  opened.runtime_destroy(rt);
  if (status != MCC_OK) throw JobError(fmt::format("{}: the run failed with status {}", info.folder.string(), status));
  return outputs;
}

std::vector<Tensor> run_program(const ArtifactInfo& info, const std::vector<Tensor>& inputs, int threads) {
  const TempDir scratch;
  std::vector<std::string> command = program_command(info, scratch.path());
  for (size_t i = 0; i < inputs.size(); i++) {
    const fs::path file = scratch.path() / fmt::format("in{}.npy", i);
    write_file(file, to_npy(inputs[i]));
    command.push_back(fmt::format("--input={}={}", info.inputs[i].name, file.string()));
  }
  fs::create_directory(scratch.path() / "out");
  command.insert(command.end(),
                 {"--output=" + (scratch.path() / "out").string(), "--repeat=1", fmt::format("--threads={}", threads)});
  const ProcessResult result = run_process(command, kRunLimitS);
  if (result.exit_code != 0)
    throw JobError(fmt::format("{}: the run failed (status {}, signal {}): {}", info.folder.string(), result.exit_code,
                               result.signal, result.err));
  std::vector<Tensor> outputs;
  for (size_t o = 0; o < info.outputs.size(); o++)
    outputs.push_back(read_npy(scratch.path() / "out" / output_file(info, o)));
  return outputs;
}

std::vector<std::string> build_c_source(const ArtifactInfo& info, const fs::path& program) {
  std::vector<std::string> command = {"clang-19",
                                      "--target=" + blob_triple(info.target),
                                      "-fuse-ld=lld",
                                      "-static",
                                      "-std=gnu11",
                                      "-O2",
                                      "-I" + info.folder.string(),
                                      "-o",
                                      program.string()};
  for (const auto& entry : fs::recursive_directory_iterator(info.folder)) {
    if (entry.path().extension() == ".c") command.push_back(entry.path().string());
  }
  command.emplace_back("-lm");
  return command;
}

}  // namespace

std::string output_file(const ArtifactInfo& info, size_t o) {
  std::vector<std::string> names;
  for (size_t i = 0; i <= o; i++) {
    std::string& name = names.emplace_back(info.outputs[i].name);
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._-", c) ? c : '_';
  }
  const bool taken = std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1;
  return taken ? fmt::format("{}~{}.npy", names.back(), o) : names.back() + ".npy";
}

double port_bytes(const std::vector<ArtifactInfo::Port>& ports) {
  double sum = 0;
  for (const ArtifactInfo::Port& port : ports) sum += static_cast<double>(bytes(port.type));
  return sum;
}

double run_bytes(const ArtifactInfo& info) {
  return port_bytes(info.inputs) + port_bytes(info.outputs) + static_cast<double>(info.arena_bytes);
}

bool runs_in_process(const ArtifactInfo& info) { return info.emit == "so" && info.target.emulator.empty(); }

OpenedModel::OpenedModel(const ArtifactInfo& info) {
  handle_ = dlopen(fs::absolute(info.file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) fail("cannot open the artifact: {}", dlerror());
  model = symbol<decltype(&mcc_model_get)>(handle_, "mcc_model_get", info.file)();
  if (model->abi_version != MCC_ABI_VERSION)
    fail("{}: made by another version of mcc; compile it again", info.file.string());
  if (!fits(info.inputs, model->inputs, model->n_inputs) || !fits(info.outputs, model->outputs, model->n_outputs) ||
      info.threads != model->threads || std::ssize(info.kernels) != model->n_steps)
    fail("{}: is not the model that its manifest describes", info.file.string());
  run = symbol<mcc_run_fn>(handle_, "mcc_model_run", info.file);
  run_hooked = symbol<decltype(&mcc_model_run_hooked)>(handle_, "mcc_model_run_hooked", info.file);
  runtime_create = symbol<decltype(&mcc_runtime_create)>(handle_, "mcc_runtime_create", info.file);
  runtime_destroy = symbol<decltype(&mcc_runtime_destroy)>(handle_, "mcc_runtime_destroy", info.file);
}

OpenedModel::~OpenedModel() {
  if (handle_) dlclose(handle_);
}

std::vector<std::string> program_command(const ArtifactInfo& info, const fs::path& scratch) {
  fs::path program = info.file;
  if (info.emit == "c") {
    program = scratch / "program";
    const ProcessResult built = run_process(build_c_source(info, program), kRunLimitS);
    if (built.exit_code != 0)
      throw JobError(fmt::format("{}: the C source does not build: {}", info.folder.string(), built.err));
  } else if (info.emit != "exe") {
    program = scratch / "program";
    link_runner(info.file, info.target, scratch, program);
  }
  std::vector<std::string> command = info.target.emulator;
  command.push_back(fs::absolute(program).string());
  return command;
}

std::vector<Tensor> run_once(const ArtifactInfo& info, const std::vector<Tensor>& inputs, int threads) {
  MCC_CHECK(inputs.size() == info.inputs.size());
  return runs_in_process(info) ? run_in_process(info, inputs, threads) : run_program(info, inputs, threads);
}

}  // namespace mcc
