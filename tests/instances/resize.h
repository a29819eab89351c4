// Instances of the family resize; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> resize_instances() { return {}; }

}  // namespace mcc::testing
