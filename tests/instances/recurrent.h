// Instances of the family recurrent; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> recurrent_instances() { return {}; }

}  // namespace mcc::testing
