// The model's inputs; see onnx_inputs.cc.
#pragma once
#include "frontend/frontend.h"
#include "frontend/onnx_walk.h"

namespace mcc::frontend {

// Adds the inputs to the builder's graph and the scope: static shapes by the model and the options, bound ones as
// constants. With a survey, inputs that cannot be used are noted there and refused in the scope, else the first is
// thrown.
void add_inputs(const onnx::GraphProto& graph, const ImportOptions& options, Scope& scope, Builder& builder,
                Survey* survey = nullptr);

ModelPort port_of(const onnx::ValueInfoProto& info);  // as the file declares it

}  // namespace mcc::frontend
