// Imports models and evaluates them by the operators' references, without compiling anything: where this is wrong, the
// frontend or a reference is. Each case runs in a child process, so that a crash is a result like any other.
//   check_references FOLDER...
// A folder holds such folders, or model.onnx and either test_data_set_0/{input,output}_N.pb (ONNX's own tests) or
// io.json with {input,output}_N.npy. Inputs that must be known at compile time are bound to the data set's values.
// Outputs whose shape depends on data are cut to what their companion NAME:shape says; of random ones (Bernoulli) only
// the type is compared. The last line reads: references: P passed, U refused, W wrong, C crashed of N.
// Exit status 1 if W or C.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/file.h"
#include "base/text.h"
#include "frontend/frontend.h"
#include "graph/npy.h"
#include "graph/print.h"
#include "ops/op_def.h"

namespace fs = std::filesystem;

namespace mcc {
namespace {

enum Verdict { passed, refused, wrong, crashed };
constexpr const char* kVerdicts[] = {"passed", "refused", "wrong", "crashed"};

struct Data {
  std::vector<Tensor> inputs, outputs;
  double rtol = 1e-3, atol = 1e-6;
};

std::vector<Tensor> read_all(const fs::path& folder, const std::string& kind, const std::string& suffix) {
  std::vector<Tensor> tensors;
  for (int i = 0; fs::exists(folder / fmt::format("{}_{}{}", kind, i, suffix)); i++) {
    const fs::path file = folder / fmt::format("{}_{}{}", kind, i, suffix);
    tensors.push_back(suffix == ".npy" ? read_npy(file) : tensor_from_proto_bytes(read_file(file)));
  }
  return tensors;
}

Data read_data(const fs::path& folder) {
  Data data;
  const bool field = fs::exists(folder / "io.json");
  const fs::path from = field ? folder : folder / "test_data_set_0";
  data.inputs = read_all(from, "input", field ? ".npy" : ".pb");
  data.outputs = read_all(from, "output", field ? ".npy" : ".pb");
  if (field) {
    const auto json = nlohmann::json::parse(read_file(folder / "io.json"));
    data.rtol = json.value("rtol", data.rtol), data.atol = json.value("atol", data.atol);
  }
  return data;
}

bool is_close(const Tensor& got, const Tensor& want, const Data& data, std::string& why) {
  if (got.type != want.type) {
    why = fmt::format("type {} instead of {}", to_string(got.type), to_string(want.type));
    return false;
  }
  const double rtol =
      size_of(want.type.dtype) == 2 && is_float(want.type.dtype) ? std::max(data.rtol, 1e-2) : data.rtol;
  for (i64 i = 0; i < got.size(); i++) {
    const double a = got.get(i), b = want.get(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::abs(a - b) <= data.atol + rtol * std::abs(b)) continue;
    why = fmt::format("element {} is {} instead of {}", i, a, b);
    return false;
  }
  return true;
}

// Debian's test data calls bfloat16 uint16.
Tensor retyped(const Tensor& tensor, DType dtype) {
  if (tensor.type.dtype != DType::u16 || dtype != DType::bf16) return tensor;
  Tensor same_bits(TensorType{DType::bf16, tensor.type.shape});
  std::copy_n(tensor.bytes(), tensor.byte_size(), same_bits.bytes());
  return same_bits;
}

// The real part of an output whose shape depends on data.
Tensor leading_part(const Tensor& all, const Shape& shape) {
  Tensor part({all.type.dtype, shape});
  const Shape strides = row_major_strides(all.type.shape), inner = row_major_strides(shape);
  const i64 width = size_of(all.type.dtype);
  for (i64 i = 0; i < part.size(); i++) {
    i64 from = 0;
    for (size_t d = 0; d < shape.size(); d++) from += i / inner[d] % shape[d] * strides[d];
    std::copy_n(all.bytes() + from * width, width, part.bytes() + i * width);
  }
  return part;
}

void cut_to_real_shapes(const Graph& graph, std::vector<Tensor>& outputs) {
  const auto name_of = [&](size_t i) { return graph.values[static_cast<size_t>(graph.outputs[i])].name; };
  for (size_t i = 0; i < outputs.size(); i++)
    for (size_t k = 0; k < outputs.size(); k++)
      if (name_of(k) == name_of(i) + ":shape") outputs[i] = leading_part(outputs[i], to_ints(outputs[k]));
}

// Imports, binding the inputs that errors ask for.
Graph import_bound(const fs::path& model, const std::vector<std::string>& names, const std::vector<Tensor>& inputs) {
  const TempDir temp;
  ImportOptions options;
  for (;;) {
    try {
      return import_onnx(model, options);
    } catch (const Error& error) {
      const std::string text = error.what();
      const size_t before = options.binds.size();
      static const std::regex option("--bind=(\\S+)=VALUE");
      for (std::sregex_iterator it(text.begin(), text.end(), option), end; it != end; ++it) {
        const size_t i = static_cast<size_t>(std::find(names.begin(), names.end(), (*it)[1].str()) - names.begin());
        if (i >= inputs.size() || options.binds.contains(names[i])) continue;
        const fs::path file = temp.path() / fmt::format("{}.npy", i);
        write_file(file, to_npy(inputs[i]));
        options.binds[names[i]] = file.string();
      }
      if (options.binds.size() == before) throw;
    }
  }
}

// Names of all inputs in the model's order, read from the error that a wrong name gives.
std::vector<std::string> input_names(const fs::path& model) {
  try {
    ImportOptions options;
    options.binds["\x01"] = "0";
    import_onnx(model, options);
  } catch (const Error& error) {
    const std::string text = error.what(), mark = "it has: ";
    const size_t begin = text.find(mark);
    if (begin == std::string::npos) throw;
    std::vector<std::string> names = split(text.substr(begin + mark.size()), ',');
    for (std::string& name : names) name = std::string(trim(name));
    return names;
  }
  return {};
}

Verdict check(const fs::path& folder, std::string& why) {
  try {
    const Data data = read_data(folder);
    const std::vector<std::string> names = input_names(folder / "model.onnx");
    const Graph graph = import_bound(folder / "model.onnx", names, data.inputs);
    verify(graph);
    std::vector<Tensor> inputs;
    for (const ValueId v : graph.inputs) {
      const Value& value = graph.values[static_cast<size_t>(v)];
      const auto i = static_cast<size_t>(std::find(names.begin(), names.end(), value.name) - names.begin());
      inputs.push_back(retyped(data.inputs.at(i), value.type.dtype));
    }
    std::vector<Tensor> outputs = evaluate(graph, inputs);
    cut_to_real_shapes(graph, outputs);
    const bool is_random = folder.filename().string().starts_with("test_bernoulli");
    for (size_t i = 0; i < outputs.size() && i < data.outputs.size(); i++) {
      if (is_random && outputs[i].type == data.outputs[i].type) continue;
      if (is_close(outputs[i], retyped(data.outputs[i], outputs[i].type.dtype), data, why)) continue;
      why = fmt::format("output {}: {}", i, why);
      return wrong;
    }
    return passed;
  } catch (const Error& error) {
    why = error.what();
    return why.find('\n') == std::string::npos ? refused : crashed;
  }
}

Verdict check_in_child(const fs::path& folder) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::string why;
    Verdict verdict = crashed;
    try {
      verdict = check(folder, why);
    } catch (const std::exception& error) {
      why = error.what();
    }
    fmt::print("{:8} {} {}\n", kVerdicts[verdict], folder.filename().string(), why);
    std::fflush(stdout);
    _exit(verdict);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return static_cast<Verdict>(WEXITSTATUS(status));
  fmt::print("{:8} {} signal {}\n", "crashed", folder.filename().string(), WTERMSIG(status));
  return crashed;
}

}  // namespace
}  // namespace mcc

int main(int argc, char** argv) {
  std::vector<fs::path> cases;
  for (int i = 1; i < argc; i++) {
    if (fs::exists(fs::path(argv[i]) / "model.onnx")) {
      cases.push_back(argv[i]);
      continue;
    }
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(argv[i], error))
      if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  std::map<int, int> count;
  for (const fs::path& folder : cases) {
    std::fflush(stdout);
    count[mcc::check_in_child(folder)]++;
  }
  fmt::print("references: {} passed, {} refused, {} wrong, {} crashed of {}\n", count[mcc::passed], count[mcc::refused],
             count[mcc::wrong], count[mcc::crashed], cases.size());
  return count[mcc::wrong] + count[mcc::crashed] > 0 || cases.empty() ? 1 : 0;
}
