// Instances of the family gather; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> gather_instances() { return {}; }

}  // namespace mcc::testing
