// Windows of convolutions and pools with everything explicit; shared with the quantised convolutions.
#pragma once
#include "frontend/importer.h"

namespace mcc::frontend {

// kernel_shape, strides, pads, dilations and group of a convolution over x with weights w; auto_pad resolved.
Attrs conv_attrs(const OnnxCall& call, const Shape& x, const Shape& w);

// Of images [batch, channels, place...] and [batch, place..., channels], one as the other.
ValueId channels_first(const OnnxCall& call, ValueId v);
ValueId channels_last(const OnnxCall& call, ValueId v);

}  // namespace mcc::frontend
