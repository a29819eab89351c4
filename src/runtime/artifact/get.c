/* Compiled into artifacts only: the one function that needs the model's own table. The table is weak, so that a program
   may link several models and reach each by its own name (mcc_model_NAME in model.h). */
#include "runtime/mcc_runtime.h"

extern __attribute__((visibility("hidden"))) const mcc_model mcc_model_table;

MCC_API const mcc_model* mcc_model_get(void) { return &mcc_model_table; }
