// TensorProto -> Tensor, and its element types; see onnx_weights.cc.
#pragma once
#include <filesystem>

#include "graph/tensor.h"

namespace onnx {
class TensorProto;
}

namespace mcc::frontend {

DType dtype_from_onnx(i64 elem_type, std::string_view what);  // Error naming types that are not supported
Tensor tensor_from_proto(const onnx::TensorProto& proto, const std::filesystem::path& folder_of_external_data);

}  // namespace mcc::frontend
