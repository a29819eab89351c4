// What a second thread costs here: the time a parallel loop of the runtime's pool adds to the work in it, after pauses
// of several lengths, and how fast one core reads and overwrites what the other one holds in its cache. The latter
// depends on where the cores are (in a virtual machine it can change within minutes) and decides which kernels gain by
// threads.
//   cc -O2 -march=native -pthread -Isrc bench/dispatch.c src/runtime/{threads,wait,serial}.c -o dispatch && ./dispatch
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/mcc_runtime.h"

enum { RUNS = 2001, KIB = 256 };

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void busy_us(double us) {
  const double start = now_us();
  while (now_us() - start < us) {
  }
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* samples) {
  qsort(samples, RUNS, sizeof *samples, by_value);
  return samples[RUNS / 2];
}

static void work(void* us, int64_t begin, int64_t end, int32_t thread) {
  (void)begin, (void)end, (void)thread;
  busy_us(*(const double*)us);
}

static double added_us(mcc_runtime* rt, double pause, double each) {
  static double samples[RUNS];
  for (int i = 0; i < RUNS; i++) {
    busy_us(pause);
    const double start = now_us();
    rt->parallel(rt, work, &each, 2);
    samples[i] = now_us() - start - each;
  }
  return median(samples);
}

typedef struct {
  char* memory;
  int32_t thread;  // that takes part
  int writes;
  double us;
} touch;

static void touch_all(void* context, int64_t begin, int64_t end, int32_t thread) {
  (void)begin, (void)end;
  touch* t = context;
  if (thread != t->thread) return;
  const double start = now_us();
  if (t->writes) {
    memset(t->memory, (int)start, KIB << 10);
  } else {
    long sum = 0;
    for (int i = 0; i < KIB << 10; i += 64) sum += t->memory[i];
    __asm__ volatile("" : : "r"(sum));
  }
  t->us = now_us() - start;
}

// GB/s of thread 0 writing (or reading) what `before` wrote and read last.
static double gbs(mcc_runtime* rt, char* memory, int32_t before, int writes) {
  static double samples[RUNS];
  for (int i = 0; i < RUNS; i++) {
    touch t = {memory, before, 1, 0};
    rt->parallel(rt, touch_all, &t, 2);
    t.writes = 0;
    rt->parallel(rt, touch_all, &t, 2);
    t.thread = 0, t.writes = writes;
    rt->parallel(rt, touch_all, &t, 2);
    samples[i] = t.us;
  }
  return KIB * 1.024 / median(samples);
}

int main(void) {
  mcc_runtime* rt = mcc_runtime_create(2);
  char* memory = aligned_alloc(2 << 20, 2 << 20);
  if (!rt || !memory) return 1;
  printf("{\"added_us\": {");
  const double pauses[] = {0, 2, 10, 50, 200, 1000};
  for (int p = 0; p < 6; p++) printf("%s\"after %g us\": %.2f", p ? ", " : "", pauses[p], added_us(rt, pauses[p], 10));
  printf("}, \"own_read_gbs\": %.1f, \"others_read_gbs\": %.1f", gbs(rt, memory, 0, 0), gbs(rt, memory, 1, 0));
  printf(", \"own_write_gbs\": %.1f, \"others_write_gbs\": %.1f}\n", gbs(rt, memory, 0, 1), gbs(rt, memory, 1, 1));
  mcc_runtime_destroy(rt);
  free(memory);
  return 0;
}
