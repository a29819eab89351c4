// Instances of the family attention; see ops_instances.h.
#pragma once

namespace mcc::testing {

inline std::vector<OpInstance> attention_instances() { return {}; }

}  // namespace mcc::testing
