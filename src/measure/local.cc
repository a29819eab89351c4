// Seed of the folder; see its headers.
#include "measure/runner.h"
