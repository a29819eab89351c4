// The machine that mcc runs on, as a Target: which instructions the kernel lets programs use (/proc/cpuinfo), how large
// the caches are (/sys, and cpuid where a virtual machine hides /sys), how many cores this process may use. The feature
// list is spelled out, so that a virtual machine which masks features of its processor model is described as it is.
#include <sched.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <filesystem>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "target/target.h"

namespace mcc {
namespace {

namespace fs = std::filesystem;

// The value of the first "key : value" line of /proc/cpuinfo; "" if there is none.
std::string cpuinfo(std::string_view key) {
  for (const std::string& line : split(read_file("/proc/cpuinfo"), '\n')) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && trim(std::string_view(line).substr(0, colon)) == key)
      return std::string(trim(std::string_view(line).substr(colon + 1)));
  }
  return "";
}

int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

struct FeatureName {
  std::string_view kernel, llvm;
};

#if defined(__x86_64__)
constexpr FeatureName kFeatureNames[] = {
    {"pni", "sse3"},
    {"ssse3", "ssse3"},
    {"sse4_1", "sse4.1"},
    {"sse4_2", "sse4.2"},
    {"popcnt", "popcnt"},
    {"cx16", "cx16"},
    {"avx", "avx"},
    {"f16c", "f16c"},
    {"fma", "fma"},
    {"avx2", "avx2"},
    {"bmi1", "bmi"},
    {"bmi2", "bmi2"},
    {"abm", "lzcnt"},
    {"movbe", "movbe"},
    {"gfni", "gfni"},
    {"vaes", "vaes"},
    {"vpclmulqdq", "vpclmulqdq"},
    {"avx_vnni", "avxvnni"},
    {"avx512f", "avx512f"},
    {"avx512f", "evex512"},
    {"avx512cd", "avx512cd"},
    {"avx512bw", "avx512bw"},
    {"avx512dq", "avx512dq"},
    {"avx512vl", "avx512vl"},
    {"avx512ifma", "avx512ifma"},
    {"avx512vbmi", "avx512vbmi"},
    {"avx512_vbmi2", "avx512vbmi2"},
    {"avx512_vnni", "avx512vnni"},
    {"avx512_bitalg", "avx512bitalg"},
    {"avx512_vpopcntdq", "avx512vpopcntdq"},
    {"avx512_bf16", "avx512bf16"},
    {"avx512_fp16", "avx512fp16"},
};
#else
constexpr FeatureName kFeatureNames[] = {
    {"fp", "fp-armv8"}, {"asimd", "neon"}, {"fphp", "fullfp16"}, {"asimddp", "dotprod"},  {"asimdrdm", "rdm"},
    {"atomics", "lse"}, {"i8mm", "i8mm"},  {"bf16", "bf16"},     {"asimdfhm", "fp16fml"},
};
#endif

std::string llvm_features(const std::set<std::string>& flags) {
  std::vector<std::string> features;
  for (const FeatureName& feature : kFeatureNames)
    if (flags.contains(std::string(feature.kernel))) features.push_back(fmt::format("+{}", feature.llvm));
  return join(features, ",");
}

bool has_all(const std::set<std::string>& flags, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (!flags.contains(name)) return false;
  return true;
}

struct Cache {
  int level = 0;
  i64 bytes = 0;
  int sharing = 1;  // number of processors that share it
};

i64 count_cpu_list(std::string_view list) {  // "0-3,8" -> 5
  i64 count = 0;
  for (const std::string& range : split(trim(list), ',')) {
    const size_t dash = range.find('-');
    const auto first = to_i64(range.substr(0, dash));
    const auto last = dash == std::string::npos ? first : to_i64(range.substr(dash + 1));
    if (first && last && *last >= *first) count += *last - *first + 1;
  }
  return std::max<i64>(count, 1);
}

std::vector<Cache> caches_from_sys() {
  std::vector<Cache> caches;
  for (int i = 0; fs::exists(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", i)); i++) {
    const auto text = [&](std::string_view file) {
      const fs::path path = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/{}", i, file);
      return fs::exists(path) ? std::string(trim(read_file(path))) : std::string();
    };
    std::string size = text("size");
    if (text("type") == "Instruction" || size.empty()) continue;
    const i64 unit = size.back() == 'M' ? 1 << 20 : size.back() == 'K' ? 1 << 10 : 1;
    if (unit > 1) size.pop_back();
    caches.push_back({static_cast<int>(to_i64(text("level")).value_or(0)), to_i64(size).value_or(0) * unit,
                      static_cast<int>(count_cpu_list(text("shared_cpu_list")))});
  }
  return caches;
}

#if defined(__x86_64__)
// Intel's leaf 4 and AMD's leaf 0x8000001d have one layout: a sub-leaf per cache.
std::vector<Cache> caches_from_cpuid() {
  std::vector<Cache> caches;
  for (const unsigned leaf : {0x4u, 0x8000001du}) {
    for (unsigned sub = 0; sub < 8; sub++) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (!__get_cpuid_count(leaf, sub, &a, &b, &c, &d) || (a & 31) == 0) break;
      const bool instructions = (a & 31) == 2;
      const i64 bytes = i64{(b >> 22) + 1} * ((b >> 12 & 0x3ff) + 1) * ((b & 0xfff) + 1) * (i64{c} + 1);
      if (!instructions)
        caches.push_back({static_cast<int>(a >> 5 & 7), bytes, static_cast<int>((a >> 14 & 0xfff) + 1)});
    }
    if (!caches.empty()) break;
  }
  return caches;
}
#else
std::vector<Cache> caches_from_cpuid() { return {}; }
#endif

