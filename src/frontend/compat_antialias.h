// Resize with antialias; see compat_antialias.cc.
#pragma once
#include "frontend/importer.h"

namespace mcc::frontend {

// `attrs` are those of the Graph's Resize.
ValueId resize_antialiased(const OnnxCall& call, const Attrs& attrs);

}  // namespace mcc::frontend
