// Seed of the folder; see its headers.
#include "graph/graph.h"
