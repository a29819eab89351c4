// Outputs that are named but never read; see onnx_unread.cc.
#pragma once

namespace onnx {
class ModelProto;
}

namespace mcc::frontend {

void drop_unread_outputs(onnx::ModelProto& model);

}  // namespace mcc::frontend
