// How the plan becomes the numbers of the runtime's tables.
#include "package/contents.h"

#include <algorithm>

namespace mcc {

std::string table_symbol(const Contents& c) { return "mcc_model_" + c.name; }
std::string weights_symbol(const Contents& c) { return c.name + "_weights"; }

std::vector<mcc_location> locations(const Contents& c, size_t call) {
  using Kind = MemoryPlan::Place::Kind;
  std::vector<mcc_location> result;
  const std::vector<ValueId>& args = c.model.calls[call].args;
  for (size_t a = 0; a < args.size(); a++) {
    const MemoryPlan::Place& place = c.plan.values[static_cast<size_t>(args[a])];
    mcc_location at{MCC_ARENA, 0, place.offset};
    if (const auto weight = c.weights.offsets.find({static_cast<int>(call), static_cast<int>(a)});
        weight != c.weights.offsets.end()) {
      at.base = MCC_WEIGHTS;
      at.offset = weight->second;
    } else if (place.kind == Kind::input) {
      at.base = MCC_INPUT + place.index * 2;
    } else if (place.kind == Kind::output) {
      at.base = MCC_OUTPUT + place.index * 2;
    } else {
      MCC_CHECK(place.kind == Kind::arena);
    }
    result.push_back(at);
  }
  return result;
}

int tensor_number(const Graph& graph, const std::vector<ValueId>& values, size_t i) {
  return &values == &graph.inputs ? input_number(graph, i) : static_cast<int>(i);
}

int max_args(const Contents& c) {
  size_t most = 0;
  for (const KernelCall& call : c.model.calls) most = std::max(most, call.args.size());
  return static_cast<int>(most);
}

}  // namespace mcc
