// The last stage of a compile, in order: give outputs a storage of their own, schedule the kernels, plan the memory,
// pack the weights, compile, write tables and weights as objects, link, describe, and put the finished folder in its
// place.
#include "package/package.h"

#include <cctype>

#include "base/file.h"
#include "base/hash.h"
#include "package/csource.h"
#include "package/folder.h"
#include "package/link.h"
#include "package/manifest.h"
#include "package/table.h"
#include "package/views.h"

namespace mcc {
namespace fs = std::filesystem;
namespace {

std::string identifier(const std::string& text) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out.insert(0, "m_");
  return out;
}

Contents decide(const LoweredModel& model, const PackageOptions& options) {
  Contents c;
  c.model = copied_outputs(model);
  c.options = options;
  c.name = identifier(options.model_name.empty() ? "model" : options.model_name);
  c.kernels = schedule_kernels(c.model, options, c.name);
  c.plan = plan_memory(c.model, c.kernels.scheduled, options.target.cores);
  c.weights = collect_weights(c.model, c.kernels.scheduled);
  return c;
}

// Compiles and links; returns the bytes of machine code.
i64 write_binary(const Contents& c, const fs::path& out) {
  const TempDir scratch;
  const bool program = c.options.emit == "exe";
  const Files runtime = write_runtime(scratch.path(), c.options.target, program);
  const ElfMachine machine = elf_machine(read_file(runtime.at(0)));
  const std::vector<std::string> compiled = compile_kernels(c.kernels, c.options);
  Files objects;
  i64 code_bytes = 0;
  for (size_t k = 0; k < compiled.size(); k++) {
    objects.push_back(scratch.path() / fmt::format("{}_k{:04}.o", c.name, k));
    write_file(objects.back(), compiled[k]);
    code_bytes += elf_code_bytes(compiled[k]);
  }
  objects.push_back(scratch.path() / (c.name + "_table.o"));
  write_table_object(objects.back(), machine, c);
  objects.push_back(scratch.path() / (c.name + "_weights.o"));
  write_weights_object(objects.back(), machine, c);
  if (c.options.emit == "so") {
    link_shared(objects, runtime, c.options.target, scratch.path(), out);
    return code_bytes;
  }
  objects.insert(objects.end(), runtime.begin(), runtime.end());
  if (program) link_program(objects, c.options.target, out);
  if (c.options.emit == "a") link_archive(objects, out);
  if (c.options.emit == "obj") link_object(objects, out);
  return code_bytes;
}

std::map<std::string, std::string> hash_files(const fs::path& folder) {
  std::map<std::string, std::string> hashes;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      hashes[fs::relative(entry.path(), folder).string()] = hash_hex(read_file(entry.path()));
  }
  return hashes;
}

}  // namespace

bool constants_stay(const LoweredModel& model, const Target& target) {
  std::map<ValueId, i64> bytes;
  for (const KernelCall& call : model.calls) {
    const std::vector<int> params = loop::params(call.func);
    for (size_t i = 0; i < call.args.size(); i++) {
      const loop::Buffer& b = call.func.buffer(params[i]);
      if (b.scope == loop::Scope::constant) bytes[call.args[i]] = elements(b.shape) * size_of(b.dtype);
    }
  }
  i64 sum = 0;
  for (const auto& [value, n] : bytes) sum += n;
  return sum <= std::max(target.l2_bytes, target.l3_bytes) / 2;
}

std::vector<Task> model_tasks(const LoweredModel& model, const Target& target, bool strict) {
  const bool warm = constants_stay(model, target);
  std::vector<Task> tasks;
  std::map<std::string, size_t> by_key;
  for (const KernelCall& call : copied_outputs(model).calls) {
    Task task = make_task(call.func, target, 1, strict, warm);
    const auto [found, fresh] = by_key.try_emplace(task.key, tasks.size());
    if (fresh)
      tasks.push_back(std::move(task));
    else
      tasks[found->second].weight += 1;
  }
  return tasks;
}

Sizes artifact_sizes(const LoweredModel& model, const PackageOptions& options) {
  const Contents c = decide(model, options);
  return {c.plan.arena_bytes, c.weights.bytes};
}

Artifact package(const LoweredModel& model, const PackageOptions& options) {
  const std::string file = main_file(options.emit);
  StagedFolder folder(options.out_dir);
  const Contents c = decide(model, options);
  ManifestFacts facts;
  if (options.emit == "c")
    write_c_source(folder.path(), c);
  else
    facts.code_bytes = write_binary(c, folder.path() / file);
  write_file(folder.path() / "model.h", model_header(c));
  facts.file_hashes = hash_files(folder.path());
  write_file(folder.path() / "manifest.json", manifest_json(c, facts));
  folder.commit();
  return {options.out_dir, c.plan.arena_bytes, c.weights.bytes, facts.code_bytes};
}

}  // namespace mcc
