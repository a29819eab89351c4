// See onnx_newer.h. Field numbers: onnx.proto of ONNX 1.16.
#include "frontend/onnx_newer.h"

#include <google/protobuf/unknown_field_set.h>

#include "base/base.h"

namespace mcc::frontend {
namespace {

constexpr int kNodeOverload = 8, kFunctionOverload = 13, kFunctionAttributeProto = 11;

template <typename Message>
std::vector<std::string> unknown_fields(const Message& message, int number) {
  const google::protobuf::UnknownFieldSet& fields = message.GetReflection()->GetUnknownFields(message);
  std::vector<std::string> found;
  for (int i = 0; i < fields.field_count(); i++) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      found.push_back(field.length_delimited());
  }
  return found;
}

template <typename Message>
std::string last_field(const Message& message, int number) {
  const std::vector<std::string> all = unknown_fields(message, number);
  return all.empty() ? "" : all.back();
}

}  // namespace

std::string overload_of(const onnx::NodeProto& node) { return last_field(node, kNodeOverload); }
std::string overload_of(const onnx::FunctionProto& function) { return last_field(function, kFunctionOverload); }

std::vector<onnx::AttributeProto> default_attributes(const onnx::FunctionProto& function) {
  std::vector<onnx::AttributeProto> attributes;
  for (const std::string& bytes : unknown_fields(function, kFunctionAttributeProto)) {
    if (!attributes.emplace_back().ParseFromString(bytes))
      fail("function '{}': the default of an attribute cannot be read", function.name());
  }
  return attributes;
}

}  // namespace mcc::frontend
