// For tests of code generation: builds a Func into a shared object, loads it into this process and runs it on tensors.
#pragma once
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/process.h"
#include "base/rng.h"
#include "codegen/codegen.h"
#include "graph/tensor.h"
#include "loop/loop.h"
#include "runtime/mcc_runtime.h"

namespace mcc::test {

// Splits every range over threads of their own, unevenly, so that chunks start anywhere.
inline void threaded_parallel(mcc_runtime* rt, mcc_chunk_fn fn, void* ctx, int64_t n) {
  std::vector<std::thread> threads;
  for (int32_t t = 0; t < rt->threads; t++) {
    const int64_t begin = n * t * t / (rt->threads * rt->threads),
                  end = n * (t + 1) * (t + 1) / (rt->threads * rt->threads);
    threads.emplace_back([=] { fn(ctx, begin, end, t); });
  }
  for (std::thread& thread : threads) thread.join();
}

class Library {
 public:
  Library(std::span<const KernelSource> kernels, const Target& target, const CodegenOptions& options = {}) {
    const std::string object = dir_.path() / "k.o", shared = dir_.path() / "k.so";
    write_file(object, compile_object(kernels, target, options));
    const ProcessResult linked = run_process({"ld.lld-19", "-shared", "-o", shared, object}, 60);
    if (linked.exit_code != 0) throw JobError("ld.lld: " + linked.err);
    open(shared);
  }
  // From C source, with the system's compiler.
  explicit Library(const std::string& c_source) {
    const std::string source = dir_.path() / "k.c", shared = dir_.path() / "k.so";
    write_file(source, c_source);
    const ProcessResult built = run_process({"cc", "-std=c99", "-O0", "-ffp-contract=off", "-Wall", "-Werror",
                                             "-shared", "-fPIC", "-o", shared, source, "-lm"},
                                            60);
    if (built.exit_code != 0) throw JobError("cc: " + built.err);
    open(shared);
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void run(const std::string& symbol, const loop::Func& func, std::span<Tensor* const> params, int threads = 3) const {
    const mcc_kernel_fn kernel = reinterpret_cast<mcc_kernel_fn>(dlsym(handle_, symbol.c_str()));
    if (!kernel) throw JobError("no symbol " + symbol);
    std::vector<void*> args;
    for (Tensor* t : params) args.push_back(t->bytes());
    const i64 scratch_size = scratch_bytes(func, threads);
    Tensor scratch({DType::u8, {scratch_size + 64}});
    std::ranges::fill(scratch.data<u8>(), u8{0xa5});
    mcc_runtime rt = {threaded_parallel, threads};
    kernel(args.data(), reinterpret_cast<char*>(scratch.bytes()), &rt);
    for (i64 i = scratch_size; i < scratch_size + 64; i++)
      MCC_CHECK(scratch.data<u8>()[static_cast<size_t>(i)] == 0xa5);
  }

 private:
  void open(const std::string& shared) {
    handle_ = dlopen(shared.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) throw JobError(std::string("dlopen: ") + dlerror());
  }
  TempDir dir_;
  void* handle_ = nullptr;
};

// Small integers: sums and products stay exact whatever the order and contraction.
inline std::vector<Tensor> random_params(const loop::Func& func, Rng& rng) {
  std::vector<Tensor> tensors;
  for (const int p : loop::params(func)) {
    const loop::Buffer& buffer = func.buffers[static_cast<size_t>(p)];
    Tensor t({buffer.dtype, buffer.shape});
    for (i64 i = 0; i < t.size(); i++)
      t.set(i, static_cast<double>(rng.below(9)) - (is_unsigned(buffer.dtype) ? 0 : 4));
    tensors.push_back(std::move(t));
  }
  return tensors;
}

inline std::vector<Tensor*> pointers(std::vector<Tensor>& tensors) {
  std::vector<Tensor*> result;
  for (Tensor& t : tensors) result.push_back(&t);
  return result;
}

inline std::vector<Tensor> clone(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& t : tensors) result.push_back(t.clone());
  return result;
}

}  // namespace mcc::test
