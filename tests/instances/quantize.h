// Instances of the family quantize; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> quantize_instances() { return {}; }

}  // namespace mcc::testing
