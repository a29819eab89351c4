// A device, as data: what the code generator may use, what the schedule rules and the analytic cost model must know,
// and how binaries for it are linked and run. A machine is a row in machines.cc or a user's JSON file with the same
// keys.
#pragma once
#include <string>
#include <vector>

#include "base/base.h"

namespace mcc {

struct Target {
  std::string name;      // "host", "x86-64-v3", "rpi4", "rv64gcv", ...
  std::string triple;    // LLVM target triple
  std::string cpu;       // LLVM CPU name
  std::string features;  // LLVM feature string, "+avx2,+fma" ; never taken from the build machine except for host
  std::string abi;       // calling convention where the triple leaves it open: "lp64d" on RISC-V, else ""
  int cores = 1;         // default number of threads of an artifact

  i64 vector_bytes = 16;  // width of one vector register as codegen should use it
  int vector_registers = 16;
  bool masked_memory = false;      // masked vector loads and stores are cheap (AVX-512, SVE, RVV)
  bool broadcast_operand = false;  // FMA can take a broadcast memory operand (AVX-512), so broadcasts need no register

  double ghz = 2.0;          // sustained clock
  double fma_per_cycle = 1;  // vector FMAs started per cycle
  double loads_per_cycle = 2;
  int fma_latency = 4;
  i64 l1_bytes = 32 << 10, l2_bytes = 512 << 10, l3_bytes = 0;  // data, per core (l3: share of one core)
  double l2_bytes_per_cycle = 32, l3_bytes_per_cycle = 10, memory_gbs = 10;
  // Constants of so many bytes and more come from memory in each run. Not a key of the JSON: each model decides
  // (Task::warm).
  i64 cold_bytes = 512 << 10;

  // For stand-alone programs of a cross target, e.g. "/usr/aarch64-linux-gnu"; "" is this machine's.
  std::string sysroot;
  // Command prefix that runs its programs here, e.g. {"qemu-aarch64", "-L", ...}; {} runs natively.
  std::vector<std::string> emulator;

  i64 lanes(i64 element_bytes) const { return vector_bytes / element_bytes; }
  bool operator==(const Target&) const = default;
};

Target host();                                             // this machine, read from cpuid and /sys
Target find_target(const std::string& name_or_json_file);  // throws Error listing the known names
std::vector<std::string> target_names();
std::string to_json(const Target& target);  // one object, keys as the fields above
// Unknown or missing keys: Error naming them; "base": NAME takes a row's values first.
Target target_from_json(std::string_view text);
// What must be equal for measurements to be comparable: "x86_64-linux-gnu/znver5/+avx2,.../2 cores".
std::string device_key(const Target& target);

}  // namespace mcc
