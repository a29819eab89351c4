// The entry points of codegen.h: one LLVM context, target machine and module a call.
#include "codegen/codegen.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/machine.h"

namespace mcc {

namespace {

std::string verify(const llvm::Module& module) {
  std::string why;
  llvm::raw_string_ostream out(why);
  return llvm::verifyModule(module, &out) ? why : "";
}

std::unique_ptr<llvm::Module> build_module(llvm::LLVMContext& context, std::span<const KernelSource> kernels,
                                           const Target& target, llvm::TargetMachine& machine) {
  auto module = std::make_unique<llvm::Module>("mcc", context);
  codegen::prepare(*module, machine);
  const codegen::Isa isa = codegen::isa_of(target, machine);
  for (const KernelSource& kernel : kernels) codegen::emit_kernel(*module, isa, *kernel.func, kernel.symbol);
  return module;
}

std::string compile(std::span<const KernelSource> kernels, const Target& target, const CodegenOptions& options,
                    bool assembly) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::TargetMachine> machine = codegen::make_machine(target, options);
  const std::unique_ptr<llvm::Module> module = build_module(context, kernels, target, *machine);
  codegen::optimize(*module, *machine, options.opt_level);
  return codegen::emit(*module, *machine, assembly);
}

}  // namespace

std::string compile_object(std::span<const KernelSource> kernels, const Target& target, const CodegenOptions& options) {
  return compile(kernels, target, options, false);
}

std::string compile_assembly(std::span<const KernelSource> kernels, const Target& target,
                             const CodegenOptions& options) {
  return compile(kernels, target, options, true);
}

std::string compile_llvm_ir(std::span<const KernelSource> kernels, const Target& target,
                            const CodegenOptions& options) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::TargetMachine> machine = codegen::make_machine(target, options);
  const std::unique_ptr<llvm::Module> module = build_module(context, kernels, target, *machine);
  const std::string wrong = verify(*module);
  if (!wrong.empty()) throw InternalError(fmt::format("codegen wrote malformed LLVM IR: {}", wrong));
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, nullptr);
  return text;
}

std::string compile_ir_text(std::string_view llvm_ir, const Target& target) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(llvm::StringRef(llvm_ir.data(), llvm_ir.size()), error, context);
  if (!module) throw JobError(fmt::format("LLVM IR, line {}: {}", error.getLineNo(), error.getMessage().str()));
  const std::string wrong = verify(*module);
  if (!wrong.empty()) throw JobError(fmt::format("LLVM IR: {}", wrong));
  const std::unique_ptr<llvm::TargetMachine> machine = codegen::make_machine(target, {});
  codegen::prepare(*module, *machine);
  return codegen::emit(*module, *machine, false);
}

}  // namespace mcc
