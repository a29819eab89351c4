// ONNX files -> Graph. Only this folder knows protobuf. Opset differences end in onnx_compat.cc, weights in
// onnx_weights.cc.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace mcc {

struct ImportOptions {
  std::map<std::string, Shape> shapes;  // --shape=INPUT:1x3x224x224
  std::map<std::string, i64> dims;      // --dim=batch=1
  // --bind=INPUT=VALUE: a number for all elements, or a .npy file; the input becomes a constant.
  std::map<std::string, std::string> binds;
};

// Imports, with shapes inferred, opset differences resolved, shape arithmetic and everything constant folded away.
// Throws Error: unreadable file, unsupported op/type/attribute (names node, op, reason), free dimension (names it and
// the option).
Graph import_onnx(const std::filesystem::path& file, const ImportOptions& options = {});
Graph import_onnx_bytes(std::string_view bytes, const std::filesystem::path& folder_of_external_data,
                        const ImportOptions& options = {});

// Everything that stands in a model's way, not only the first thing.
struct Refusal {
  std::string op, node, reason;  // op "input", "output" or "model" for what is no node
};
struct FreeDimension {
  std::string input;
  i64 axis = 0;
  std::string name;  // empty: only --shape can close it
};
struct ModelPort {
  std::string name, dtype;
  std::vector<std::string> dims;  // a number, a name, or ?; just ... where the rank is open
};
struct Survey {
  std::map<std::string, i64> ops;  // the file's operators ("domain.Op" outside ai.onnx) and how often each occurs
  std::vector<ModelPort> inputs, outputs;
  std::vector<FreeDimension> free;  // nodes that depend on one are only checked for being known at all
  std::vector<Refusal> refusals;
  std::optional<Graph> graph;  // when nothing stands in the way
};
// Throws Error only for files that hold no model.
Survey survey_onnx(const std::filesystem::path& file, const ImportOptions& options = {});

// docs/ONNX.md: the operators that can be imported, with versions, types, attributes and limits.
std::string onnx_operators_page();

// A serialised ONNX TensorProto (*.pb of the node tests).
Tensor tensor_from_proto_bytes(std::string_view bytes);

}  // namespace mcc
