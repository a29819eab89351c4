/* Running a compiled model: check the caller's pointers once, then call the kernels in order, each with the addresses
   of its arguments. Nothing is allocated: the argument list lives on the stack, everything else in the caller's arena.
 */
#include <stddef.h>

#include "runtime/mcc_runtime.h"

static const uint8_t element_bytes[] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1}; /* by enum mcc_dtype */

static int check_tensors(const mcc_tensor_info* infos, const void* const* data, int32_t n) {
  if (n > 0 && !data) return MCC_E_ARGUMENT;
  for (int32_t i = 0; i < n; i++) {
    if (!data[i] && infos[i].bytes > 0) return MCC_E_ARGUMENT;
    if ((uintptr_t)data[i] % element_bytes[infos[i].dtype] != 0) return MCC_E_ALIGNMENT;
  }
  return MCC_OK;
}

static int check_call(const mcc_model* model, const void* const* inputs, void* const* outputs, void* arena,
                      const mcc_runtime* rt) {
  if (!model || model->abi_version != MCC_ABI_VERSION) return MCC_E_ARGUMENT;
  if (!arena && model->arena_bytes > 0) return MCC_E_ARGUMENT;
  if ((uintptr_t)arena % (uintptr_t)model->arena_align != 0) return MCC_E_ALIGNMENT;
  if (rt->threads > model->threads) return MCC_E_THREADS;
  const int wrong = check_tensors(model->inputs, inputs, model->n_inputs);
  return wrong ? wrong : check_tensors(model->outputs, (const void* const*)outputs, model->n_outputs);
}

static void* resolve(const mcc_location* at, const mcc_model* model, const void* const* inputs, void* const* outputs,
                     char* arena) {
  char* base;
  if (at->base == MCC_ARENA)
    base = arena;
  else if (at->base == MCC_WEIGHTS)
    base = (char*)model->weights;
  else if ((at->base & 1) == 0)
    base = (char*)inputs[(at->base - MCC_INPUT) / 2];
  else
    base = (char*)outputs[(at->base - MCC_OUTPUT) / 2];
  return base ? base + at->offset : NULL;
}

MCC_API int mcc_model_run_hooked(const mcc_model* model, const void* const* inputs, void* const* outputs, void* arena,
                                 mcc_runtime* rt, mcc_step_hook hook, void* user) {
  if (!rt) rt = mcc_runtime_serial();
  const int wrong = check_call(model, inputs, outputs, arena, rt);
  if (wrong) return wrong;
  void* args[model->max_args > 0 ? model->max_args : 1];
  for (int32_t s = 0; s < model->n_steps; s++) {
    const mcc_step* step = &model->steps[s];
    for (int32_t a = 0; a < step->n_args; a++) args[a] = resolve(&step->args[a], model, inputs, outputs, arena);
    if (hook) hook(user, s, 0);
    step->fn(args, (char*)arena + step->scratch, rt);
    if (hook) hook(user, s, 1);
  }
  return MCC_OK;
}

MCC_API int mcc_model_run(const mcc_model* model, const void* const* inputs, void* const* outputs, void* arena,
                          mcc_runtime* rt) {
  return mcc_model_run_hooked(model, inputs, outputs, arena, rt, NULL, NULL);
}
