// Instances of the family conv; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> conv_instances() { return {}; }

}  // namespace mcc::testing
