// Seed of the folder; see its headers.
#include "search/tune.h"
