// Windows of convolutions and pools with everything explicit; shared with the quantised convolutions.
#pragma once
#include "frontend/importer.h"

namespace mcc::frontend {

// kernel_shape, strides, pads, dilations and group of a convolution over x with weights w; auto_pad resolved.
Attrs conv_attrs(const OnnxCall& call, const Shape& x, const Shape& w);

}  // namespace mcc::frontend
