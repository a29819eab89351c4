// The machines mcc knows by name, as a table: one row per device. A row says what the code generator may emit and what
// the schedule rules and the analytic cost model must know. Numbers are from the vendors' optimisation guides; where a
// cache is shared by the cores, the row gives one core's share, because all cores work on the same kernel. A board that
// is missing here needs no code: a JSON file with "base" and the differences does (target_from_json).
#include "target/machines.h"

namespace mcc {
namespace {

Target x86_v3() {
  Target t;
  t.name = t.cpu = "x86-64-v3";
  t.triple = "x86_64-linux-gnu";
  t.features = "+avx2,+fma,+f16c";
  t.cores = 2;
  t.vector_bytes = 32;
  t.ghz = 3.0;
  t.fma_per_cycle = 2;
  t.l3_bytes = 2 << 20;
  t.memory_gbs = 12;
  return t;
}

Target x86_v4() {
  Target t = x86_v3();
  t.name = t.cpu = "x86-64-v4";
  t.features = "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,+evex512,-prefer-256-bit";
  t.vector_bytes = 64;
  t.vector_registers = 32;
  t.masked_memory = t.broadcast_operand = true;
  t.l2_bytes = 1 << 20;
  t.l2_bytes_per_cycle = 64;
  return t;
}

Target aarch64() {
  Target t;
  t.name = "aarch64";
  t.triple = "aarch64-linux-gnu";
  t.cpu = "generic";
  t.features = "+neon,+fp-armv8";
  t.cores = 4;
  t.vector_registers = 32;
  t.l2_bytes = 256 << 10;
  t.l2_bytes_per_cycle = 16;
  t.memory_gbs = 6;
  t.sysroot = "/usr/aarch64-linux-gnu";
  t.emulator = {"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"};
  return t;
}

Target rpi4() {
  Target t = aarch64();
  t.name = "rpi4";
  t.cpu = "cortex-a72";
  t.ghz = 1.5;
  t.loads_per_cycle = 1;
  t.fma_latency = 7;
  t.memory_gbs = 4;
  return t;
}

Target rpi5() {
  Target t = aarch64();
  t.name = "rpi5";
  t.cpu = "cortex-a76";
  t.features = "+neon,+fp-armv8,+fullfp16,+dotprod";
  t.ghz = 2.4;
  t.fma_per_cycle = 2;
  t.l1_bytes = 64 << 10;
  t.l2_bytes = 512 << 10;
  t.l3_bytes = 512 << 10;
  t.l2_bytes_per_cycle = 32;
  t.memory_gbs = 10;
  return t;
}

Target rv64gcv() {
  Target t;
  t.name = "rv64gcv";
  t.triple = "riscv64-linux-gnu";
  t.cpu = "generic-rv64";
  t.features = "+m,+a,+f,+d,+c,+v,+zvl128b";
  t.abi = "lp64d";
  t.cores = 4;
  t.vector_registers = 32;
  t.masked_memory = true;
  t.ghz = 1.6;
  t.loads_per_cycle = 1;
  t.l2_bytes = 256 << 10;
  t.l2_bytes_per_cycle = 16;
  t.memory_gbs = 4;
  t.sysroot = "/usr/riscv64-linux-gnu";
  t.emulator = {"qemu-riscv64", "-L", "/usr/riscv64-linux-gnu", "-cpu", "rv64,v=true,vlen=128,elen=64,vext_spec=v1.0"};
  return t;
}

}  // namespace

std::vector<Target> machine_table() { return {x86_v3(), x86_v4(), aarch64(), rpi4(), rpi5(), rv64gcv()}; }

}  // namespace mcc
