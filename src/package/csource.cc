// See csource.h. The tables are those of table.cc, as initialisers; weights are 64-bit words in hexadecimal, which
// compilers read faster than bytes and which keep their alignment.
#include "package/csource.h"

#include <cstring>
#include <fstream>

#include "base/file.h"
#include "codegen/codegen.h"
#include "package/link.h"

namespace mcc {
namespace fs = std::filesystem;
namespace {

std::string c_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    if (byte < 32 || byte == 127)
      out += fmt::format("\\{:03o}", byte);
    else
      out += c;
  }
  return out + "\"";
}

std::string tensor_tables(const Graph& graph, const std::vector<ValueId>& values, std::string_view kind) {
  std::string shapes, rows;
  for (size_t i = 0; i < values.size(); i++) {
    const Value& value = graph.value(values[i]);
    const Shape& shape = value.type.shape;
    if (!shape.empty())
      shapes += fmt::format("static const int64_t {}_shape_{}[] = {{{}}};\n", kind, i, fmt::join(shape, ", "));
    rows += fmt::format("  {{{}, {}, {}, {}, {}, {}}},\n", c_string(value.name), static_cast<int>(value.type.dtype),
                        shape.size(), shape.empty() ? "0" : fmt::format("{}_shape_{}", kind, i), bytes(value.type),
                        tensor_number(graph, values, i));
  }
  return shapes + fmt::format("static const mcc_tensor_info {}s[] = {{\n{}  {{0, 0, 0, 0, 0, 0}}}};\n", kind, rows);
}

std::string step_tables(const Contents& c) {
  std::string text, rows;
  for (const Kernel& kernel : c.kernels.kernels)
    text += fmt::format("void {}(void* const* args, char* scratch, mcc_runtime* rt);\n", kernel.symbol);
  for (size_t call = 0; call < c.model.calls.size(); call++) {
    const std::vector<mcc_location> args = locations(c, call);
    text += fmt::format("static const mcc_location args_{}[] = {{", call);
    for (const mcc_location& at : args) text += fmt::format("{{{}, 0, {}}}, ", at.base, at.offset);
    text += "};\n";
    rows += fmt::format("  {{{}, args_{}, {}, 0, {}, {}}},\n",
                        c.kernels.kernels[static_cast<size_t>(c.kernels.of_call[call])].symbol, call, args.size(),
                        c.plan.scratch[call], c_string(c.model.calls[call].func.name));
  }
  return text + fmt::format("static const mcc_step steps[] = {{\n{}  {{0, 0, 0, 0, 0, 0}}}};\n", rows);
}

std::string model_source(const Contents& c) {
  const Graph& graph = c.model.graph;
  std::string text =
      fmt::format("/* Compiled model {}: its static description. */\n#include \"runtime/mcc_runtime.h\"\n\n", c.name);
  text += fmt::format("extern const uint64_t {}[];\n", weights_symbol(c));
  text += tensor_tables(graph, graph.inputs, "input") + tensor_tables(graph, graph.outputs, "output") + step_tables(c);
  text += fmt::format(
      "const mcc_model {} = {{MCC_ABI_VERSION, {}, {}, {}, {}, {}, {}, inputs, outputs, {}, 64, steps, (const "
      "char*){}, {}}};\n",
      table_symbol(c), c.options.target.cores, c_string(c.name), graph.inputs.size(), graph.outputs.size(),
      c.model.calls.size(), max_args(c), c.plan.arena_bytes, weights_symbol(c), c.weights.bytes);
  text += fmt::format("const mcc_model* mcc_model_get(void) {{ return &{}; }}\n", table_symbol(c));
  return text;
}

void write_weights(const fs::path& file, const Contents& c) {
  std::ofstream out(file);
  out << fmt::format(
      "/* The weights of {}, little-endian words. */\n#include <stdint.h>\n\n_Alignas(64) const uint64_t {}[] = {{\n",
      c.name, weights_symbol(c));
  i64 at = 0;
  const auto put = [&](u64 word) {
    out << fmt::format("0x{:x},", word);
    if (++at % 8 == 0) out << '\n';
  };
  for (const WeightBlob::Piece& piece : c.weights.pieces) {
    while (at * 8 < piece.offset) put(0);
    const char* bytes = reinterpret_cast<const char*>(piece.data.bytes());
    for (i64 i = 0; i < piece.data.byte_size(); i += 8) {
      u64 word = 0;
      std::memcpy(&word, bytes + i, static_cast<size_t>(std::min<i64>(8, piece.data.byte_size() - i)));
      put(word);
    }
  }
  out << "0};\n";
  out.close();
  if (!out) throw JobError(fmt::format("{}: cannot write: disk full?", file.string()));
}

}  // namespace

void write_c_source(const fs::path& folder, const Contents& c) {
  std::vector<KernelSource> sources;
  for (const Kernel& kernel : c.kernels.kernels) sources.push_back({&kernel.func, kernel.symbol});
  fs::create_directories(folder / "runtime" / "artifact");
  write_file(folder / "model.c", model_source(c));
  write_file(folder / "kernels.c", print_c(sources));
  write_weights(folder / "weights.c", c);
  std::string files = "model.c kernels.c weights.c";
  for (const char* file : {"mcc_runtime.h", "wait.h", "wait.c", "serial.c", "threads.c", "model.c", "artifact/main.h",
                           "artifact/main.c", "artifact/npy.c", "artifact/time_runs.c"}) {
    write_file(folder / "runtime" / file, runtime_blob(std::string("src/") + file));
    if (std::string_view(file).ends_with(".c")) files += std::string(" runtime/") + file;
  }
  write_file(folder / "Makefile", fmt::format("# Builds the stand-alone program of {0}. Without main.c, npy.c and "
                                              "time_runs.c it is a library.\nCFLAGS ?= -O2 -march=native\n"
                                              "model: {1}\n\t$(CC) -std=gnu11 $(CFLAGS) -I. -o $@ {1} -lm -pthread\n",
                                              c.name, files));
}

}  // namespace mcc
