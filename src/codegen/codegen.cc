// Seed of the folder; see its headers.
#include "codegen/codegen.h"