// A core by vendor and family (/proc/cpuinfo), for what a virtual machine hides or misreports. The numbers only rank
// schedules, and they must not change from one compile to the next, so nothing is measured at run time. Zen 5's are
// rounded measurements on one virtual machine, the others estimates.
struct Core {
  std::string_view vendor;
  i64 family;
  i64 l1_kib, l2_kib, l3_kib;
  double ghz, l2_bytes_per_cycle, l3_bytes_per_cycle, memory_gbs;
};
constexpr Core kCores[] = {
    {"AuthenticAMD", 0x1a, 48, 1024, 16384, 3.4, 48, 24, 25},  // Zen 5
    {"AuthenticAMD", 0x19, 32, 1024, 16384, 3.4, 32, 20, 20},  // Zen 3 and 4
    {"AuthenticAMD", 0x17, 32, 512, 8192, 3.0, 32, 16, 15},    // Zen and Zen 2
    {"GenuineIntel", 6, 48, 1280, 8192, 3.0, 48, 12, 12},      // Intel
    {"", 0, 32, 512, 4096, 2.5, 32, 10, 10},                   // any other
};

const Core& this_core() {
  const std::string vendor = cpuinfo("vendor_id");
  const i64 family = to_i64(cpuinfo("cpu family")).value_or(0);
  for (const Core& core : kCores) {
    if (core.vendor == vendor && core.family == family) return core;
  }
  return kCores[std::size(kCores) - 1];
}

double max_ghz() {
  const char* file = "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq";  // kHz
  std::error_code error;
  const double khz = fs::exists(file, error) ? to_double(trim(read_file(file))).value_or(0) : 0;
  return khz > 0 ? khz * 1e-6 : this_core().ghz;
}

void set_caches(Target& target) {
  const Core& core = this_core();
  target.l1_bytes = core.l1_kib << 10;
  target.l2_bytes = core.l2_kib << 10;
  target.l3_bytes = core.l3_kib << 10;
  target.l2_bytes_per_cycle = core.l2_bytes_per_cycle;
  target.l3_bytes_per_cycle = core.l3_bytes_per_cycle;
  target.memory_gbs = core.memory_gbs;
  std::vector<Cache> caches = caches_from_sys();
  if (caches.empty()) caches = caches_from_cpuid();
  for (const Cache& cache : caches) {
    if (cache.bytes <= 0) continue;
    if (cache.level == 1) target.l1_bytes = cache.bytes;
    if (cache.level == 2) target.l2_bytes = cache.bytes;
    if (cache.level == 3) target.l3_bytes = cache.bytes / std::max(1, cache.sharing);
  }
}

void set_instructions(Target& target) {
#if defined(__x86_64__)
  const std::vector<std::string> words = split_words(cpuinfo("flags"));
  const std::set<std::string> flags(words.begin(), words.end());
  const bool v3 = has_all(flags, {"avx2", "fma", "f16c", "bmi1", "bmi2", "movbe"});
  const bool v4 = v3 && has_all(flags, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  target.triple = "x86_64-linux-gnu";
  target.cpu = v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : "x86-64";
  target.features = llvm_features(flags) + (v4 ? ",-prefer-256-bit" : "");
  target.vector_bytes = v4 ? 64 : flags.contains("avx") ? 32 : 16;
  target.vector_registers = v4 ? 32 : 16;
  target.masked_memory = target.broadcast_operand = v4;
  target.fma_per_cycle = flags.contains("fma") ? 2 : 1;
#elif defined(__aarch64__)
  const std::vector<std::string> words = split_words(cpuinfo("Features"));
  target.triple = "aarch64-linux-gnu";
  target.cpu = "generic";
  target.features = llvm_features(std::set<std::string>(words.begin(), words.end()));
  target.vector_registers = 32;
  target.fma_per_cycle = 2;
#else
#error "host() knows x86-64 and AArch64 only; cross-compile for others"
#endif
}

}  // namespace

Target host() {
  Target target;
  target.name = "host";
  target.cores = allowed_cores();
  set_instructions(target);
  set_caches(target);
  target.ghz = max_ghz();
  return target;
}

}  // namespace mcc
