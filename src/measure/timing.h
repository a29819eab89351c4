// Timing one kernel: samples of enough runs each, cold constants where the model would find them cold, an early end for
// the hopeless.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "base/base.h"

namespace mcc {

struct TimingOptions {
  int warmup_runs = 1, repeats = 3;
  double min_sample_s = 3e-4;
  double give_up_s = 0;              // one run slower than this ends the measurement after one sample; 0: never
  std::function<void()> before_run;  // not timed; when set, each run is a sample of its own
};
// Seconds of one run, from one sample; one_run_s: about how long it takes.
double sample(const std::function<void()>& run, double one_run_s, const TimingOptions& options);
// Seconds of one run, a value for each sample.
std::vector<double> time_runs(const std::function<void()>& run, const TimingOptions& options);

double now_s();        // monotonic clock
double clock_probe();  // seconds a fixed dependent-arithmetic loop takes (about 1 ms): tells a disturbed machine
void evict(std::span<const std::byte> memory);  // out of all caches
void flush_tlb();                               // the translations of all pages; caches stay nearly as they are

}  // namespace mcc
