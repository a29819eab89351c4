// The machine code of a model: which kernels it needs, each once, and their objects.
#pragma once
#include <string>
#include <vector>

#include "package/package.h"

namespace mcc {

struct Kernel {
  std::string symbol;
  std::string task;    // key
  std::string record;  // id, "given" (a trace of no record) or "default"
  loop::Func func;     // scheduled
};
struct Kernels {
  std::vector<Kernel> kernels;        // in order of first use
  std::vector<int> of_call;           // call -> kernel
  std::vector<loop::Func> scheduled;  // one for each call, for planning
};
// The scheduled program, verified, since a trace from a log may be from another version or another hand; or why not.
Applied apply_logged(const Task& task, const Trace& trace);
// Applies the trace of each task (options.traces, else the default). A trace that does not apply gives way to the
// default.
Kernels schedule_kernels(const LoweredModel& model, const PackageOptions& options, const std::string& prefix);
// One object for each kernel, compiled in parallel; from options.objects where that has it.
std::vector<std::string> compile_kernels(const Kernels& kernels, const PackageOptions& options);

}  // namespace mcc
