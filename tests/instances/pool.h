// Instances of the family pool; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> pool_instances() { return {}; }

}  // namespace mcc::testing
