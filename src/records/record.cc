// Records as values and as JSON lines. One line is one object with the keys of docs/LOG.md in a fixed order, so that
// the same record is the same line. Seconds keep full precision. A line that is not a record says what is wrong with
// it.
#include "records/record.h"

#include <algorithm>
#include <array>
#include <limits>
#include "base/json.h"
#include "base/text.h"

namespace mcc {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 7> kOutcomes = {"ok",      "illegal",      "build_error", "crash",
                                                       "timeout", "wrong_result", "device_lost"};

template <typename T>
T field(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end()) fail("tuning record: key '{}' is missing", key);
  try {
    if (std::is_integral_v<T> && !at->is_number_integer()) fail("tuning record: key '{}' is not an integer", key);
    return at->get<T>();
  } catch (const Json::exception&) {
    fail("tuning record: key '{}' has a value of the wrong type", key);
  }
}

template <typename T>
T field_or(const Json& json, const char* key, T otherwise) {
  return json.contains(key) ? field<T>(json, key) : std::move(otherwise);
}

// Every line says its version first.
i64 version_of(const Json& json) {
  if (!json.is_object()) fail("tuning record: not a JSON object");
  const i64 version = field<i64>(json, "v");
  if (version < 1 || version > kRecordVersion)
    fail("tuning record: schema version {} is not known to this mcc (it knows 1 to {})", version, kRecordVersion);
  return version;
}

}  // namespace

std::string_view name(Outcome outcome) { return kOutcomes[at(outcome)]; }

std::optional<Outcome> outcome_from_name(std::string_view name) {
  const auto at = std::find(kOutcomes.begin(), kOutcomes.end(), name);
  if (at == kOutcomes.end()) return std::nullopt;
  return static_cast<Outcome>(at - kOutcomes.begin());
}

double Result::best() const {
  return seconds.empty() ? std::numeric_limits<double>::infinity() : *std::min_element(seconds.begin(), seconds.end());
}

std::string to_json_line(const Record& record) {
  Json json;
  json["v"] = record.version;
  json["id"] = record.id;
  json["task"] = record.task;
  json["task_name"] = record.task_name;
  json["device"] = record.device;
  Json steps = Json::array();
  for (const Step& step : record.trace) steps.push_back(to_string(step));
  json["trace"] = std::move(steps);
  json["outcome"] = name(record.result.outcome);
  json["seconds"] = record.result.seconds;
  if (!record.result.note.empty()) json["note"] = record.result.note;
  json["model"] = record.model;
  json["seed"] = record.seed;
  json["round"] = record.round;
  if (!record.when.empty()) json["when"] = record.when;
  json["mcc"] = record.mcc;
  return json_text(json);
}

Record record_from_json_line(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  Record record;
  record.version = static_cast<int>(version_of(json));
  record.id = field<std::string>(json, "id");
  record.task = field<std::string>(json, "task");
  record.task_name = field_or<std::string>(json, "task_name", "");
  record.device = field<std::string>(json, "device");
  for (const std::string& step : field<std::vector<std::string>>(json, "trace"))
    record.trace.push_back(parse_step(step));
  const auto outcome = outcome_from_name(field<std::string>(json, "outcome"));
  if (!outcome) fail("tuning record: unknown outcome '{}'", field<std::string>(json, "outcome"));
  record.result.outcome = *outcome;
  record.result.seconds = field<std::vector<double>>(json, "seconds");
  record.result.note = field_or<std::string>(json, "note", "");
  record.model = field_or<std::string>(json, "model", "");
  record.seed = field_or<u64>(json, "seed", 0);
  record.round = field_or<i64>(json, "round", 0);
  record.when = field_or<std::string>(json, "when", "");
  record.mcc = field_or<std::string>(json, "mcc", "");
  return record;
}

std::string to_json_line(const Note& note) {
  Json value = Json::parse(note.json, nullptr, false);
  if (value.is_discarded()) value = nullptr;
  return json_text(Json{{"v", kRecordVersion}, {"kind", note.kind}, {"key", note.key}, {"value", std::move(value)}});
}

std::optional<Note> note_from_json_line(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("kind")) return std::nullopt;
  version_of(json);
  return Note{field<std::string>(json, "kind"), field<std::string>(json, "key"), json_text(field<Json>(json, "value"))};
}

}  // namespace mcc
