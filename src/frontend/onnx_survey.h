// What a model file holds, whether it can be imported or not; see onnx_survey.cc.
#pragma once
#include "frontend/frontend.h"

namespace onnx {
class ModelProto;
}

namespace mcc::frontend {

Survey describe_model(const onnx::ModelProto& model);  // operators, inputs and outputs; refuses nothing

}  // namespace mcc::frontend
