// Seed of the folder; see its headers.
#include "ops/op_def.h"
