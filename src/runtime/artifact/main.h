/* What the stand-alone program is made of: tensors from and to .npy files, the documented random inputs, and timing. */
#ifndef MCC_ARTIFACT_MAIN_H
#define MCC_ARTIFACT_MAIN_H
#include "runtime/mcc_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

const char* mcc_dtype_name(int32_t dtype); /* "f32", ... as in the manifest */

/* Reads a C-order .npy file into `into`, which has room for info->bytes. NULL, or why not. */
const char* mcc_read_npy(const char* file, const mcc_tensor_info* info, void* into);
/* Writes output number `o` as DIR/NAME.npy, NAME being its own with characters outside [A-Za-z0-9._-] as _, and ~o
   after it where an earlier output has the same; bf16 as f32. NULL, or why not. */
const char* mcc_write_npy(const char* dir, const mcc_model* model, int32_t o, const void* data);
/* Fills an input from the documented generator (xorshift32, one stream for each input by its number). */
void mcc_random_input(const mcc_tensor_info* info, uint32_t seed, void* into);

typedef struct {
  double first_ms, min_ms, median_ms, p90_ms;
  int64_t runs;
} mcc_timing;
typedef int (*mcc_run_fn)(const mcc_model*, const void* const* inputs, void* const* outputs, void* arena, mcc_runtime*);
/* Times run (mcc_model_run of the artifact). The first run by itself; then warm-up of at least 3 runs and 0.3 s, then
   at least 10 runs and 2 s; with repeat >= 1 exactly that many timed runs and no warm-up but the first. Returns run's
   status, or -1 when out of memory.
 */
int mcc_time_runs(mcc_run_fn run, const mcc_model* model, const void* const* inputs, void* const* outputs, void* arena,
                  mcc_runtime* rt, int64_t repeat, mcc_timing* timing);
/* The most memory this process has held, in KiB; unlike getrusage's figure it does not start with that of the parent
 * process. 0: unknown. */
long mcc_peak_rss_kib(void);

#ifdef __cplusplus
}
#endif
#endif
