// What the commands share in reading their arguments.
#include <filesystem>

#include "base/text.h"
#include "tools/tools.h"

namespace mcc {
namespace {

constexpr int kMostThreads = 4096;  // as cores of a target

// "NAME=VALUE" or "NAME:VALUE", cut at the last separator so that names may hold it.
std::pair<std::string, std::string> cut(const std::string& option, const std::string& text, char separator) {
  const size_t at = separator == '=' ? text.find('=') : text.rfind(separator);
  if (at == std::string::npos || at == 0) fail("{}={}: want {}=NAME{}VALUE", option, text, option, separator);
  return {text.substr(0, at), text.substr(at + 1)};
}

Shape parse_shape(const std::string& option, const std::string& text) {
  if (text == "scalar") return {};
  Shape shape;
  for (const std::string& dim : split(text, 'x')) {
    const auto value = to_i64(dim);
    if (!value || *value < 0) fail("{}: '{}' is not a shape like 1x3x224x224 (or scalar)", option, text);
    shape.push_back(*value);
  }
  if (shape.empty()) fail("{}: the shape is empty; write e.g. 1x3x224x224, or scalar", option);
  return shape;
}

}  // namespace

bool parse_command_line(CLI::App& app, const Args& args) {
  std::vector<std::string> reversed(args.rbegin(), args.rend() - 1);
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ParseError& error) {
    std::string what = error.what();
    if (const size_t line = what.find('\n'); line != std::string::npos) what.resize(line);
    fail("{}: {} (see {} --help)", args[0], what, args[0]);
  }
  return true;
}

void ModelArgs::add_to(CLI::App& app) {
  app.add_option("MODEL", file, "the model, an ONNX file")->required();
  app.add_option("--shape", shapes, "INPUT:1x3x224x224, the shape of an input with free dimensions (repeatable)");
  app.add_option("--dim", dims, "NAME=N, the value of a named free dimension (repeatable)");
  app.add_option("--bind", binds,
                 "INPUT=VALUE, makes an input a constant: a number for all elements, or a .npy file (repeatable)");
}

ImportOptions ModelArgs::import_options() const {
  ImportOptions options;
  for (const std::string& text : shapes) {
    const auto [name, value] = cut("--shape", text, ':');
    options.shapes[name] = parse_shape("--shape=" + text, value);
  }
  for (const std::string& text : dims) {
    const auto [name, value] = cut("--dim", text, '=');
    const auto number = to_i64(value);
    if (!number || *number < 0) fail("--dim={}: '{}' is not a whole number", text, value);
    options.dims[name] = *number;
  }
  for (const std::string& text : binds) {
    const auto [name, value] = cut("--bind", text, '=');
    options.binds[name] = value;
  }
  return options;
}

void add_target(CLI::App& app, std::string& target) {
  app.add_option("--target", target, "a known device (mcc targets lists them) or a JSON file")->capture_default_str();
}

void BuildArgs::add_to(CLI::App& app) {
  model.add_to(app);
  add_target(app, target);
  app.add_option("--threads", threads, "threads the artifact uses; default: the target's cores")
      ->check(CLI::Range(1, kMostThreads));
  app.add_option("--emit", emit, "what the artifact is")
      ->check(CLI::IsMember({"so", "a", "obj", "exe", "c"}))
      ->capture_default_str();
  app.add_option("-o,--output", out, "folder of the artifact; default: MODEL.TARGET here");
  app.add_option("--numerics", numerics, "strict: nothing rounds otherwise than the plain algorithm would")
      ->check(CLI::IsMember({"default", "strict"}))
      ->capture_default_str();
  app.add_flag("--json", json, "print one JSON object on standard output");
  app.add_flag("--quiet", quiet, "print nothing for people but errors");
}

std::string BuildArgs::model_name() const { return std::filesystem::path(model.file).stem().string(); }

Target BuildArgs::chosen_target() const {
  Target found = find_target(target);
  if (threads > 0) found.cores = threads;
  return found;
}

std::string BuildArgs::out_dir(const Target& found) const {
  return out.empty() ? model_name() + "." + found.name : out;
}

}  // namespace mcc
