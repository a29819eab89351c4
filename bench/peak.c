// What this machine can do, measured: multiply-adds of one thread at the widest vectors it has (independent
// accumulators, nothing else), and bytes read from memory by one thread. One JSON object on standard output.
//   cc -O2 -march=native bench/peak.c -o peak && ./peak
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__AVX512F__)
enum { LANES = 16 };
#define FMA(n) "vfmadd231ps %%zmm30, %%zmm31, %%zmm" #n "\n"
#elif defined(__AVX2__)
enum { LANES = 8 };
#define FMA(n) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #n "\n"
#elif defined(__aarch64__)
enum { LANES = 4 };
#define FMA(n) "fmla v" #n ".4s, v14.4s, v15.4s\n"
#else
#error "no vector multiply-add known for this machine"
#endif
#if defined(__x86_64__)
#define WRITTEN "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11"
#else
#define WRITTEN "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11"
#endif

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static int by_value(const void* a, const void* b) {
  const double d = *(const double*)a - *(const double*)b;
  return (d > 0) - (d < 0);
}

static void fma_burst(long n) {
  for (long i = 0; i < n; i++)
    __asm__ volatile(FMA(0) FMA(1) FMA(2) FMA(3) FMA(4) FMA(5) FMA(6) FMA(7) FMA(8) FMA(9) FMA(10) FMA(11)
                     : /* no output */
                     : /* no input */
                     : WRITTEN);
}

int main(void) {
  enum { BURSTS = 20, MEMORY = 256 << 20 };
  double rate[BURSTS], bandwidth[5];
  for (int b = 0; b < BURSTS; b++) {
    const long n = 3000000;
    const double start = now();
    fma_burst(n);
    rate[b] = n * 12.0 * LANES * 2 / (now() - start) / 1e9;
  }
  long* memory = malloc(MEMORY);
  memset(memory, 1, MEMORY);
  long sum = 0;
  for (int b = 0; b < 5; b++) {
    const double start = now();
    for (const long* at = memory; at < memory + MEMORY / sizeof(long); at += 8)
      sum += at[0] + at[1] + at[2] + at[3] + at[4] + at[5] + at[6] + at[7];
    bandwidth[b] = MEMORY / (now() - start) / 1e9;
  }
  qsort(rate, BURSTS, sizeof *rate, by_value);
  qsort(bandwidth, 5, sizeof *bandwidth, by_value);
  printf("{\"lanes\": %d, \"fma_gflops_best\": %.1f, \"fma_gflops_median\": %.1f, ", LANES, rate[BURSTS - 1],
         rate[BURSTS / 2]);
  printf("\"read_gbs\": %.1f, \"check\": %ld}\n", bandwidth[4], sum & 1);
}
