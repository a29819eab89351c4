/* The C interface of artifacts. This header and its implementation are all that an artifact needs; they include nothing
 * of the compiler. */
#ifndef MCC_RUNTIME_H
#define MCC_RUNTIME_H
#include <stdint.h>

/* Put before each function of this interface where it is defined. Artifacts define it as exported and weak, so that
   several of them can be linked into one program. */
#ifndef MCC_API
#define MCC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A way to run a parallel loop. Generated kernels call parallel(rt, fn, ctx, n), which must call fn for contiguous
   chunks [begin, end) that cover 0..n-1 and return when all are done; thread is 0..threads-1, distinct among concurrent
   calls. */
typedef struct mcc_runtime mcc_runtime;
typedef void (*mcc_chunk_fn)(void* ctx, int64_t begin, int64_t end, int32_t thread);
struct mcc_runtime {
  void (*parallel)(mcc_runtime* rt, mcc_chunk_fn fn, void* ctx, int64_t n);
  int32_t threads;
};
mcc_runtime* mcc_runtime_create(
    int32_t threads); /* a pool of threads - 1 workers; NULL when out of memory or threads */
void mcc_runtime_destroy(mcc_runtime* rt);
mcc_runtime* mcc_runtime_serial(void); /* one thread, static, always there */

enum mcc_dtype {
  MCC_F32,
  MCC_F64,
  MCC_F16,
  MCC_BF16,
  MCC_I8,
  MCC_I16,
  MCC_I32,
  MCC_I64,
  MCC_U8,
  MCC_U16,
  MCC_U32,
  MCC_U64,
  MCC_BOOL
};

typedef struct {
  const char* name;
  int32_t dtype; /* enum mcc_dtype */
  int32_t rank;
  const int64_t* shape;
  int64_t bytes;
  int64_t number; /* place among the model file's inputs or outputs; inputs bound at compile time leave gaps */
} mcc_tensor_info;

typedef void (*mcc_kernel_fn)(void* const* args, char* scratch, mcc_runtime* rt);

/* Where a kernel argument lives: `base` selects arena, weights, an input or an output; see mcc_base. */
enum mcc_base {
  MCC_ARENA = 0,
  MCC_WEIGHTS = 1,
  MCC_INPUT = 2 /* + input number * 2 */,
  MCC_OUTPUT = 3 /* + output number * 2 */
};
typedef struct {
  int32_t base;
  int32_t pad;
  int64_t offset;
} mcc_location;

typedef struct {
  mcc_kernel_fn fn;
  const mcc_location* args;
  int32_t n_args;
  int32_t pad;
  int64_t scratch; /* arena offset */
  const char* name;
} mcc_step;

/* Static description of a compiled model. All arrays live as long as the artifact is loaded. */
typedef struct mcc_model {
  int32_t abi_version; /* MCC_ABI_VERSION */
  int32_t threads;     /* the arena has room for this many; running with fewer is fine, with more is MCC_E_THREADS */
  const char* name;
  int32_t n_inputs, n_outputs, n_steps, max_args;
  const mcc_tensor_info* inputs;
  const mcc_tensor_info* outputs;
  int64_t arena_bytes, arena_align;
  const mcc_step* steps;
  const char* weights;
  int64_t weight_bytes;
} mcc_model;

#define MCC_ABI_VERSION 2
enum { MCC_OK = 0, MCC_E_ARGUMENT = 1, MCC_E_ALIGNMENT = 2, MCC_E_THREADS = 3 };

const mcc_model* mcc_model_get(void);
/* Runs the model once. inputs/outputs in the order of the description, each aligned to its element; arena of
   arena_bytes aligned to arena_align. rt NULL runs on the calling thread. Thread safe when each concurrent call has an
   arena (and a runtime) of its own. No allocation, no locks but the pool's. */
int mcc_model_run(const mcc_model* model, const void* const* inputs, void* const* outputs, void* arena,
                  mcc_runtime* rt);
/* The same, calling before(user, step number, 0) and after(user, step number, 1) around each step: profilers. */
typedef void (*mcc_step_hook)(void* user, int32_t step, int32_t done);
int mcc_model_run_hooked(const mcc_model* model, const void* const* inputs, void* const* outputs, void* arena,
                         mcc_runtime* rt, mcc_step_hook hook, void* user);

#ifdef __cplusplus
}
#endif
#endif
