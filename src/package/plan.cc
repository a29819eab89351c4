// Seed of the folder; see its headers.
#include "package/package.h"
