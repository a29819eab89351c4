// The model's inputs: which ones there are, their static shapes, and those that the user has bound to a value.
//
// A dimension is known by the model, by --shape for its input, by --dim for its name, by the .npy file of --bind, or
// because --shape has fixed the same name elsewhere. One that is left open is an error that names it and the options.
#include "frontend/onnx_inputs.h"

#include <algorithm>

#include "base/text.h"
#include "frontend/onnx_names.h"
#include "frontend/onnx_weights.h"
#include "graph/npy.h"

namespace mcc::frontend {
namespace {

struct Dim {
  i64 extent = -1;   // -1: free
  std::string name;  // of a symbolic dimension
};

struct Input {
  std::string name;
  DType dtype = DType::f32;
  bool four_bits = false;
  bool has_rank = false;
  std::vector<Dim> dims;
};

using NamedDims = std::map<std::string, i64>;

Input read_input(const onnx::ValueInfoProto& info) {
  Input input;
  input.name = info.name();
  const std::string what = fmt::format("input '{}'", info.name());
  if (input.name.empty()) fail("an input of the model has no name");
  if (valid_utf8(input.name) != input.name) fail("{}: its name is not UTF-8; options could not name it", what);
  if (!info.has_type()) fail("{}: no type is given", what);
  if (!info.type().has_tensor_type()) fail("{}: only tensors are supported, not sequences, maps or optionals", what);
  const auto& type = info.type().tensor_type();
  input.dtype = storage_dtype(type.elem_type(), what);
  input.four_bits = is_four_bits(type.elem_type());
  input.has_rank = type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    const bool known = dim.has_dim_value() && dim.dim_value() >= 0;
    input.dims.push_back({known ? dim.dim_value() : -1, dim.dim_param()});
  }
  return input;
}

// The extents that the user gives for one input must agree with what the model says.
void apply_shape(Input& input, const Shape& shape, const std::string& option, NamedDims& named) {
  if (!input.has_rank) input.dims.resize(shape.size());
  input.has_rank = true;
  if (shape.size() != input.dims.size())
    fail("input '{}': {} gives {} dimensions, the model has {}", input.name, option, shape.size(), input.dims.size());
  for (size_t d = 0; d < shape.size(); d++) {
    Dim& dim = input.dims[d];
    if (shape[d] < 0) fail("input '{}': {} gives a negative dimension {}", input.name, option, d);
    const bool fixed =
        dim.extent > 0 || (dim.extent == 0 && shape[d] == 0);  // some write 0 for a dimension that is free
    if (fixed && dim.extent != shape[d])
      fail("input '{}': {} gives {} for dimension {}, the model has {}", input.name, option, shape[d], d, dim.extent);
    dim.extent = shape[d];
    if (dim.name.empty()) continue;
    const auto [found, is_new] = named.emplace(dim.name, shape[d]);
    if (!is_new && found->second != shape[d])
      fail("dimension '{}' is {} for input '{}' but {} elsewhere", dim.name, shape[d], input.name, found->second);
  }
}

void require_rank(const Input& input) {
  if (!input.has_rank) fail("input '{}' has no shape; give --shape={}:1x3x224x224", input.name, input.name);
}

std::vector<FreeDimension> free_dimensions(const Input& input) {
  std::vector<FreeDimension> open;
  for (size_t d = 0; d < input.dims.size(); d++)
    if (input.dims[d].extent < 0) open.push_back({input.name, static_cast<i64>(d), input.dims[d].name});
  return open;
}

// "dimensions 0 ('batch'), 2 of input 'x'"
std::string open_dims(const Input& input) {
  std::vector<std::string> open;
  for (const FreeDimension& dim : free_dimensions(input))
    open.push_back(dim.name.empty() ? std::to_string(dim.axis) : fmt::format("{} ('{}')", dim.axis, dim.name));
  return fmt::format("dimension{} {}", open.size() > 1 ? "s" : "", join(open, ", "));
}

std::string shape_option(const Input& input) {
  std::vector<std::string> example;
  for (const Dim& dim : input.dims) example.push_back(std::to_string(dim.extent < 0 ? 1 : dim.extent));
  return fmt::format("--shape={}:{}", input.name, join(example, "x"));
}

// All that is still open, in one line, and the options that would close it.
void require_closed(const std::vector<Input>& inputs) {
  std::vector<std::string> open, by_shape, by_dim;
  for (const Input& input : inputs) {
    require_rank(input);
    const std::vector<FreeDimension> dims = free_dimensions(input);
    if (dims.empty()) continue;
    open.push_back(fmt::format("input '{}': {} {} free", input.name, open_dims(input), dims.size() > 1 ? "are" : "is"));
    by_shape.push_back(shape_option(input));
    for (const FreeDimension& dim : dims) {
      const std::string option = fmt::format("--dim={}=1", dim.name);
      if (!dim.name.empty() && std::find(by_dim.begin(), by_dim.end(), option) == by_dim.end())
        by_dim.push_back(option);
    }
  }
  if (open.empty()) return;
  fail("{}; give {}{}{}", join(open, ", "), join(by_shape, " "), by_dim.empty() ? "" : " or ", join(by_dim, " "));
}

std::vector<Input> read_inputs(const onnx::GraphProto& graph, const ImportOptions& options,
                               const std::unordered_map<std::string, int>& initialized, Scope& scope, Survey* survey) {
  std::vector<Input> inputs;
  for (const auto& info : graph.input()) {
    if (initialized.contains(info.name()) && !options.binds.contains(info.name())) continue;
    try {
      inputs.push_back(read_input(info));
    } catch (const Error& error) {
      if (!survey) throw;
      const std::string prefix = fmt::format("input '{}': ", info.name()), text = error.what();
      survey->refusals.push_back({"input", info.name(), text.starts_with(prefix) ? text.substr(prefix.size()) : text});
      scope.values.emplace(info.name(), kRefused);
    }
  }
  return inputs;
}

// Notes an input that is not static; true if so.
bool survey_open(const Input& input, Survey& survey) {
  if (!input.has_rank)
    survey.refusals.push_back(
        {"input", input.name, fmt::format("has no shape; give --shape={}:1x3x224x224", input.name)});
  const std::vector<FreeDimension> open = free_dimensions(input);
  survey.free.insert(survey.free.end(), open.begin(), open.end());
  return !input.has_rank || !open.empty();
}

Tensor convert(const Tensor& from, DType dtype) {
  if (from.type.dtype == dtype) return from;
  Tensor to(TensorType{dtype, from.type.shape});
  for (i64 i = 0; i < from.size(); i++) {
    if (is_float(dtype) || is_float(from.type.dtype))
      to.set(i, from.get(i));
    else
      to.set_int(i, from.get_int(i));
    if (to.get(i) != from.get(i) && from.get(i) == from.get(i) && !is_float(dtype))
      fail("element {} of the file, {}, is not a value of type {}", i, from.get(i), name(dtype));
  }
  return to;
}

Tensor number_everywhere(const std::string& text, const TensorType& type) {
  const std::string_view word = text == "true" ? "1" : text == "false" ? "0" : std::string_view(text);
  const auto whole = to_i64(word);
  const auto number = to_double(word);
  if (!number || (!is_float(type.dtype) && !whole))
    fail("'{}' is neither a .npy file nor a value of type {}", text, name(type.dtype));
  Tensor tensor(type);
  for (i64 i = 0; i < tensor.size(); i++) {
    if (is_float(type.dtype) || type.dtype == DType::boolean)
      tensor.set(i, *number);
    else
      tensor.set_int(i, *whole);
  }
  return tensor;
}

Shape static_shape(const Input& input) {
  Shape shape;
  for (const Dim& dim : input.dims) shape.push_back(dim.extent);
  return shape;
}

void check_names(const ImportOptions& options, const std::vector<Input>& inputs) {
  std::vector<std::string> names, dims;
  for (const Input& input : inputs) {
    names.push_back(input.name);
    for (const Dim& dim : input.dims)
      if (!dim.name.empty() && std::find(dims.begin(), dims.end(), dim.name) == dims.end()) dims.push_back(dim.name);
  }
  const auto check = [](const auto& given, const std::vector<std::string>& known, std::string_view option,
                        std::string_view kind) {
    for (const auto& item : given)
      if (std::find(known.begin(), known.end(), item.first) == known.end())
        fail("--{} names '{}', but the model has no such {}; it has: {}", option, item.first, kind,
             known.empty() ? "none" : join(known, ", "));
  };
  check(options.shapes, names, "shape", "input");
  check(options.binds, names, "bind", "input");
  check(options.dims, dims, "dim", "named dimension");
  for (const auto& [dim, extent] : options.dims)
    if (extent < 0) fail("--dim={}={} is negative", dim, extent);
}

using Files = std::unordered_map<std::string, Tensor>;  // of --bind, by input

// Applies all options that fix dimensions.
Files close_dimensions(std::vector<Input>& inputs, const ImportOptions& options) {
  NamedDims named(options.dims.begin(), options.dims.end());
  Files files;
  for (Input& input : inputs) {
    if (const auto shape = options.shapes.find(input.name); shape != options.shapes.end())
      apply_shape(input, shape->second, "--shape", named);
    const auto bind = options.binds.find(input.name);
    if (bind == options.binds.end() || !bind->second.ends_with(".npy")) continue;
    const Tensor& tensor = files.emplace(input.name, read_npy(bind->second)).first->second;
    apply_shape(input, tensor.type.shape, "--bind", named);
  }
  for (Input& input : inputs)
    for (Dim& dim : input.dims)
      if (const auto found = named.find(dim.name); dim.extent < 0 && found != named.end()) dim.extent = found->second;
  return files;
}

}  // namespace

