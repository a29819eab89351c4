// Seed of the folder; see its headers.
#include "frontend/frontend.h"
