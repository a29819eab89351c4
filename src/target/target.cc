// Seed of the folder; see its headers.
#include "target/target.h"
