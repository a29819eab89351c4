// Operators that ONNX itself defines by a function of others (NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss,
// windows, ...) and for which the importer has no handler: libonnx knows the bodies, which become functions like those
// that a model brings along. Some bodies depend on the node's attributes and on the types of its inputs, so both are
// given; attributes left out take the operator's defaults.
#include <onnx/defs/schema.h>

#include "frontend/onnx_walk.h"

namespace mcc::frontend {
namespace {

int onnx_type(DType dtype) {
  using onnx::TensorProto;
  switch (dtype) {
    case DType::f32: return TensorProto::FLOAT;
    case DType::f64: return TensorProto::DOUBLE;
    case DType::f16: return TensorProto::FLOAT16;
    case DType::bf16: return TensorProto::BFLOAT16;
    case DType::i8: return TensorProto::INT8;
    case DType::i16: return TensorProto::INT16;
    case DType::i32: return TensorProto::INT32;
    case DType::i64: return TensorProto::INT64;
    case DType::u8: return TensorProto::UINT8;
    case DType::u16: return TensorProto::UINT16;
    case DType::u32: return TensorProto::UINT32;
    case DType::u64: return TensorProto::UINT64;
    case DType::boolean: return TensorProto::BOOL;
  }
  return TensorProto::UNDEFINED;
}

void set_tensor_type(const TensorType& type, onnx::TypeProto& proto) {
  proto.mutable_tensor_type()->set_elem_type(onnx_type(type.dtype));
  for (const i64 extent : type.shape) proto.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(extent);
}

// The elements of a sequence may have different shapes: only what they are made of is told.
void set_sequence_type(const OnnxCall& call, const std::vector<ValueId>& items, onnx::TypeProto& proto) {
  onnx::TypeProto& element = *proto.mutable_sequence_type()->mutable_elem_type();
  const DType dtype = items.empty() || items[0] < 0 ? DType::f32 : call.builder.type(items[0]).dtype;
  element.mutable_tensor_type()->set_elem_type(onnx_type(dtype));
}

std::vector<onnx::TypeProto> input_types(const OnnxCall& call) {
  std::vector<onnx::TypeProto> types;
  for (const ValueId v : call.in) {
    onnx::TypeProto& type = types.emplace_back();
    if (is_sequence(v)) set_sequence_type(call, call.builder.sequence(v), type);
    if (v >= 0) set_tensor_type(call.builder.type(v), type);
  }
  return types;
}

// The node with all attributes written out: neither references to a caller's nor defaults.
onnx::NodeProto resolved(const onnx::NodeProto& node, const onnx::OpSchema& schema, const Frame& frame) {
  onnx::NodeProto full = node;
  full.clear_attribute();
  for (const auto& attribute : node.attribute()) {
    const onnx::AttributeProto* value = find_attribute(node, attribute.name(), frame);
    if (!value) continue;
    *full.add_attribute() = *value;
    full.mutable_attribute(full.attribute_size() - 1)->set_name(attribute.name());
  }
  for (const auto& [name, about] : schema.attributes()) {
    const bool given = std::any_of(full.attribute().begin(), full.attribute().end(),
                                   [&, &key = name](const auto& attribute) { return attribute.name() == key; });
    if (given || about.default_value.name().empty()) continue;
    *full.add_attribute() = about.default_value;
  }
  return full;
}

}  // namespace

bool is_standard_function(const std::string& op, i64 opset, const std::string& domain) {
  const auto* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset), domain);
  return schema && (schema->HasFunction() || schema->HasContextDependentFunction());
}

std::optional<StandardFunction> standard_function(const onnx::NodeProto& node, const std::string& domain,
                                                  const OnnxCall& call, const Frame& frame) {
  if (!is_standard_function(call.op, call.opset, domain)) return std::nullopt;
  const auto* schema = onnx::OpSchemaRegistry::Schema(call.op, static_cast<int>(call.opset), domain);
  StandardFunction function;
  function.node = resolved(node, *schema, frame);
  try {
    if (schema->HasFunction()) {
      function.body = *schema->GetFunction();
      return function;
    }
    const onnx::FunctionBodyBuildContextImpl context(function.node, input_types(call));
    if (schema->BuildContextDependentFunction(context, function.body)) return function;
    return std::nullopt;
  } catch (const std::exception& error) {
    fail("its definition does not take this: {}", error.what());
  }
}

}  // namespace mcc::frontend
