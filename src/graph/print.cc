// Graph -> text (the form is shown in print.h). Only values that something uses are printed. Names that are empty or
// occur twice are made unique by a number, so that the text always parses; names with odd characters are quoted.
#include "graph/print.h"

#include <cctype>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "base/text.h"
#include "graph/text_form.h"

namespace mcc {
namespace {

constexpr i64 kShortConstant = 16;

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string scalar(const Tensor& tensor, i64 i) {
  if (!is_float(tensor.type.dtype)) {
    if (tensor.type.dtype == DType::u64) return fmt::format("{}", static_cast<u64>(tensor.get_int(i)));
    return fmt::format("{}", tensor.get_int(i));
  }
  const double value = tensor.get(i);
  if (tensor.type.dtype == DType::f64 || !std::isfinite(value)) return shortest(value);
  std::string text = fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string data_text(const Tensor& tensor, const PrintGraphOptions& options) {
  if (!options.full_constants && tensor.size() > kShortConstant)
    return "hash:" + hash_hex({reinterpret_cast<const char*>(tensor.bytes()), static_cast<size_t>(tensor.byte_size())});
  std::string text = "[";
  for (i64 i = 0; i < tensor.size(); i++) text += (i ? ", " : "") + scalar(tensor, i);
  return text + "]";
}

std::string attr_text(const AttrValue& value, const PrintGraphOptions& options) {
  if (const i64* whole = std::get_if<i64>(&value)) return std::to_string(*whole);
  if (const double* real = std::get_if<double>(&value)) return shortest(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* ints = std::get_if<std::vector<i64>>(&value)) return "[" + join(*ints, ",") + "]";
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    std::vector<std::string> parts;
    for (const double real : *reals) parts.push_back(shortest(real));
    return "[" + join(parts, ",") + "]";
  }
  const Tensor& tensor = std::get<Tensor>(value);
  return to_string(tensor.type) + " = " + data_text(tensor, options);
}

// Printed names of the used values, in order of id: "%name", made unique.
std::unordered_map<ValueId, std::string> value_names(const Graph& graph) {
  std::vector<char> used(graph.values.size(), 0);
  const auto use = [&](const std::vector<ValueId>& ids) {
    for (const ValueId v : ids)
      if (v != kNone) used[at(v)] = 1;
  };
  use(graph.inputs);
  use(graph.outputs);
  for (const Node& node : graph.nodes) {
    use(node.in);
    use(node.out);
  }

  std::unordered_map<ValueId, std::string> names;
  std::unordered_set<std::string> taken;
  for (size_t v = 0; v < used.size(); v++) {
    if (!used[v]) continue;
    std::string name = graph.values[v].name.empty() ? fmt::format("v{}", v) : graph.values[v].name;
    if (!taken.insert(name).second) {
      name += fmt::format(".v{}", v);
      while (!taken.insert(name).second) name += "_";
    }
    names[static_cast<ValueId>(v)] = "%" + (is_plain_name(name) ? name : quoted(name));
  }
  return names;
}

}  // namespace

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/'; }

bool is_plain_name(std::string_view text) {
  for (const char c : text)
    if (!is_name_char(c)) return false;
  return !text.empty();
}

std::string print(const Graph& graph, const PrintGraphOptions& options) {
  const std::unordered_map<ValueId, std::string> names = value_names(graph);
  const auto ref = [&](ValueId v) { return v == kNone ? std::string("_") : names.at(v); };
  const auto typed = [&](ValueId v) {
    return v == kNone ? std::string("_") : ref(v) + ": " + to_string(graph.value(v).type);
  };
  const auto list = [](const std::vector<ValueId>& ids, const auto& text) {
    std::string result;
    for (size_t i = 0; i < ids.size(); i++) result += (i ? ", " : "") + text(ids[i]);
    return result;
  };

  std::string text = "graph {\n";
  for (size_t i = 0; i < graph.inputs.size(); i++) {
    const int number = input_number(graph, i);
    const std::string moved = number == static_cast<int>(i) ? "" : fmt::format(" number {}", number);
    text += "  input " + typed(graph.inputs[i]) + moved + "\n";
  }
  for (size_t v = 0; v < graph.values.size(); v++) {
    const auto id = static_cast<ValueId>(v);
    if (graph.values[v].constant && names.contains(id))
      text += "  const " + typed(id) + " = " + data_text(*graph.values[v].constant, options) + "\n";
  }
  for (const Node& node : graph.nodes) {
    text += "  " + list(node.out, typed) + " = " + node.op + "(" + list(node.in, ref) + ")";
    if (!node.attrs.items.empty()) {
      std::vector<std::string> parts;
      for (const auto& [name, value] : node.attrs.items) parts.push_back(name + "=" + attr_text(value, options));
      text += " {" + join(parts, ", ") + "}";
    }
    if (!node.name.empty()) text += "  " + quoted(node.name);
    text += "\n";
  }
  for (const ValueId v : graph.outputs) text += "  output " + ref(v) + "\n";
  return text + "}\n";
}

}  // namespace mcc
