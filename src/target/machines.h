// The table of named machines, for find_target(); see machines.cc.
#pragma once
#include <vector>

#include "target/target.h"

namespace mcc {

std::vector<Target> machine_table();

}  // namespace mcc
