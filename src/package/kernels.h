// The machine code of a model: which kernels it needs, each once, and their objects.
#pragma once
#include <string>
#include <vector>

#include "package/package.h"

namespace mcc {

struct Kernel {
  std::string symbol;
  std::string task;  // key
  std::string record = "default";
  loop::Func func;  // scheduled
};
struct Kernels {
  std::vector<Kernel> kernels;        // in order of first use
  std::vector<int> of_call;           // call -> kernel
  std::vector<loop::Func> scheduled;  // one for each call, for planning
};
// Applies the trace of each task (options.traces, else the default). A logged trace that no longer applies gives way to
// the default.
Kernels schedule_kernels(const LoweredModel& model, const PackageOptions& options, const std::string& prefix);
// One object for each kernel, compiled in parallel; from options.objects where that has it.
std::vector<std::string> compile_kernels(const Kernels& kernels, const PackageOptions& options);

}  // namespace mcc
