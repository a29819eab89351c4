// Runs a lowered model with the interpreter, so that tests can compare fused kernels with the references of the graph.
#pragma once
#include <cstring>

#include "loop/loop_ops.h"
#include "passes_util.h"

namespace mcc {

// The bytes of a value within the memory that its parameter covers: where each element begins.
inline std::vector<i64> element_offsets(const TensorType& type, const Shape& pitch) {
  const Shape strides = row_major_strides(pitch.empty() ? type.shape : pitch);
  std::vector<i64> offsets;
  for (i64 i = 0; i < elements(type.shape); i++) {
    i64 rest = i, flat = 0;
    for (size_t d = type.shape.size(); d-- > 0; rest /= type.shape[d]) flat += rest % type.shape[d] * strides[d];
    offsets.push_back(flat * size_of(type.dtype));
  }
  return offsets;
}

// All kernels in order by the interpreter, on buffers that share bytes as the plan says. A kernel sees of a parameter
// what memory there is, and may change only the elements of its own values.
inline std::vector<Tensor> run_kernels(const LoweredModel& model, const std::vector<Tensor>& inputs) {
  const Graph& graph = model.graph;
  std::vector<Tensor> buffers(graph.values.size());
  for (size_t v = 0; v < buffers.size(); v++)
    buffers[v] = graph.values[v].constant ? *graph.values[v].constant : Tensor(graph.values[v].type);
  for (size_t i = 0; i < inputs.size(); i++) buffers[static_cast<size_t>(graph.inputs[i])] = inputs[i].clone();
  const auto place = [&](ValueId v) {
    const LoweredModel::View& view = model.views[static_cast<size_t>(v)];
    Tensor& base = buffers[static_cast<size_t>(view.base == kNone ? v : view.base)];
    const auto offset = static_cast<size_t>(view.base == kNone ? 0 : view.offset_bytes);
    return std::span(base.bytes(), static_cast<size_t>(base.byte_size())).subspan(offset);
  };
  for (const KernelCall& call : model.calls) {
    std::vector<Tensor> args;
    std::vector<Tensor*> pointers;
    const std::vector<int> params = loop::params(call.func);
    for (size_t i = 0; i < params.size(); i++) {
      const loop::Buffer& buffer = call.func.buffers[static_cast<size_t>(params[i])];
      args.emplace_back(TensorType{buffer.dtype, buffer.shape});
      const auto memory = place(call.args[i]);
      std::memcpy(args.back().bytes(), memory.data(),
                  std::min(memory.size(), static_cast<size_t>(args.back().byte_size())));
    }
    const std::vector<Tensor> before = [&] {
      std::vector<Tensor> copies;
      for (const Tensor& arg : args) copies.push_back(arg.clone());
      return copies;
    }();
    for (Tensor& arg : args) pointers.push_back(&arg);
    loop::interpret(call.func, pointers);
    for (size_t i = 0; i < params.size(); i++) {
      if (call.func.buffers[static_cast<size_t>(params[i])].scope != loop::Scope::output) continue;
      const auto v = static_cast<size_t>(call.args[i]);
      const auto size = static_cast<size_t>(size_of(graph.values[v].type.dtype));
      for (const i64 offset : element_offsets(graph.values[v].type, model.views[v].pitch)) {
        std::memcpy(place(call.args[i]).data() + offset, args[i].bytes() + offset, size);
        std::memcpy(args[i].bytes() + offset, before[i].bytes() + offset, size);
      }
      EXPECT_EQ(std::memcmp(args[i].bytes(), before[i].bytes(), static_cast<size_t>(args[i].byte_size())), 0)
          << call.func.name << " writes outside its result";
    }
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
