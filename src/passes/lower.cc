// Graph after passes -> kernels: groups by fuse, one loop program for each group, and the values that share bytes. A
// group without elements (a dimension of zero) needs no kernel.
#include "loop/ir.h"
#include "passes/join.h"
#include "passes/views.h"

namespace mcc {
namespace {

bool computes_nothing(const Graph& graph, const FusedGroup& group) {
  for (const ValueId v : group.outputs)
    if (elements(graph.values[static_cast<size_t>(v)].type.shape) > 0) return false;
  return true;
}

}  // namespace

LoweredModel lower(Graph graph) {
  LoweredModel model;
  model.graph = own_buffers(std::move(graph));
  model.views = plan_views(model.graph).views;
  for (const FusedGroup& group : fuse(model.graph)) {
    if (computes_nothing(model.graph, group)) continue;
    KernelCall call = join_group(model.graph, group, model.views);
    call.func = loop::collapse(loop::simplify(call.func));
    if (const std::string wrong = loop::verify(call.func); !wrong.empty())
      throw InternalError(fmt::format("the program of the kernel '{}' is wrong: {}", call.func.name, wrong));
    model.calls.push_back(std::move(call));
  }
  return model;
}

LoweredModel compile_graph(const Graph& graph, const PassOptions& options) { return lower(run_passes(graph, options)); }

}  // namespace mcc
