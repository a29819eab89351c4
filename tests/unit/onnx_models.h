// Small ONNX models made in the test that needs them.
#pragma once
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "frontend/frontend.h"

namespace mcc {

// A free dimension is given by its name, a known one by its extent as text.
struct OnnxModel {
  onnx::ModelProto proto;

  explicit OnnxModel(int opset = 13) {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
  }
  onnx::GraphProto& graph() { return *proto.mutable_graph(); }

  OnnxModel& input(const std::string& name, const std::vector<std::string>& dims,
                   int elem_type = onnx::TensorProto::FLOAT) {
    add_value(*graph().add_input(), name, dims, elem_type);
    return *this;
  }
  OnnxModel& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  OnnxModel& ints(const std::string& name, const std::vector<i64>& values) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<i64>(values.size()));
    for (const i64 value : values) tensor.add_int64_data(value);
    return *this;
  }
  OnnxModel& floats(const std::string& name, const std::vector<i64>& dims, const std::vector<float>& values) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const i64 dim : dims) tensor.add_dims(dim);
    for (const float value : values) tensor.add_float_data(value);
    return *this;
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& in,
                        const std::vector<std::string>& out) {
    return add_node(graph(), op, in, out);
  }
  std::string bytes() const { return proto.SerializeAsString(); }
  Graph import(const ImportOptions& options = {}) const { return import_onnx_bytes(bytes(), {}, options); }
  std::string error(const ImportOptions& options = {}) const {
    try {
      import(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  static void add_value(onnx::ValueInfoProto& info, const std::string& name, const std::vector<std::string>& dims,
                        int elem_type) {
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(elem_type);
    type.mutable_shape();
    for (const std::string& dim : dims) {
      auto& added = *type.mutable_shape()->add_dim();
      if (dim.find_first_not_of("-0123456789") == std::string::npos && !dim.empty())
        added.set_dim_value(std::stoll(dim));
      else if (dim != "?")
        added.set_dim_param(dim);
    }
  }
  template <typename Owner>
  static onnx::NodeProto& add_node(Owner& owner, const std::string& op, const std::vector<std::string>& in,
                                   const std::vector<std::string>& out) {
    onnx::NodeProto& node = *owner.add_node();
    node.set_op_type(op);
    for (const std::string& name : in) node.add_input(name);
    for (const std::string& name : out) node.add_output(name);
    if (!out.empty()) node.set_name(op + "_" + out[0]);
    return node;
  }
};

// With one input x of these dimensions and one output y.
inline OnnxModel model_of(int opset, const std::vector<std::string>& dims) {
  OnnxModel model(opset);
  model.input("x", dims).output("y");
  return model;
}

constexpr int kUint4 = 21, kInt4 = 22;  // element types that libonnx may not know yet

inline Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(DType::f32, std::move(shape), values);
}

inline void expect_refused(const OnnxModel& model, const std::string& reason) {
  EXPECT_NE(model.error().find(reason), std::string::npos) << model.error();
}

inline onnx::AttributeProto& attribute(onnx::NodeProto& node, const std::string& name) {
  onnx::AttributeProto& added = *node.add_attribute();
  added.set_name(name);
  return added;
}
inline void set_int(onnx::NodeProto& node, const std::string& name, i64 value) {
  onnx::AttributeProto& added = attribute(node, name);
  added.set_type(onnx::AttributeProto::INT);
  added.set_i(value);
}
inline void set_ints(onnx::NodeProto& node, const std::string& name, const std::vector<i64>& values) {
  onnx::AttributeProto& added = attribute(node, name);
  added.set_type(onnx::AttributeProto::INTS);
  for (const i64 value : values) added.add_ints(value);
}
inline void set_floats(onnx::NodeProto& node, const std::string& name, const std::vector<float>& values) {
  onnx::AttributeProto& added = attribute(node, name);
  added.set_type(onnx::AttributeProto::FLOATS);
  for (const float value : values) added.add_floats(value);
}
inline void set_string(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  onnx::AttributeProto& added = attribute(node, name);
  added.set_type(onnx::AttributeProto::STRING);
  added.set_s(value);
}
inline void set_float(onnx::NodeProto& node, const std::string& name, float value) {
  onnx::AttributeProto& added = attribute(node, name);
  added.set_type(onnx::AttributeProto::FLOAT);
  added.set_f(value);
}
inline onnx::GraphProto& set_graph(onnx::NodeProto& node, const std::string& name) {
  onnx::AttributeProto& added = attribute(node, name);
  added.set_type(onnx::AttributeProto::GRAPH);
  return *added.mutable_g();
}

}  // namespace mcc
