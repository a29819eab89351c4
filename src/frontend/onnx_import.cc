// ONNX files -> Graph: reading the file, the model's inputs with their shapes and bound values, and its outputs. The
// nodes between them are the walker's (onnx_walk.cc).
#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "frontend/counted.h"
#include "frontend/frontend.h"
#include "frontend/onnx_inputs.h"
#include "frontend/onnx_names.h"
#include "frontend/onnx_survey.h"
#include "frontend/onnx_unread.h"
#include "frontend/onnx_walk.h"

namespace mcc {
namespace {

namespace fs = std::filesystem;
using frontend::Builder;

void parse(google::protobuf::io::ZeroCopyInputStream& stream, const std::string& what, onnx::ModelProto& model) {
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  const bool parsed = model.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
  if (!parsed) fail("{}: not an ONNX model, or cut short", what);
  if (!model.has_graph()) fail("{}: holds no graph; not an ONNX model", what);
}

void check_opset(const onnx::ModelProto& model) {
  i64 version = 0;
  for (const auto& opset : model.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx") version = opset.version();
  if (version < 0 || version > frontend::kNewestOpset)
    fail("opset {} is not supported; the newest known is {}", version, frontend::kNewestOpset);
}

// The graph's outputs in order. An output that is an input, a constant or another output gets a node of its own, so
// that each output is a value that some node makes, under its own name (which an input may have too).
void add_outputs(const onnx::GraphProto& graph, frontend::Scope& scope, frontend::Walker& walker, Builder& builder) {
  Graph& g = builder.graph;
  std::vector<bool> fixed(g.values.size());
  std::vector<std::pair<std::string, ValueId>> counted;
  for (const ValueId v : g.inputs) fixed[at(v)] = true;
  for (const auto& output : graph.output()) {
    const std::string& name = output.name();
    const ValueId v = walker.find(name, scope);
    if (v == kNone) fail("an output of the model has no name");
    if (v < 0) fail("output '{}' is a sequence or an empty optional, not a tensor", name);
    if (builder.counted.contains(v)) counted.emplace_back(name, v);
    fixed.resize(g.values.size());
    if (!fixed[at(v)] && !builder.known(v)) {
      fixed[at(v)] = true;
      g.value(v).name = name;
      g.outputs.push_back(v);
      continue;
    }
    if (g.value(v).name == name && builder.known(v)) g.value(v).name = builder.unique(name);
    const ValueId copy = g.add_value(name, g.value(v).type);
    g.nodes.push_back({"Identity", name, {v}, {copy}, {}});
    g.outputs.push_back(copy);
  }
  if (g.outputs.empty()) fail("the model has no outputs");
  for (const auto& [name, v] : counted) {
    const ValueId shape = true_shape(builder, name, v);
    const std::string wanted = name + ":shape";
    if (builder.unique(wanted) != wanted) fail("the name '{}' is needed for the shape of output '{}'", wanted, name);
    g.value(shape).name = wanted;
    g.outputs.push_back(shape);
  }
}

void reserve_names(const onnx::GraphProto& graph, Builder& builder) {
  for (const auto& input : graph.input()) builder.reserve(input.name());
  for (const auto& output : graph.output()) builder.reserve(output.name());
  for (const auto& tensor : graph.initializer()) builder.reserve(tensor.name());
  for (const auto& node : graph.node())
    for (const std::string& name : node.output()) builder.reserve(name);
}

void make_names_text(Graph& graph) {
  for (Value& value : graph.values) value.name = frontend::valid_utf8(std::move(value.name));
  for (Node& node : graph.nodes) node.name = frontend::valid_utf8(std::move(node.name));
}

void make_names_text(Survey& survey) {
  std::map<std::string, i64> ops;
  for (const auto& [op, n] : survey.ops) ops[frontend::valid_utf8(op)] += n;
  survey.ops = std::move(ops);
  for (std::vector<ModelPort>* ports : {&survey.inputs, &survey.outputs})
    for (ModelPort& port : *ports) {
      port.name = frontend::valid_utf8(std::move(port.name));
      for (std::string& dim : port.dims) dim = frontend::valid_utf8(std::move(dim));
    }
  for (FreeDimension& dim : survey.free) {
    dim.input = frontend::valid_utf8(std::move(dim.input));
    dim.name = frontend::valid_utf8(std::move(dim.name));
  }
}

Graph import_model(onnx::ModelProto& model, const frontend::DataFolders& folders, const ImportOptions& options,
                   Survey* survey) {
  check_opset(model);
  frontend::drop_unread_outputs(model);
  Builder builder;
  frontend::Walker walker(builder, model, folders, survey);
  frontend::Scope scope;
  scope.is_main = true;
  reserve_names(model.graph(), builder);
  frontend::add_inputs(model.graph(), options, scope, builder, survey);
  walker.run(*model.mutable_graph(), scope, walker.main_frame());
  if (survey && !(survey->refusals.empty() && survey->free.empty())) return {};
  add_outputs(model.graph(), scope, walker, builder);
  make_names_text(builder.graph);
  return std::move(builder.graph);
}

constexpr size_t kMaxMessage = 1000;  // bytes; names come from the file and may hold anything

// Errors in a model name the file, once.
Graph import_named(onnx::ModelProto& model, const frontend::DataFolders& folders, const ImportOptions& options,
                   const std::string& what) {
  try {
    return import_model(model, folders, options, nullptr);
  } catch (const Error& error) {
    fail("{}: {}", what, one_line(error.what(), kMaxMessage));
  } catch (const std::bad_alloc&) {
    fail("{}: the model needs more memory than there is", what);
  } catch (const std::length_error&) {
    fail("{}: the model needs more memory than there is", what);
  }
}

void read_file(const fs::path& file, onnx::ModelProto& model) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("{}: cannot read: {}", file.string(), std::strerror(errno));
  google::protobuf::io::FileInputStream stream(fd, 1 << 20);
  stream.SetCloseOnDelete(true);
  std::error_code error;
  if (fs::is_directory(file, error)) fail("{}: is a folder, a file is needed", file.string());
  parse(stream, file.string(), model);
}

}  // namespace

Graph import_onnx(const fs::path& file, const ImportOptions& options) {
  onnx::ModelProto model;
  read_file(file, model);
  return import_named(model, frontend::data_folders(file), options, file.string());
}

Survey survey_onnx(const fs::path& file, const ImportOptions& options) {
  onnx::ModelProto model;
  read_file(file, model);
  Survey survey = frontend::describe_model(model);
  try {
    Graph graph = import_model(model, frontend::data_folders(file), options, &survey);
    if (survey.refusals.empty() && survey.free.empty()) survey.graph = std::move(graph);
  } catch (const Error& error) {
    survey.refusals.push_back({"model", "", error.what()});
  } catch (const std::bad_alloc&) {
    survey.refusals.push_back({"model", "", "needs more memory than there is"});
  } catch (const std::length_error&) {
    survey.refusals.push_back({"model", "", "needs more memory than there is"});
  }
  for (Refusal& refusal : survey.refusals)
    for (std::string* text : {&refusal.op, &refusal.node, &refusal.reason})
      *text =
          frontend::valid_utf8(one_line(std::move(*text), kMaxMessage));  // in this order: a cut may split a character
  make_names_text(survey);
  return survey;
}

Graph import_onnx_bytes(std::string_view bytes, const fs::path& folder_of_external_data, const ImportOptions& options) {
  if (bytes.size() > at(std::numeric_limits<int>::max()))
    fail("model: more than 2 GiB; such models keep weights in files of their own");
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  onnx::ModelProto model;
  parse(stream, "model", model);
  return import_named(model, {folder_of_external_data, {}}, options, "model");
}

}  // namespace mcc
