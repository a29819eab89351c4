// Seed of the folder; see its headers.
#include "passes/passes.h"
