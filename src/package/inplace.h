// May a kernel's output take the memory of one of its inputs?
#pragma once
#include "loop/loop.h"

namespace mcc {

// True only when it is proven for the scheduled program that no element of parameter `input` is read after the element
// of parameter `output` at the same place was written. Numbers count the parameters.
bool may_overwrite(const loop::Func& scheduled, int input, int output);

}  // namespace mcc
