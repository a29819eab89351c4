// Seed of the folder; see its headers.
#include "records/record.h"
