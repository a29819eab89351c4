// Convolutions and products in one node with what follows or precedes them, as ONNX Runtime saves models that it has
// optimised (com.microsoft). They become the plain operators again; the compiler fuses by rules of its own.
#include <algorithm>

#include "base/text.h"
#include "frontend/importer.h"

namespace mcc::frontend {
namespace {

// The functions that may follow, with the attributes they are given by.
struct Activation {
  std::string_view name, params;
};
constexpr Activation kActivations[] = {
    {"Clip", "min max"},
    {"Elu", "alpha"},
    {"HardSigmoid", "alpha beta"},
    {"LeakyRelu", "alpha"},
    {"Relu", ""},
    {"Selu", "alpha gamma"},
    {"Sigmoid", ""},
    {"Softplus", ""},
    {"Softsign", ""},
    {"Tanh", ""},
    {"ThresholdedRelu", "alpha"},
};
constexpr std::string_view kActivationLimits =
    "activations Clip, Elu, HardSigmoid, LeakyRelu, Relu, Selu, Sigmoid, Softplus, Softsign, Tanh and ThresholdedRelu";

std::vector<std::string> parameters_of(const std::string& activation) {
  const auto* row = std::find_if(std::begin(kActivations), std::end(kActivations),
                                 [&](const Activation& a) { return a.name == activation; });
  if (row == std::end(kActivations)) fail("activation '{}' is not supported", activation);
  return split_words(std::string(row->params));
}

// The attributes but those that begin with "activation".
Attrs without_activation(const Attrs& attrs) {
  Attrs rest;
  for (const auto& [name, value] : attrs.items)
    if (!name.starts_with("activation")) rest.set(name, value);
  return rest;
}

// Inputs X, W, B?, Z?: activation(conv(X, W) + B + Z), its parameters in one list.
Outputs fused_conv(OnnxCall& call) {
  take_inputs(call, 4);
  ValueId y =
      import_as(call, "Conv", {call.need(0, "X"), call.need(1, "W"), call.input(2)}, without_activation(call.attrs));
  const Shape shape = call.builder.shape(y);
  if (call.has(3)) y = call.emit1("Add", {y, call.in[3]});
  if (call.builder.shape(y) != shape) fail("Z {} does not fit {}", to_string(call.shape(3)), to_string(shape));
  const std::string activation = call.attrs.get_string("activation", "");
  const std::vector<double> values = call.attrs.get_floats("activation_params", {});
  const std::vector<std::string> names = activation.empty() ? std::vector<std::string>{} : parameters_of(activation);
  if (values.size() != names.size())
    fail("activation '{}' takes {} parameters, not {}", activation, names.size(), values.size());
  if (activation.empty()) return {y};
  Attrs attrs;
  for (size_t i = 0; i < names.size(); i++) attrs.set(names[i], values[i]);
  return call.emit(activation, {y}, std::move(attrs));
}

// The activation's parameters are attributes activation_alpha and so on.
ValueId activated(const OnnxCall& call, ValueId y) {
  const std::string activation = call.attrs.get_string("activation", "");
  const std::vector<std::string> names = activation.empty() ? std::vector<std::string>{} : parameters_of(activation);
  Attrs attrs;
  for (const char* name : {"alpha", "beta", "gamma"}) {
    const std::string key = std::string("activation_") + name;
    if (!call.attrs.has(key)) continue;
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("activation '{}' takes no {}", activation, name);
    attrs.set(name, call.attrs.get_float(key, 0));
  }
  return activation.empty() ? y : call.emit1(activation, {y}, std::move(attrs));
}

Outputs fused_gemm(OnnxCall& call) {
  take_inputs(call, 3);
  const ValueId y = import_as(call, "Gemm", call.in, without_activation(call.attrs));
  return {activated(call, y)};
}

// transBatch: the first dimension moves behind the batch's. trans: the last two change places. Vectors stay.
ValueId arranged(const OnnxCall& call, size_t i, const char* trans, const char* trans_batch) {
  const ValueId v = call.need(i, i == 0 ? "A" : "B");
  const i64 rank = call.builder.rank(v);
  std::vector<i64> perm = range(rank);
  if (rank > 2 && call.attrs.get_int(trans_batch, 0) != 0) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (rank > 1 && call.attrs.get_int(trans, 0) != 0) std::swap(perm[at(rank - 1)], perm[at(rank - 2)]);
  return perm == range(rank) ? v : call.transpose(v, perm);
}

Outputs fused_matmul(OnnxCall& call) {
  take_inputs(call, 2);
  const ValueId a = arranged(call, 0, "transA", "transBatchA"), b = arranged(call, 1, "transB", "transBatchB");
  ValueId y = call.emit1("MatMul", {a, b});
  const double alpha = call.attrs.get_float("alpha", 1);
  if (alpha != 1) y = call.emit1("Mul", {y, call.scalar(call.builder.type(y).dtype, alpha)});
  return {activated(call, y)};
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft.FusedConv", fused_conv,
     "activation activation_params auto_pad dilations group kernel_shape pads strides", kActivationLimits},
    {"com.microsoft.FusedGemm", fused_gemm,
     "activation activation_alpha activation_beta activation_gamma alpha beta transA transB", kActivationLimits},
    {"com.microsoft.FusedMatMul", fused_matmul, "alpha transA transB transBatchA transBatchB"},
    {"com.microsoft.FusedMatMulActivation", fused_matmul,
     "activation activation_alpha activation_beta activation_gamma alpha transA transB transBatchA transBatchB",
     kActivationLimits},
    {"com.microsoft.TransposeMatMul", fused_matmul, "alpha transA transB"},
};

}  // namespace

std::span<const OnnxOp> fused_imports() { return kOps; }

}  // namespace mcc::frontend
