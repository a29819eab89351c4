// Seed of the folder; see its headers.
#include "loop/build.h"
