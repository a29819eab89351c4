// Seed of the folder; see its headers.
#include "costmodel/cost_model.h"
