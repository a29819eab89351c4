/* How a model is timed: see main.h. Both the stand-alone program and mcc-run use this, so their numbers mean the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/artifact/main.h"

typedef struct {
  double* ms;
  int64_t count, room;
} samples;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double quantile(const samples* sorted, double q) {
  const double at = q * (double)(sorted->count - 1);
  const int64_t low = (int64_t)at, high = low + 1 < sorted->count ? low + 1 : low;
  return sorted->ms[low] + (sorted->ms[high] - sorted->ms[low]) * (at - (double)low);
}

static int keep(samples* s, double ms) {
  if (s->count == s->room) {
    const int64_t room = s->room ? s->room * 2 : 1024;
    double* more = realloc(s->ms, (size_t)room * sizeof *more);
    if (!more) return 0;
    s->ms = more;
    s->room = room;
  }
  s->ms[s->count++] = ms;
  return 1;
}

/* At least `runs` runs and `total_ms`; each run's time into `into` where given. */
static int run_for(mcc_run_fn run, const mcc_model* model, const void* const* inputs, void* const* outputs, void* arena,
                   mcc_runtime* rt, int64_t runs, double total_ms, samples* into) {
  const double start = now_ms();
  double before = start;
  for (int64_t n = 0; n < runs || before - start < total_ms; n++) {
    before = now_ms();
    const int status = run(model, inputs, outputs, arena, rt);
    if (status) return status;
    const double after = now_ms();
    if (into && !keep(into, after - before)) return -1;
    before = after;
  }
  return MCC_OK;
}

int mcc_time_runs(mcc_run_fn run, const mcc_model* model, const void* const* inputs, void* const* outputs, void* arena,
                  mcc_runtime* rt, int64_t repeat, mcc_timing* timing) {
  samples s = {NULL, 0, 0};
  const double start = now_ms();
  int status = run(model, inputs, outputs, arena, rt);
  timing->first_ms = now_ms() - start;
  if (!status && repeat < 1) status = run_for(run, model, inputs, outputs, arena, rt, 3, 300, NULL);
  if (!status)
    status = repeat < 1 ? run_for(run, model, inputs, outputs, arena, rt, 10, 2000, &s)
                        : run_for(run, model, inputs, outputs, arena, rt, repeat, 0, &s);
  if (!status) {
    qsort(s.ms, (size_t)s.count, sizeof *s.ms, by_value);
    timing->min_ms = s.ms[0];
    timing->median_ms = quantile(&s, 0.5);
    timing->p90_ms = quantile(&s, 0.9);
    timing->runs = s.count;
  }
  free(s.ms);
  return status;
}

long mcc_peak_rss_kib(void) {
  FILE* f = fopen("/proc/self/status", "r");
  char line[256];
  long kib = 0;
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
  if (f) fclose(f);
  return kib;
}
