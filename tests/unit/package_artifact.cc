// Whole artifacts of a small hand-made model: every form of --emit, this machine and the emulated ones, equal bytes
// each time, and the care taken of folders. Also the look of the ELF objects that we write ourselves.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "graph/npy.h"
#include "loop/build.h"
#include "package/artifact_info.h"
#include "package/elf.h"
#include "package/link.h"
#include "package/package.h"
#include "runtime/mcc_runtime.h"

namespace mcc {
namespace {

namespace fs = std::filesystem;

// out = relu(in * w) for in[3,8], w[8,5]; and out2 = in, which has to be copied.
loop::Func matmul_relu() {
  loop::FuncBuilder b("matmul");
  const int x = b.input("x", DType::f32, {3, 8}), w = b.constant_input("w", DType::f32, {8, 5}),
            y = b.output("y", DType::f32, {3, 5});
  const int t = b.temp("t", DType::f32, {3, 5});
  b.reduce("matmul", {3, 5}, {8}, t, loop::StoreOp::add, loop::const_float(0),
           [&](const loop::Vars& s, const loop::Vars& r) { return b.load(x, {s[0], r[0]}) * b.load(w, {r[0], s[1]}); });
  b.block("relu", {3, 5}, y, [&](const loop::Vars& v) { return loop::max(b.load(t, v), loop::const_float(0)); });
  return b.take();
}

Tensor weights() {
  Tensor w({DType::f32, {8, 5}});
  for (i64 i = 0; i < w.size(); i++) w.set(i, static_cast<double>(i % 7) - 3);
  return w;
}

constexpr int kNumber = 2;  // of the input: the model file's two before it are bound

LoweredModel small_model() {
  LoweredModel model;
  Graph& g = model.graph;
  const ValueId in = g.add_value("in", {DType::f32, {3, 8}}), w = g.add_constant("w", weights()),
                out = g.add_value("out:0", {DType::f32, {3, 5}});
  g.inputs = {in}, g.outputs = {out, in};
  g.values[static_cast<size_t>(in)].number = kNumber;
  model.calls.push_back({matmul_relu(), {in, w, out}, {"MatMul", "Relu"}});
  model.views.resize(g.values.size());
  return model;
}

TEST(Package, ConstantsStayInACacheTwiceTheirSize) {
  Target target = find_target("x86-64-v3");
  const i64 bytes = 8 * 5 * 4;
  target.l2_bytes = bytes, target.l3_bytes = 2 * bytes;
  EXPECT_TRUE(constants_stay(small_model(), target));
  target.l3_bytes = 2 * bytes - 1;
  EXPECT_FALSE(constants_stay(small_model(), target));
}

Artifact make(const std::string& target, const std::string& emit, const fs::path& out) {
  PackageOptions options;
  options.target = find_target(target);
  options.target.cores = 2;
  options.emit = emit;
  options.model_name = "small";
  options.out_dir = out;
  return package(small_model(), options);
}

std::vector<float> expected(const Tensor& in) {
  const Tensor w = weights();
  std::vector<float> y;
  for (i64 i = 0; i < 3; i++) {
    for (i64 j = 0; j < 5; j++) {
      double sum = 0;
      for (i64 k = 0; k < 8; k++) sum += in.get(i * 8 + k) * w.get(k * 5 + j);
      y.push_back(static_cast<float>(std::max(sum, 0.0)));
    }
  }
  return y;
}

void expect_right(std::span<const float> got, const Tensor& in) {
  const std::vector<float> want = expected(in);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); i++) EXPECT_NEAR(got[i], want[i], 1e-5);
}

void run_program_and_check(std::vector<std::string> command) {
  const TempDir dir;
  command.insert(command.end(), {"--repeat=2", "--json", "--output=" + dir.path().string()});
  const ProcessResult result = run_process(command, 60);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report.at("runs"), 2);
  EXPECT_EQ(report.at("outputs").at(0).at("shape"), (std::vector<int>{3, 5}));
  const Tensor in = random_input({DType::f32, {3, 8}}, "in", kNumber, 1);
  const Tensor out = read_npy(dir.path() / "out_0.npy"), copy = read_npy(dir.path() / "in.npy");
  expect_right(out.data<float>(), in);
  EXPECT_EQ(compare(copy, in).max_abs_error, 0);
}

