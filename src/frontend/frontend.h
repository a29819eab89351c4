// ONNX files -> Graph. Only this folder knows protobuf. Opset differences end in onnx_compat.cc, weights in
// onnx_weights.cc.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace mcc {

struct ImportOptions {
  std::map<std::string, Shape> shapes;  // --shape=INPUT:1x3x224x224
  std::map<std::string, i64> dims;      // --dim=batch=1
  std::map<std::string, std::string>
      binds;  // --bind=INPUT=VALUE: a number for all elements, or a .npy file; the input becomes a constant
};

// Imports, with shapes inferred, opset differences resolved, shape arithmetic and everything constant folded away.
// Throws Error: unreadable file, unsupported op/type/attribute (names node, op, reason), free dimension (names it and
// the option).
Graph import_onnx(const std::filesystem::path& file, const ImportOptions& options = {});
Graph import_onnx_bytes(std::string_view bytes, const std::filesystem::path& folder_of_external_data,
                        const ImportOptions& options = {});

// A serialised ONNX TensorProto (*.pb of the node tests).
Tensor tensor_from_proto_bytes(std::string_view bytes);

}  // namespace mcc
