// See link.h. Nothing of the target's system is needed but for programs, which are linked statically with its C
// library, so that they run anywhere (an emulator included). A shared object names libc and libm as needed without
// having seen them: mcc carries empty stand-ins with their sonames. All commands are free of times, paths and
// build numbers, so equal inputs give equal bytes.
//
// Weights in huge pages: the first run of a large program spends more time on touching its 4 KiB pages one by one than
// on computing, and every run on translating their addresses. A file is mapped in pages of 2 MiB where file offsets
// and addresses agree modulo 2 MiB and the page cache holds it in pieces of that size, which it does (seen with
// ext4 on Linux 6.18) when it was written in large pieces; a linker writes through a mapping, page by page. So large
// programs are linked for such pages, in memory, and written in one piece.
#include "package/link.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "runtime/blobs.h"

namespace mcc {
namespace fs = std::filesystem;
namespace {

constexpr double kLinkLimitS = 600;

// A linker whose disk fills up dies of a signal without a word of it.
std::string why_failed(const ProcessResult& result, const Files& inputs, const fs::path& out) {
  u64 needed = 0;
  std::error_code ignored;
  for (const fs::path& input : inputs)
    if (fs::exists(input, ignored)) needed += fs::file_size(input, ignored);
  for (const fs::path& folder : {fs::absolute(out).parent_path(), fs::temp_directory_path(ignored)}) {
    const fs::space_info space = fs::space(folder, ignored);
    if (!ignored && space.available < needed)
      return fmt::format("the disk of {} is full: {} KiB are left, up to {} are needed", folder.string(),
                         space.available >> 10, needed >> 10);
  }
  return result.why_failed();
}

void run_tool(std::vector<std::string> argv, const Files& inputs, const fs::path& out) {
  for (const fs::path& input : inputs) argv.push_back(input.string());
  const ProcessResult result = run_process(argv, kLinkLimitS);
  if (result.exit_code != 0)
    throw JobError(
        fmt::format("{} failed: {}", fs::path(argv[0]).filename().string(), why_failed(result, inputs, out)));
}

bool is_worth_huge_pages(const Files& objects) {
  u64 bytes = 0;
  for (const fs::path& object : objects) bytes += fs::file_size(object);
  return bytes >= 2 * kHugePage;
}

// For lld: one option a line.
std::vector<std::string> huge_page_options() {
  return {fmt::format("-zmax-page-size={}", kHugePage), "--no-mmap-output-file"};
}

std::string lld() { return find_program({"ld.lld-19", "ld.lld"}); }

std::string emulation(const Target& target) {
  const std::string triple = blob_triple(target);
  if (triple.starts_with("x86_64")) return "elf_x86_64";
  return triple.starts_with("aarch64") ? "aarch64linux" : "elf64lriscv";
}

void link_with_libc(Files inputs, const Target& target, const std::vector<std::string>& options, const fs::path& out) {
  std::vector<std::string> command = {find_program({"clang-19", "clang"}),
                                      "--target=" + blob_triple(target),
                                      "-fuse-ld=lld",
                                      "-Wl,--build-id=none",
                                      "-Wl,--gc-sections",
                                      "-Wl,-z,noexecstack",
                                      "-o",
                                      out.string()};
  command.insert(command.end(), options.begin(), options.end());
  inputs.emplace_back("-lm");
  run_tool(command, inputs, out);
}

}  // namespace

std::string_view runtime_blob(const std::string& name) {
  for (int i = 0; i < mcc_blob_count; i++) {
    if (mcc_blobs[i].name == name) return {mcc_blobs[i].begin, mcc_blobs[i].end};
  }
  fail("this mcc was built without {}: install that target's C library headers and build mcc again", name);
}

std::string blob_triple(const Target& target) {
  for (const char* arch : {"x86_64", "aarch64", "riscv64"}) {
    if (target.triple.starts_with(arch)) return std::string(arch) + "-linux-gnu";
  }
  fail("target {}: no artifacts for {}; x86_64, aarch64 and riscv64 Linux are supported", target.name, target.triple);
}

Files write_runtime(const fs::path& folder, const Target& target, bool program) {
  std::vector<std::string> stems = {"get", "model", "serial", "threads", "wait"};
  if (program) stems.insert(stems.end(), {"main", "npy", "time_runs"});
  Files files;
  for (const std::string& stem : stems) {
    files.push_back(folder / ("mcc_" + stem + ".o"));
    write_file(files.back(), runtime_blob(blob_triple(target) + "/" + stem + ".o"));
  }
  return files;
}

void link_shared(const Files& objects, const Files& runtime, const Target& target, const fs::path& scratch,
                 const fs::path& out) {
  write_file(scratch / "exports.map",
             "{ global: mcc_model_get; mcc_model_run; mcc_model_run_hooked; mcc_runtime_create; mcc_runtime_destroy; "
             "mcc_runtime_serial; local: *; };\n");
  Files inputs = objects;
  inputs.insert(inputs.end(), runtime.begin(), runtime.end());
  for (const char* soname : {"libm.so.6", "libc.so.6"}) {
    inputs.push_back(scratch / soname);
    write_file(inputs.back(), runtime_blob(blob_triple(target) + "/" + soname));
  }
  std::vector<std::string> command = {lld(),
                                      "-m",
                                      emulation(target),
                                      "-shared",
                                      "-soname",
                                      "model.so",
                                      "--build-id=none",
                                      "--hash-style=gnu",
                                      "--gc-sections",
                                      "-z",
                                      "now",
                                      "-z",
                                      "relro",
                                      "-z",
                                      "noexecstack",
                                      "--no-as-needed",
                                      "--version-script=" + (scratch / "exports.map").string(),
                                      "-o",
                                      out.string()};
  if (is_worth_huge_pages(objects))
    for (std::string& option : huge_page_options()) command.push_back(std::move(option));
  run_tool(command, inputs, out);
}

void link_archive(const Files& objects, const fs::path& out) {
  run_tool({find_program({"llvm-ar-19", "llvm-ar"}), "rcsD", out.string()}, objects, out);
}

void link_object(const Files& objects, const fs::path& out) {
  run_tool({lld(), "-r", "--build-id=none", "-o", out.string()}, objects, out);
}

void link_program(const Files& objects, const Target& target, const fs::path& out) {
  std::vector<std::string> options = {"-static"};
  if (is_worth_huge_pages(objects))
    for (const std::string& option : huge_page_options()) options.push_back("-Wl," + option);
  link_with_libc(objects, target, options, out);
}

void link_runner(const fs::path& artifact, const Target& target, const fs::path& scratch, const fs::path& out) {
  Files inputs;
  for (const char* stem : {"main", "npy", "time_runs"}) {
    inputs.push_back(scratch / (std::string("mcc_") + stem + ".o"));
    write_file(inputs.back(), runtime_blob(blob_triple(target) + "/" + stem + ".o"));
  }
  inputs.push_back(fs::absolute(artifact));
  const std::string beside = "-Wl,-rpath," + fs::absolute(artifact).parent_path().string();
  link_with_libc(inputs, target, {artifact.extension() == ".so" ? beside : "-static"}, out);
}

}  // namespace mcc
