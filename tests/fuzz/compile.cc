// ONNX models, all the way to loop programs: what the importer accepts, the passes and the lowering must take or
// refuse.
#include "frontend/frontend.h"
#include "fuzz/fuzz.h"
#include "loop/loop_ops.h"
#include "passes/passes.h"

namespace {

constexpr mcc::i64 kMaxElements = 1 << 16;  // of a value: a large one takes its time, and shows nothing more

void compile(std::string_view bytes) {
  const mcc::Graph graph = mcc::import_onnx_bytes(bytes, "/nonexistent");
  for (const mcc::Value& value : graph.values) {
    if (mcc::elements(value.type.shape) > kMaxElements) return;
  }
  for (const mcc::KernelCall& call : mcc::compile_graph(graph).calls) MCC_CHECK(mcc::loop::verify(call.func).empty());
}

}  // namespace

MCC_FUZZ_TARGET(compile)
