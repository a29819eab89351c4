// Instances of the family reduce; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> reduce_instances() { return {}; }

}  // namespace mcc::testing
