// Seed of the folder; see its headers.
#include "schedule/space.h"
