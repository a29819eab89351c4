// See manifest.h. Keys are written in a fixed order; nothing tells when, where or by whom the artifact was made.
#include "package/manifest.h"

#include <cctype>
#include <set>

#include "base/hash.h"
#include "base/json.h"
#include "base/version.h"
#include "codegen/codegen.h"
#include "graph/print.h"
#include "loop/loop_ops.h"
#include "package/link.h"

namespace mcc {
namespace {

using Json = nlohmann::ordered_json;

Json tensors(const Graph& graph, const std::vector<ValueId>& values) {
  Json list = Json::array();
  for (size_t i = 0; i < values.size(); i++) {
    const Value& value = graph.value(values[i]);
    list.push_back({{"name", value.name},
                    {"dtype", std::string(name(value.type.dtype))},
                    {"shape", value.type.shape},
                    {"bytes", bytes(value.type)},
                    {"number", tensor_number(graph, values, i)}});
  }
  return list;
}

// Bytes that a kernel must touch at least: each of its arguments once.
i64 argument_bytes(const Graph& graph, const KernelCall& call) {
  i64 total = 0;
  for (const ValueId v : std::set<ValueId>(call.args.begin(), call.args.end())) total += bytes(graph.value(v).type);
  return total;
}

Json kernel_list(const Contents& c) {
  Json list = Json::array();
  for (size_t call = 0; call < c.model.calls.size(); call++) {
    const Kernel& kernel = c.kernels.kernels[at(c.kernels.of_call[call])];
    list.push_back({{"symbol", kernel.symbol},
                    {"name", c.model.calls[call].func.name},
                    {"task", kernel.task},
                    {"record", kernel.record},
                    {"nodes", c.model.calls[call].nodes},
                    {"flops", loop::flops(c.model.calls[call].func)},
                    {"bytes", argument_bytes(c.model.graph, c.model.calls[call])},
                    {"scratch", scratch_bytes(kernel.func, c.options.target.cores)}});
  }
  return list;
}

// Of the graph as it was compiled, constants by their hash.
std::string model_hash(const Contents& c) {
  std::string text = print(c.model.graph);
  for (const Value& value : c.model.graph.values) {
    if (value.constant)
      text += hash_hex(
          {reinterpret_cast<const char*>(value.constant->bytes()), static_cast<size_t>(value.constant->byte_size())});
  }
  return hash_hex(text);
}

std::string upper_identifier(std::string_view text) {
  std::string out;
  for (const char ch : text)
    out += std::isalnum(static_cast<unsigned char>(ch))
               ? static_cast<char>(std::toupper(static_cast<unsigned char>(ch)))
               : '_';
  return out;
}

// Names that differ in case or signs only keep their number as their constant's name.
std::string tensor_constants(const std::string& prefix, const Graph& graph, const std::vector<ValueId>& values,
                             std::string_view kind) {
  std::string text = fmt::format("#define {}_{}S {}\n", prefix, kind, values.size());
  std::set<std::string> used;
  for (size_t i = 0; i < values.size(); i++) {
    const Value& value = graph.value(values[i]);
    const std::string own = upper_identifier(value.name);
    if (used.insert(own).second)
      text += fmt::format("#define {}_{}_{} {} /* {} */\n", prefix, kind, own, i, to_string(value.type));
    text += fmt::format("#define {}_{}{}_BYTES {}\n", prefix, kind, i, bytes(value.type));
  }
  return text;
}

}  // namespace

const char* main_file(const std::string& emit) {
  if (emit == "so") return "model.so";
  if (emit == "a") return "model.a";
  if (emit == "obj") return "model.o";
  if (emit == "exe") return "model";
  if (emit == "c") return "model.c";
  fail("--emit={}: want so, a, obj, exe or c", emit);
}

std::string manifest_json(const Contents& c, const ManifestFacts& facts) {
  Json files = Json::object();
  for (const auto& [file, hash] : facts.file_hashes) files[file] = hash;
  const Json manifest = {{"manifest_version", kManifestVersion},
                         {"mcc", kVersion},
                         {"abi", MCC_ABI_VERSION},
                         {"model", c.name},
                         {"emit", c.options.emit},
                         {"file", main_file(c.options.emit)},
                         {"threads", c.options.target.cores},
                         {"inputs", tensors(c.model.graph, c.model.graph.inputs)},
                         {"outputs", tensors(c.model.graph, c.model.graph.outputs)},
                         {"peak_arena_bytes", c.plan.arena_bytes},
                         {"weight_bytes", c.weights.bytes},
                         {"code_bytes", facts.code_bytes},
                         {"kernels", kernel_list(c)},
                         {"target", Json::parse(to_json(c.options.target))},
                         {"hashes", {{"model", model_hash(c)}, {"files", files}}}};
  return json_text(manifest, 1) + "\n";
}

std::string model_header(const Contents& c) {
  const std::string prefix = upper_identifier(c.name);
  std::string text = fmt::format(
      "/* Compiled model {}: its inputs and outputs, then the C interface that all compiled models share. */\n",
      c.name);
  text += fmt::format("#ifndef MCC_MODEL_{0}_H\n#define MCC_MODEL_{0}_H\n\n", prefix);
  text += tensor_constants(prefix, c.model.graph, c.model.graph.inputs, "INPUT");
  text += tensor_constants(prefix, c.model.graph, c.model.graph.outputs, "OUTPUT");
  text += fmt::format("#define {0}_ARENA_BYTES {1}\n#define {0}_ARENA_ALIGN 64\n#define {0}_THREADS {2}\n\n", prefix,
                      c.plan.arena_bytes, c.options.target.cores);
  text += runtime_blob("src/mcc_runtime.h");
  text += "\n#ifdef __cplusplus\nextern \"C\"\n#endif\n";
  text += fmt::format(
      "/* This model by its own name, for programs that link several (static libraries and objects). */\nextern const "
      "mcc_model {};\n#endif\n",
      table_symbol(c));
  return text;
}

}  // namespace mcc
