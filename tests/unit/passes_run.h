// Runs a lowered model with the interpreter, so that tests can compare fused kernels with the references of the graph.
#pragma once
#include <cstring>

#include "loop/ir.h"
#include "passes_util.h"

namespace mcc {

// All kernels in order by the interpreter, on buffers that share bytes as the plan says.
inline std::vector<Tensor> run_kernels(const LoweredModel& model, const std::vector<Tensor>& inputs) {
  const Graph& graph = model.graph;
  std::vector<Tensor> buffers(graph.values.size());
  for (size_t v = 0; v < buffers.size(); v++)
    buffers[v] = graph.values[v].constant ? *graph.values[v].constant : Tensor(graph.values[v].type);
  for (size_t i = 0; i < inputs.size(); i++) buffers[static_cast<size_t>(graph.inputs[i])] = inputs[i].clone();
  const auto place = [&](ValueId v) {
    const LoweredModel::View& view = model.views[static_cast<size_t>(v)];
    return view.base == kNone ? buffers[static_cast<size_t>(v)].bytes()
                              : buffers[static_cast<size_t>(view.base)].bytes() + view.offset_bytes;
  };
  for (const KernelCall& call : model.calls) {
    std::vector<Tensor> args;
    std::vector<Tensor*> pointers;
    const std::vector<int> params = loop::params(call.func);
    for (size_t i = 0; i < params.size(); i++) {
      const loop::Buffer& buffer = call.func.buffers[static_cast<size_t>(params[i])];
      args.emplace_back(TensorType{buffer.dtype, buffer.shape});
      std::memcpy(args.back().bytes(), place(call.args[i]), static_cast<size_t>(args.back().byte_size()));
    }
    for (Tensor& arg : args) pointers.push_back(&arg);
    loop::interpret(call.func, pointers);
    for (size_t i = 0; i < params.size(); i++)
      if (call.func.buffers[static_cast<size_t>(params[i])].scope == loop::Scope::output)
        std::memcpy(place(call.args[i]), args[i].bytes(), static_cast<size_t>(args[i].byte_size()));
  }
  std::vector<Tensor> outputs;
  for (const ValueId v : graph.outputs) outputs.push_back(buffers[static_cast<size_t>(v)]);
  return outputs;
}

inline void expect_kernels(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); i++)
    inputs.push_back(random_input(graph.values[static_cast<size_t>(graph.inputs[i])].type, "", static_cast<int>(i), 1));
  const std::vector<Tensor> want = evaluate(graph, inputs), got = run_kernels(compile_graph(graph), inputs);
  for (size_t i = 0; i < want.size(); i++) EXPECT_LE(compare(got[i], want[i]).relative(), 1e-5);
}

inline void expect_kernels(std::string_view text) { expect_kernels(parse_graph(text)); }

}  // namespace mcc