TEST(Artifact, SharedObjectRunsInProcess) {
  const TempDir dir;
  make("host", "so", dir.path() / "m");
  void* handle = dlopen((dir.path() / "m/model.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  const mcc_model* model = reinterpret_cast<decltype(&mcc_model_get)>(dlsym(handle, "mcc_model_get"))();
  EXPECT_STREQ(model->name, "small");
  EXPECT_EQ(model->n_outputs, 2);
  EXPECT_STREQ(model->outputs[0].name, "out:0");
  EXPECT_EQ(model->outputs[0].shape[1], 5);
  EXPECT_EQ(dlsym(handle, "small_weights"), nullptr);  // hidden
  const Tensor in = random_input({DType::f32, {3, 8}}, "in", 0, 5);
  Tensor out({DType::f32, {3, 5}}), copy({DType::f32, {3, 8}}), arena({DType::u8, {model->arena_bytes}});
  const void* ins[] = {in.bytes()};
  void* outs[] = {out.bytes(), copy.bytes()};
  EXPECT_EQ(reinterpret_cast<decltype(&mcc_model_run)>(dlsym(handle, "mcc_model_run"))(model, ins, outs, arena.bytes(),
                                                                                       nullptr),
            MCC_OK);
  expect_right(out.data<float>(), in);
  EXPECT_EQ(compare(copy, in).max_abs_error, 0);
  dlclose(handle);
}

TEST(Artifact, ManifestIsReadBack) {
  const TempDir dir;
  const Artifact artifact = make("rpi4", "so", dir.path() / "m");
  const ArtifactInfo info = read_artifact(dir.path() / "m");
  EXPECT_EQ(info.file, dir.path() / "m" / "model.so");
  EXPECT_EQ(info.target.triple, find_target("rpi4").triple);
  EXPECT_EQ(info.threads, 2);
  ASSERT_EQ(info.inputs.size(), 1u);
  EXPECT_EQ(info.inputs[0].number, kNumber);
  EXPECT_EQ(info.outputs.at(0).name, "out:0");
  EXPECT_EQ(to_string(info.outputs.at(0).type), "f32[3,5]");
  EXPECT_EQ(info.kernels.at(0).nodes, (std::vector<std::string>{"MatMul", "Relu"}));
  EXPECT_EQ(info.weight_bytes, artifact.weight_bytes);
}

TEST(Artifact, DamagedManifestsAreRefused) {
  const TempDir dir;
  make("host", "so", dir.path() / "m");
  const auto good = nlohmann::json::parse(read_file(dir.path() / "m/manifest.json"));
  const auto refused = [](const nlohmann::json& json) {
    EXPECT_THROW(artifact_from_manifest(json.dump(), "m"), Error) << json.dump();
  };
  for (const auto& [key, value] : good.items()) {
    SCOPED_TRACE(key);
    const bool needed = !std::set<std::string>{"mcc", "abi", "model", "code_bytes", "hashes"}.contains(key);
    for (const nlohmann::json& wrong :
         {nlohmann::json(), nlohmann::json(-1), nlohmann::json("x"), nlohmann::json({1})}) {
      nlohmann::json damaged = good;
      damaged[key] = wrong;
      if (needed) refused(damaged);
    }
  }
  for (const nlohmann::json& shape :
       {nlohmann::json{-1, 5}, nlohmann::json{3}, nlohmann::json{i64{1} << 40, i64{1} << 40}}) {
    nlohmann::json damaged = good;
    damaged["outputs"][0]["shape"] = shape;
    refused(damaged);
  }
  EXPECT_THROW(artifact_from_manifest(std::string(100000, '['), "m"), Error);
}

TEST(Artifact, ProgramsRunHereAndEmulated) {
  for (const char* target : {"host", "rpi4", "rv64gcv"}) {
    SCOPED_TRACE(target);
    const TempDir dir;
    make(target, "exe", dir.path() / "m");
    std::vector<std::string> command = find_target(target).emulator;
    command.push_back((dir.path() / "m/model").string());
    run_program_and_check(command);
  }
}

TEST(Artifact, LibrariesLinkIntoPrograms) {
  for (const auto& [target, emit, file] : {std::tuple{"rpi4", "so", "model.so"},
                                           {"rv64gcv", "so", "model.so"},
                                           {"host", "a", "model.a"},
                                           {"host", "obj", "model.o"}}) {
    SCOPED_TRACE(std::string(target) + " " + emit);
    const TempDir dir;
    make(target, emit, dir.path() / "m");
    link_runner(dir.path() / "m" / file, find_target(target), dir.path(), dir.path() / "program");
    std::vector<std::string> command = find_target(target).emulator;
    command.push_back((dir.path() / "program").string());
    run_program_and_check(command);
  }
}

TEST(Artifact, CSourceBuilds) {
  const TempDir dir;
  make("host", "c", dir.path() / "m");
  const ProcessResult built =
      run_process({"make", "-s", "-C", (dir.path() / "m").string(), "CC=clang-19", "CFLAGS=-O1"}, 120);
  ASSERT_EQ(built.exit_code, 0) << built.err;
  run_program_and_check({(dir.path() / "m/model").string()});
}

TEST(Artifact, ByteIdentical) {
  const TempDir a, b;
  for (const char* emit : {"so", "a", "obj", "exe", "c"}) {
    make("x86-64-v3", emit, a.path() / emit);
    make("x86-64-v3", emit, b.path() / emit);
    for (const auto& entry : fs::recursive_directory_iterator(a.path() / emit)) {
      if (!entry.is_regular_file()) continue;
      EXPECT_EQ(read_file(entry.path()), read_file(b.path() / fs::relative(entry.path(), a.path()))) << entry.path();
    }
  }
}

TEST(Artifact, ManifestTells) {
  const TempDir dir;
  const Artifact artifact = make("x86-64-v3", "so", dir.path() / "m");
  const auto manifest = nlohmann::json::parse(read_file(dir.path() / "m/manifest.json"));
  EXPECT_EQ(manifest.at("peak_arena_bytes"), artifact.arena_bytes);
  EXPECT_GT(artifact.code_bytes, 0);
  EXPECT_GE(artifact.weight_bytes, 160);
  EXPECT_EQ(manifest.at("kernels").size(), 2u);
  EXPECT_EQ(manifest.at("kernels").at(0).at("record"), "default");
  EXPECT_GT(manifest.at("kernels").at(0).at("flops"), 0);
  EXPECT_GT(manifest.at("kernels").at(0).at("bytes"), 0);
  EXPECT_EQ(manifest.at("inputs").at(0).at("name"), "in");
  EXPECT_EQ(manifest.at("inputs").at(0).at("number"), kNumber);
  EXPECT_EQ(manifest.at("outputs").at(1).at("number"), 1);
  EXPECT_TRUE(manifest.at("hashes").at("files").contains("model.so"));
}

TEST(Artifact, FoldersAreReplacedWholeOrLeftAlone) {
  const TempDir dir;
  make("host", "exe", dir.path() / "m");
  make("host", "so", dir.path() / "m");
  EXPECT_FALSE(fs::exists(dir.path() / "m/model"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()), 1);
  write_file(dir.path() / "m/thesis.txt", "irreplaceable");
  EXPECT_THROW(make("host", "so", dir.path() / "m"), Error);
  EXPECT_TRUE(fs::exists(dir.path() / "m/thesis.txt"));
  EXPECT_THROW(make("host", "so", dir.path() / "no/such/parent"), Error);
  EXPECT_THROW(make("host", "zip", dir.path() / "z"), Error);
}

std::vector<Elf64_Phdr> loaded_segments(const std::string& object) {
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  std::memcpy(segments.data(), object.data() + header.e_phoff, segments.size() * sizeof segments[0]);
  std::erase_if(segments, [](const Elf64_Phdr& segment) { return segment.p_type != PT_LOAD; });
  return segments;
}

TEST(Link, LargeProgramsAreLinkedForHugePages) {
  for (const u64 weight_bytes : {u64(4096), 3 * kHugePage}) {
    const TempDir dir;
    ElfData data;
    data.section = ".rodata.test";
    data.bytes = static_cast<i64>(weight_bytes);
    data.symbols = {{"mcc_model_get", 0, data.bytes}};
    const Target target = find_target("host");
    const Files runtime = write_runtime(dir.path(), target, false);
    write_elf(dir.path() / "weights.o", elf_machine(read_file(runtime.at(0))), data);
    const Files others(runtime.begin() + 1, runtime.end());  // the first one defines mcc_model_get, too
    link_shared({dir.path() / "weights.o"}, others, target, dir.path(), dir.path() / "model.so");
    EXPECT_EQ(fs::status(dir.path() / "model.so").permissions() & fs::perms::owner_all, fs::perms::owner_all);
    for (const Elf64_Phdr& segment : loaded_segments(read_file(dir.path() / "model.so")))
      EXPECT_EQ(segment.p_align, weight_bytes < kHugePage ? 4096 : kHugePage);
  }
}

TEST(Elf, ObjectsCarryContentAndSymbols) {
  const TempDir dir;
  ElfData data;
  data.section = ".rodata.test";
  data.bytes = 128;
  data.pieces = {{0, "abc"}, {64, "xyz"}};
  data.symbols = {{"test_data", 0, 128}};
  write_elf(dir.path() / "t.o", {EM_RISCV, 5}, data);
  const std::string object = read_file(dir.path() / "t.o");
  EXPECT_EQ(elf_machine(object).machine, EM_RISCV);
  EXPECT_EQ(elf_machine(object).flags, 5u);
  EXPECT_EQ(elf_code_bytes(object), 0);
  EXPECT_EQ(object.substr(64, 3), "abc");
  EXPECT_EQ(object.substr(128, 3), "xyz");
  EXPECT_NE(object.find("test_data"), std::string::npos);
}

}  // namespace
}  // namespace mcc
