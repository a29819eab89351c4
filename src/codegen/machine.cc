// The target machine, the pass list and the object writer.
//
// The IR arrives with loops rotated, vectors explicit and tiles unrolled, so a short list suffices: SROA turns register
// buffers into SSA values, EarlyCSE and InstCombine clean addresses, LICM hoists, and the code generator (loop strength
// reduction, FMA contraction) does the rest. LLVM's vectorisers, unroller and inliner never run.
#include "codegen/machine.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

namespace mcc::codegen {

namespace {

void initialize_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
  });
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target, const CodegenOptions& options) {
  initialize_targets();
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(target.triple, error);
  if (!llvm_target)
    throw JobError(fmt::format("target {}: LLVM does not know {}: {}", target.name, target.triple, error));
  llvm::TargetOptions machine_options;
  machine_options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  machine_options.FunctionSections = true;
  machine_options.MCOptions.ABIName = target.abi;
  const llvm::CodeGenOptLevel level =
      options.opt_level <= 1 ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> machine(llvm_target->createTargetMachine(
      target.triple, target.cpu, target.features, machine_options, llvm::Reloc::PIC_, std::nullopt, level));
  if (!machine) throw JobError(fmt::format("target {}: LLVM has no code generator for {}", target.name, target.triple));
  return machine;
}

Isa isa_of(const Target& target, const llvm::TargetMachine& machine) {
  const llvm::Triple& triple = machine.getTargetTriple();
  Isa isa;
  isa.vector_bytes = target.vector_bytes;
  isa.masked_memory = target.masked_memory;
  isa.x86 = triple.isX86();
  isa.half_conversions = triple.isAArch64() || (isa.x86 && machine.getMCSubtargetInfo()->checkFeatures("+f16c"));
  return isa;
}

void prepare(llvm::Module& module, llvm::TargetMachine& machine) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  const std::string abi = machine.Options.MCOptions.getABIName().str();
  if (!abi.empty())
    module.addModuleFlag(llvm::Module::Error, "target-abi", llvm::MDString::get(module.getContext(), abi));
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine, int opt_level) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::FunctionPassManager list;
  list.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  list.addPass(llvm::EarlyCSEPass(true));
  if (opt_level > 1) {
    list.addPass(llvm::SimplifyCFGPass());
    list.addPass(llvm::InstCombinePass());
    list.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    list.addPass(llvm::EarlyCSEPass(true));
  }
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(list)));
  all.run(module, modules);
}

std::string emit(llvm::Module& module, llvm::TargetMachine& machine, bool assembly) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  const llvm::CodeGenFileType type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type)) {
    throw JobError(
        fmt::format("LLVM cannot write {} for {}", assembly ? "assembly" : "objects", machine.getTargetTriple().str()));
  }
  passes.run(module);
  return std::string(bytes);
}

}  // namespace mcc::codegen
