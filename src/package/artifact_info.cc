// See artifact_info.h.
#include "package/artifact_info.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "package/manifest.h"

namespace mcc {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;
constexpr int kMaxDepth = 16;  // a manifest has 5; JSON values are copied and printed by recursion
constexpr int kMaxThreads = 4096;

i64 number(const Json& json, const char* key, i64 most = std::numeric_limits<i64>::max()) {
  const Json& value = json.at(key);
  if (!value.is_number_unsigned() || value.get<u64>() > static_cast<u64>(most))
    fail("damaged: \"{}\" is not a number from 0 to {}", key, most);
  return value.get<i64>();
}

const Json& list(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_array()) fail("damaged: \"{}\" is no list", key);
  return value;
}

Shape read_shape(const Json& port) {
  Shape shape;
  for (const Json& extent : list(port, "shape")) {
    if (!extent.is_number_unsigned() || extent.get<u64>() > static_cast<u64>(std::numeric_limits<i64>::max()))
      fail("damaged: a shape holds what is no extent");
    shape.push_back(extent.get<i64>());
  }
  return shape;
}

std::vector<ArtifactInfo::Port> read_ports(const Json& manifest, const char* key) {
  std::vector<ArtifactInfo::Port> ports;
  for (const Json& json : list(manifest, key)) {
    const auto dtype_name = json.at("dtype").get<std::string>();
    const auto dtype = dtype_from_name(dtype_name);
    if (!dtype) fail("damaged: unknown element type '{}'", dtype_name);
    ArtifactInfo::Port port{json.at("name"), {*dtype, read_shape(json)}};
    port.number = static_cast<int>(number(json, "number", std::numeric_limits<int>::max() - 1));
    if (bytes(port.type) != number(json, "bytes")) fail("damaged: '{}' has another size than its type", port.name);
    ports.push_back(std::move(port));
  }
  return ports;
}

std::vector<ArtifactInfo::Kernel> read_kernels(const Json& manifest) {
  std::vector<ArtifactInfo::Kernel> kernels;
  for (const Json& json : list(manifest, "kernels"))
    kernels.push_back({json.at("symbol"), json.at("name"), json.at("task"),
                       json.at("nodes").get<std::vector<std::string>>(), number(json, "flops"), number(json, "bytes")});
  return kernels;
}

Json parse_shallow(std::string_view text) {
  return Json::parse(text, [](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) fail("damaged: nested too deeply");
    return true;
  });
}

ArtifactInfo read_manifest(const Json& manifest) {
  if (number(manifest, "manifest_version") != kManifestVersion)
    fail("made by another version of mcc; compile the model again");
  ArtifactInfo info;
  info.emit = manifest.at("emit");
  if (manifest.at("file").get<std::string>() != main_file(info.emit)) fail("damaged: \"file\" does not fit \"emit\"");
  info.target = target_from_json(manifest.at("target").dump());
  info.threads = static_cast<int>(number(manifest, "threads", kMaxThreads));
  if (info.threads < 1) fail("damaged: \"threads\" is 0");
  info.inputs = read_ports(manifest, "inputs");
  info.outputs = read_ports(manifest, "outputs");
  info.kernels = read_kernels(manifest);
  info.weight_bytes = number(manifest, "weight_bytes");
  info.arena_bytes = number(manifest, "peak_arena_bytes");
  return info;
}

}  // namespace

ArtifactInfo artifact_from_manifest(std::string_view manifest, const fs::path& folder) {
  const std::string name = (folder / "manifest.json").string();
  try {
    ArtifactInfo info = read_manifest(parse_shallow(manifest));
    info.folder = folder;
    info.file = folder / main_file(info.emit);
    return info;
  } catch (const Json::exception& error) {
    fail("{}: damaged: {}", name, error.what());
  } catch (const Error& error) {
    fail("{}: {}", name, error.what());
  }
}

ArtifactInfo read_artifact(const fs::path& folder) {
  const fs::path file = folder / "manifest.json";
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    fail("{}: holds no manifest.json: not an artifact made by mcc", folder.string());
  return artifact_from_manifest(read_file(file), folder);
}

}  // namespace mcc
