// Instances of the family matmul; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> matmul_instances() { return {}; }

}  // namespace mcc::testing
