// Targets by name and as JSON. The JSON form has exactly the keys of struct Target, listed once in visit_fields(), so
// that writing, reading and checking cannot drift apart. {"base": "rpi4", "ghz": 1.8} takes a row of the table and
// changes it.
#include "target/target.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "target/machines.h"

namespace mcc {
namespace {

using Json = nlohmann::ordered_json;

template <typename AnyTarget, typename Visitor>
void visit_fields(AnyTarget& t, Visitor&& visit) {
  visit("name", t.name), visit("triple", t.triple), visit("cpu", t.cpu), visit("features", t.features);
  visit("abi", t.abi), visit("cores", t.cores), visit("vector_bytes", t.vector_bytes);
  visit("vector_registers", t.vector_registers), visit("masked_memory", t.masked_memory);
  visit("broadcast_operand", t.broadcast_operand), visit("ghz", t.ghz), visit("fma_per_cycle", t.fma_per_cycle);
  visit("loads_per_cycle", t.loads_per_cycle), visit("fma_latency", t.fma_latency), visit("l1_bytes", t.l1_bytes);
  visit("l2_bytes", t.l2_bytes), visit("l3_bytes", t.l3_bytes), visit("l2_bytes_per_cycle", t.l2_bytes_per_cycle);
  visit("l3_bytes_per_cycle", t.l3_bytes_per_cycle), visit("memory_gbs", t.memory_gbs), visit("sysroot", t.sysroot);
  visit("emulator", t.emulator);
}

void read_field(const std::string& key, const Json& value, std::string& field) {
  if (!value.is_string()) fail("target: \"{}\" must be a string", key);
  field = value.get<std::string>();
}

void read_field(const std::string& key, const Json& value, bool& field) {
  if (!value.is_boolean()) fail("target: \"{}\" must be true or false", key);
  field = value.get<bool>();
}

void read_field(const std::string& key, const Json& value, double& field) {
  if (!value.is_number() || value.get<double>() <= 0) fail("target: \"{}\" must be a positive number", key);
  field = value.get<double>();
}

void read_field(const std::string& key, const Json& value, i64& field) {
  const bool may_be_zero = key == "l3_bytes";
  if (!value.is_number_integer() || value.get<i64>() < (may_be_zero ? 0 : 1) || value.get<i64>() > (i64{1} << 40))
    fail("target: \"{}\" must be a positive integer", key);
  field = value.get<i64>();
}

void read_field(const std::string& key, const Json& value, int& field) {
  i64 wide = 0;
  read_field(key, value, wide);
  if (wide > 4096) fail("target: \"{}\" is {}, more than 4096", key, wide);
  field = static_cast<int>(wide);
}

void read_field(const std::string& key, const Json& value, std::vector<std::string>& field) {
  if (!value.is_array()) fail("target: \"{}\" must be a list of strings", key);
  field.clear();
  for (const Json& item : value) {
    field.emplace_back();
    read_field(key, item, field.back());
  }
}

void check(const Target& target) {
  const i64 bytes = target.vector_bytes;
  if (bytes < 4 || bytes > 256 || (bytes & (bytes - 1)) != 0)
    fail("target: \"vector_bytes\" is {}, not a power of two from 4 to 256", bytes);
  if (target.triple.empty()) fail("target: \"triple\" is empty");
}

}  // namespace

std::string to_json(const Target& target) {
  Json json = Json::object();
  visit_fields(target, [&](const char* key, const auto& field) { json[key] = field; });
  return json.dump(2);
}

Target target_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) fail("target: not a JSON object");
  Target target;
  const bool has_base = json.contains("base");
  if (has_base) {
    std::string base;
    read_field("base", json["base"], base);
    if (base.ends_with(".json"))
      fail("target: \"base\" must be a known name, not a file: {}", join(target_names(), ", "));
    target = find_target(base);
  }
  std::vector<std::string> known = {"base"}, missing;
  visit_fields(target, [&](const char* key, auto& field) {
    known.emplace_back(key);
    if (json.contains(key)) {
      read_field(key, json[key], field);
    } else if (!has_base) {
      missing.emplace_back(key);
    }
  });
  for (const auto& item : json.items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      fail("target: unknown key \"{}\"; the keys are {}", item.key(), join(known, ", "));
  if (!missing.empty())
    fail("target: missing {} (or give \"base\": one of {})", join(missing, ", "), join(target_names(), ", "));
  check(target);
  return target;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names = {"host"};
  for (const Target& target : machine_table()) names.push_back(target.name);
  return names;
}

Target find_target(const std::string& name_or_json_file) {
  if (name_or_json_file == "host") return host();
  for (const Target& target : machine_table())
    if (target.name == name_or_json_file) return target;
  if (name_or_json_file.ends_with(".json")) {
    const std::string text = read_file(name_or_json_file);
    try {
      return target_from_json(text);
    } catch (const Error& error) {
      fail("{}: {}", name_or_json_file, error.what());
    }
  }
  fail("target '{}' is not known; known are {}, or give a .json file", name_or_json_file, join(target_names(), ", "));
}

std::string device_key(const Target& target) {
  return fmt::format("{}/{}/{}/{} cores", target.triple, target.cpu, target.features, target.cores);
}

}  // namespace mcc
