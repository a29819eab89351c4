// What a person sees of a tuning run, on standard error: on a terminal a live table with a progress bar, in a pipe one
// plain line for each batch.
#pragma once
#include "search/tune.h"

namespace mcc {

class ProgressView {
 public:
  explicit ProgressView(bool quiet);
  void show(const Progress& progress);
  void finish();  // leaves the last table standing

 private:
  void draw_table(const Progress& progress);
  void print_line(const Progress& progress);
  bool quiet_, terminal_;
  int lines_drawn_ = 0;
  i64 last_trials_ = -1;
};

// Of one run of the model: weighted sum of the tasks' best; 0 when one has none yet.
double run_seconds(const Progress& progress);

}  // namespace mcc
