// ONNX models. What the importer accepts must be a graph that keeps its own rules.
#include "frontend/frontend.h"
#include "fuzz/fuzz.h"
#include "graph/print.h"

namespace {
void import(std::string_view bytes) { mcc::verify(mcc::import_onnx_bytes(bytes, "/nonexistent")); }
}  // namespace

MCC_FUZZ_TARGET(import)
