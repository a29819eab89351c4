// Scheduled loop programs -> machine code, through LLVM. Only this folder knows LLVM.
//
// A kernel is `void symbol(void* const* args, char* scratch, mcc_runtime* rt)` (runtime/mcc_runtime.h): args are the
// Func's parameters in order (aligned to their element at least), scratch is 64-byte aligned memory of
// scratch_bytes(func, threads): the temp buffers, then each thread's local buffers. Kernels call nothing but
// rt->parallel, memset/memcpy and, for rare functions, libm.
#pragma once
#include <span>
#include <string>

#include "loop/loop.h"
#include "target/target.h"

namespace mcc {

struct KernelSource {
  const loop::Func* func = nullptr;
  std::string symbol;
};
struct CodegenOptions {
  int opt_level = 2;  // 1: little, so that tests see what was emitted; 2: everything that pays
};
// A relocatable ELF object with all the kernels. Thread safe (one LLVM context a call). Throws JobError when LLVM
// refuses.
std::string compile_object(std::span<const KernelSource> kernels, const Target& target, const CodegenOptions& = {});
// The same for people and tests.
std::string compile_assembly(std::span<const KernelSource> kernels, const Target& target, const CodegenOptions& = {});
// Before LLVM's passes.
std::string compile_llvm_ir(std::span<const KernelSource> kernels, const Target& target, const CodegenOptions& = {});
// A module written as text (the model's tables) -> object.
std::string compile_ir_text(std::string_view llvm_ir, const Target& target);

// C source of the same kernels (portable, no intrinsics): --emit=c.
std::string print_c(std::span<const KernelSource> kernels);

// Bytes of scratch a kernel needs when run by `threads` threads: temps + threads * locals, each part rounded up to 64.
i64 scratch_bytes(const loop::Func& func, int threads);

}  // namespace mcc
