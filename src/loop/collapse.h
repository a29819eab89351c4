// collapse() for programs with a separable convolution: a depthwise one and the product that reads its pixels.
#pragma once
#include "loop/loop.h"

namespace mcc::loop {

// As collapse(). In addition a temp that one nest assigns and only one reduction reads loses the dimension before its
// last but one (rows and pixels of an image become one) where the reduction and what follows can merge it, whatever the
// nest that assigns needs: that one stores at i * extent of j + j.
Func collapse_for_readers(const Func& func);

}  // namespace mcc::loop
