// Fields that ONNX has added since the library's version: they arrive as unknown fields and would silently be lost.
#pragma once
#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace mcc::frontend {

// Which of the functions with one name is meant (ONNX IR 10); "" where there is only one.
std::string overload_of(const onnx::NodeProto& node);
std::string overload_of(const onnx::FunctionProto& function);

// Attributes that a call may leave out, with the values they then have (ONNX IR 9).
std::vector<onnx::AttributeProto> default_attributes(const onnx::FunctionProto& function);

}  // namespace mcc::frontend