ModelPort port_of(const onnx::ValueInfoProto& info) {
  ModelPort port{info.name(), "?", {}};
  if (!info.type().has_tensor_type()) return port;
  try {
    port.dtype = name(storage_dtype(info.type().tensor_type().elem_type(), ""));
  } catch (const Error&) {  // refused elsewhere, with the reason
  }
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    const bool known = dim.has_dim_value() && dim.dim_value() >= 0;
    port.dims.emplace_back(known ? std::to_string(dim.dim_value()) : dim.dim_param().empty() ? "?" : dim.dim_param());
  }
  if (!info.type().tensor_type().has_shape()) port.dims.emplace_back("...");
  return port;
}

void add_inputs(const onnx::GraphProto& graph, const ImportOptions& options, Scope& scope, Builder& builder,
                Survey* survey) {
  std::unordered_map<std::string, int> initialized;  // files of old IR versions list initialisers among the inputs
  for (const auto& tensor : graph.initializer()) initialized[tensor.name()]++;
  std::vector<Input> inputs = read_inputs(graph, options, initialized, scope, survey);
  check_names(options, inputs);

  const Files files = close_dimensions(inputs, options);
  if (!survey) require_closed(inputs);
  int number = 0;  // counts as ONNX Runtime does: without initialised inputs
  for (const Input& input : inputs) {
    if (survey && survey_open(input, *survey)) {
      scope.values.emplace(input.name, kRefused);
      continue;
    }
    const TensorType type{input.dtype, static_shape(input)};
    require_possible(type, fmt::format("input '{}'", input.name));
    ValueId id = kNone;
    if (const auto file = files.find(input.name); file != files.end()) {
      id = builder.graph.add_constant(input.name, convert(file->second, input.dtype));
    } else if (const auto bind = options.binds.find(input.name); bind != options.binds.end()) {
      builder.reserve_constant(type, "the bound value");
      id = builder.graph.add_constant(input.name, number_everywhere(bind->second, type));
    } else {
      id = builder.graph.add_value(input.name, type);
      builder.graph.values.back().number = number;
      builder.graph.inputs.push_back(id);
    }
    if (input.four_bits) builder.four_bits.insert(id);
    if (!initialized.contains(input.name)) number++;
    if (!scope.values.emplace(input.name, id).second) fail("input '{}' is defined twice", input.name);
  }
}

}  // namespace mcc::frontend
