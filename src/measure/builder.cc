#include "measure/builder.h"

#include <tbb/parallel_for.h>

#include "base/file.h"
#include "base/process.h"
#include "codegen/codegen.h"
#include "loop/loop_ops.h"
#include "schedule/space.h"

namespace mcc {
namespace {

constexpr double kLinkLimitS = 60;

struct Compiled {
  std::string object;  // empty when it failed
  CandidateJob job;
  Result failure;
};

Compiled compile_one(const Task& task, const Trace& trace, std::string symbol) {
  Compiled compiled;
  try {
    const Applied applied = mcc::apply(task.func, trace);
    if (!applied.func) {
      compiled.failure = {Outcome::illegal, {}, applied.why_not};
      return compiled;
    }
    std::string why = loop::verify(*applied.func);
    if (why.empty()) why = check_scheduled(*applied.func, task.target);
    if (!why.empty()) {
      compiled.failure = {Outcome::illegal, {}, std::move(why)};
      return compiled;
    }
    compiled.job = candidate_job(*applied.func, symbol, task.target.cores);
    const KernelSource source{&*applied.func, std::move(symbol)};
    compiled.object = compile_object({&source, 1}, task.target);
  } catch (const std::exception& error) {
    compiled.failure = {Outcome::build_error, {}, error.what()};
    compiled.object.clear();
  }
  return compiled;
}

// One shared object of all parts; throws JobError with the linker's words.
void link(const std::vector<std::filesystem::path>& objects, const std::filesystem::path& library) {
  // With so little to link it is the linker's own start that counts: 0.01 s of mold, 0.07 s of LLVM's.
  std::vector<std::string> argv = {find_program({"mold", "ld.lld-19", "ld.lld"}), "-shared", "-o", library.string(),
                                   "--allow-shlib-undefined"};
  for (const auto& object : objects) argv.push_back(object.string());
  const ProcessResult linked = run_process(argv, kLinkLimitS);
  if (linked.exit_code != 0) throw JobError(fmt::format("linking failed: {}", linked.err));
}

}  // namespace

CandidateJob candidate_job(const loop::Func& func, std::string symbol, int threads) {
  CandidateJob job;
  job.symbol = std::move(symbol);
  job.scratch_bytes = scratch_bytes(func, threads);
  for (const int id : loop::params(func)) job.params.push_back(func.buffer(id));
  return job;
}

Built build(const Task& task, std::span<const Trace> traces, const std::filesystem::path& folder,
            std::string& reference_object) {
  std::vector<Compiled> compiled(traces.size());
  tbb::parallel_for(size_t{0}, traces.size(),
                    [&](size_t i) { compiled[i] = compile_one(task, traces[i], fmt::format("candidate_{}", i)); });
  Built built;
  built.reference = candidate_job(task.func, "reference", task.target.cores);
  if (reference_object.empty()) {
    try {
      const KernelSource source{&task.func, "reference"};
      reference_object = compile_object({&source, 1}, task.target);
    } catch (const std::exception& error) {
      built.failures.assign(traces.size(),
                            {Outcome::build_error, {}, fmt::format("the reference program: {}", error.what())});
      built.candidates.resize(traces.size());
      return built;
    }
  }
  std::vector<std::filesystem::path> objects = {folder / "reference.o"};
  write_file(objects[0], reference_object);
  for (size_t i = 0; i < compiled.size(); i++) {
    built.failures.push_back(compiled[i].failure);
    built.candidates.emplace_back();
    if (compiled[i].object.empty()) continue;
    objects.push_back(folder / fmt::format("{}.o", i));
    write_file(objects.back(), compiled[i].object);
    built.candidates.back() = std::move(compiled[i].job);
  }
  if (objects.size() == 1) return built;
  built.library = folder / "batch.so";
  link(objects, built.library);
  return built;
}

}  // namespace mcc
