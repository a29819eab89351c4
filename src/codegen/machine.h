// LLVM modules -> machine code for a Target. Private to this folder.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "codegen/codegen.h"
#include "codegen/emitter.h"

namespace mcc::codegen {

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target, const CodegenOptions& options);
Isa isa_of(const Target& target, const llvm::TargetMachine& machine);
void prepare(llvm::Module& module, llvm::TargetMachine& machine);  // triple, data layout, flags
void optimize(llvm::Module& module, llvm::TargetMachine& machine, int opt_level);
std::string emit(llvm::Module& module, llvm::TargetMachine& machine, bool assembly);

}  // namespace mcc::codegen
