// Graph after passes -> kernels: groups by fuse, one loop program for each group, and the values that share bytes. A
// group without elements (a dimension of zero) needs no kernel.
//
// Values have sizes that the frontend has checked; what a kernel makes of them is checked here, before anything is
// computed from it: a padded copy, say, can be far larger than input and output.
#include "loop/collapse.h"
#include "loop/loop_ops.h"
#include "passes/join.h"
#include "passes/separable.h"
#include "passes/views.h"

namespace mcc {
namespace {

bool computes_nothing(const Graph& graph, const FusedGroup& group) {
  for (const ValueId v : group.outputs)
    if (elements(graph.value(v).type.shape) > 0) return false;
  return true;
}

// Refuses a kernel whose buffers or steps are so many that offsets and counts, or products of them, would overflow.
void require_possible(const KernelCall& call) {
  constexpr double kMostBytes = 0x1p46, kMostSteps = 0x1p50;
  for (const loop::Buffer& buffer : call.func.buffers) {
    auto size = static_cast<double>(size_of(buffer.dtype));
    for (const i64 extent : buffer.shape) size *= static_cast<double>(extent);
    if (size > kMostBytes)
      fail("node '{}': its kernel needs a buffer {} of more than 64 TiB", call.nodes.front(),
           to_string(TensorType{buffer.dtype, buffer.shape}));
  }
  loop::for_each_store(call.func, [&](const loop::Store&, std::span<const loop::Loop* const> loops) {
    double steps = 1;
    for (const loop::Loop* l : loops) steps *= static_cast<double>(l->extent);
    if (steps > kMostSteps) fail("node '{}': its kernel takes {:.1e} steps", call.nodes.front(), steps);
  });
}

}  // namespace

LoweredModel lower(Graph graph) {
  LoweredModel model;
  model.graph = own_buffers(std::move(graph));
  model.views = plan_views(model.graph).views;
  for (const FusedGroup& group : fuse(model.graph)) {
    if (computes_nothing(model.graph, group)) continue;
    KernelCall call = join_group(model.graph, group, model.views);
    require_possible(call);
    const loop::Func simple = loop::simplify(call.func);
    call.func = is_separable(model.graph, group) ? loop::collapse_for_readers(simple) : loop::collapse(simple);
    if (const std::string wrong = loop::verify(call.func); !wrong.empty())
      throw InternalError(fmt::format("the program of the kernel '{}' is wrong: {}", call.func.name, wrong));
    model.calls.push_back(std::move(call));
  }
  return model;
}

LoweredModel compile_graph(const Graph& graph, const PassOptions& options) { return lower(run_passes(graph, options)); }

}  // namespace mcc
