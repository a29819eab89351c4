/* The runtime of one thread: always there, no state, usable by any number of callers at once. */
#include "runtime/mcc_runtime.h"

static void run_here(mcc_runtime* rt, mcc_chunk_fn fn, void* ctx, int64_t n) {
  (void)rt;
  if (n > 0) fn(ctx, 0, n, 0);
}

MCC_API mcc_runtime* mcc_runtime_serial(void) {
  static mcc_runtime serial = {run_here, 1};
  return &serial;
}
