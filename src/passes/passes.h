// Graph passes, each Graph -> Graph, in the order of the table in pipeline.cc; then fusion and lowering.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "loop/loop.h"
#include "target/target.h"

namespace mcc {

// Nodes whose inputs are all constants are evaluated by their reference.
Graph fold_constants(const Graph&);
// Without nodes and values that no output needs, and Identity nodes.
Graph drop_dead(const Graph&);
// Common subexpressions, equal constants.
Graph merge_equal(const Graph&);
// x+0, x*1, Transpose of Transpose, Reshape of Reshape, Cast to the same type, ...
Graph simplify_algebra(const Graph&);
// BatchNormalization into the convolution or product before it, else to Mul and Add.
Graph fold_batch_norm(const Graph&);
// LayerNorm, Gelu, HardSwish, SiLU as exporters write them -> one node.
Graph recognize(const Graph&);
// Composites that have no lowering of their own -> simpler ops.
Graph decompose(const Graph&);
// Convolution networks to channels-last; transposes cancelled or fused.
Graph lay_out(const Graph&);
// A Softmax between products -> its parts, which the fusion makes one kernel.
Graph spell_out_attention(const Graph&);

struct Pass {
  std::string_view name;
  Graph (*run)(const Graph&);
};
std::span<const Pass> graph_passes();
struct PassOptions {
  std::set<std::string, std::less<>> disabled;  // by name
  // Called after a pass that changed the graph.
  std::function<void(std::string_view pass, const Graph&, double seconds)> changed;
};
Graph run_passes(const Graph&, const PassOptions& = {});  // verifies after each

// One kernel: the nodes [in order] that it computes and the values it reads and writes.
struct FusedGroup {
  std::vector<int> nodes;
  std::vector<ValueId> inputs, outputs;  // inputs: constants included, in order of first use
};
// Every node that needs work is in exactly one group; groups in executable order.
std::vector<FusedGroup> fuse(const Graph&);

// A kernel of the model. args[i] is the value bound to the i-th parameter of func. The parameter of a value with a
// pitch has the pitch's shape: it begins at the value, the program touches only the value's elements of it, and the
// rest may be other values or lie behind the end of the memory.
struct KernelCall {
  loop::Func func;  // algorithm form; name is the anchor's op and shape, for people
  std::vector<ValueId> args;
  std::vector<std::string> nodes;  // names of the graph nodes it computes, for reports
};
struct LoweredModel {
  Graph graph;  // after passes; owns the values that args refer to
  std::vector<KernelCall> calls;
  // Values that are the same bytes as another value: alias_of[v] = value it is a view of, or kNone.
  // The base is never a view itself, and a graph output never is a view (others may live inside it).
  // A Reshape costs nothing; a Slice is a view at an offset; inputs of a Concat live inside its output.
  struct View {
    ValueId base = kNone;
    i64 offset_bytes = 0;
    Shape pitch;  // if not empty: the rows of the value are apart as in a tensor of this shape
  };
  std::vector<View> views;  // one for each value
};
LoweredModel lower(Graph graph);  // fuse + lower each group. Throws Error naming a node that cannot be lowered.

// Import result -> ready for scheduling: run_passes then lower.
LoweredModel compile_graph(const Graph& graph, const PassOptions& = {});

}  // namespace mcc
