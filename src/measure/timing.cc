#include "measure/timing.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mcc {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double clock_probe() {
  double best = 1;
  for (int burst = 0; burst < 3; burst++) {
    u64 x = 1;
    const double start = now_s();
    for (int i = 0; i < 200000; i++) {
      x = x * 6364136223846793005ull + 1442695040888963407ull;
      asm volatile("" : "+r"(x));
    }
    best = std::min(best, now_s() - start);
  }
  return best;
}

void evict(std::span<const std::byte> memory) {
#if defined(__x86_64__)
  for (size_t at = 0; at < memory.size(); at += 64) _mm_clflush(memory.data() + at);
  _mm_mfence();
#else
  static std::vector<std::byte> other(32 << 20);
  for (size_t at = 0; at < other.size(); at += 64) {
    other[at] = std::byte(1);
    asm volatile("" ::: "memory");
  }
  (void)memory;
#endif
}

// Reads more pages than any TLB has entries for. Nobody ever wrote to them, so all of them are one page of zeros and
// take no room in the caches.
void flush_tlb() {
  constexpr size_t kPage = 4096, kPages = 8192;
  static void* const pages =
      mmap(nullptr, kPage * kPages, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return;
  for (size_t i = 0; i < kPages; i++) (void)static_cast<const volatile std::byte*>(pages)[i * kPage];
}

double sample(const std::function<void()>& run, double one_run_s, const TimingOptions& options) {
  const bool cold = static_cast<bool>(options.before_run);
  const i64 runs =
      cold ? 1 : std::clamp<i64>(static_cast<i64>(options.min_sample_s / std::max(one_run_s, 1e-8)) + 1, 1, 100000);
  if (cold) options.before_run();
  const double start = now_s();
  for (i64 i = 0; i < runs; i++) run();
  return (now_s() - start) / static_cast<double>(runs);
}

std::vector<double> time_runs(const std::function<void()>& run, const TimingOptions& options) {
  for (int i = 0; i < options.warmup_runs; i++) run();
  const double first = sample(run, options.min_sample_s, options);
  if (options.give_up_s > 0 && first > options.give_up_s) return {first};
  std::vector<double> samples;
  for (int i = 0; i < options.repeats; i++) samples.push_back(sample(run, first, options));
  return samples;
}

}  // namespace mcc
