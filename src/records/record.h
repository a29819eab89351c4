// The tuning log: every finished measurement, for ever. A SQLite file in write-ahead-log mode; JSON lines in and out
// (docs/LOG.md).
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedule/task.h"
#include "schedule/trace.h"

namespace mcc {

// device_lost: there was nothing to measure on, which says nothing about the candidate; never in a log.
enum class Outcome : u8 { ok, illegal, build_error, crash, timeout, wrong_result, device_lost };
std::string_view name(Outcome outcome);
std::optional<Outcome> outcome_from_name(std::string_view name);

struct Result {
  Outcome outcome = Outcome::ok;
  std::vector<double> seconds;  // one for each sample: time of one run
  std::string note;             // why not, for people; empty when ok
  // What counts: the minimum, since other work on a machine only ever adds. Infinity when there are none.
  double best() const;
};

constexpr int kRecordVersion = 1;

struct Record {
  int version = kRecordVersion;
  std::string id;    // hash of task, device, trace, model and seed: the same for the same work
  std::string task;  // Task::key
  std::string task_name;
  std::string device;  // device_key of the target
  Trace trace;
  Result result;
  std::string model;  // for which model's run it was measured
  u64 seed = 0;
  i64 round = 0;     // batch number within the run
  std::string when;  // ISO 8601 UTC; empty from the simulated runner, so that equal seeds give equal logs
  std::string mcc;   // version of mcc that measured
};

std::string to_json_line(const Record& record);
Record record_from_json_line(std::string_view line);  // throws Error; accepts all schema versions up to kRecordVersion

// What is no measurement, kept beside the records (docs/LOG.md).
struct Note {
  std::string kind, key, json;
};
inline constexpr const char* kNoteKinds[] = {"task", "leader", "quality"};

std::string to_json_line(const Note& note);
std::optional<Note> note_from_json_line(std::string_view line);  // nothing where the line is none; throws Error

class RecordStore {
 public:
  // Creates the file if there is none. Throws Error (unreadable, not a log, newer schema, read-only folder).
  enum class Mode { read_only, read_write };
  static RecordStore open(const std::filesystem::path& file, Mode mode);
  static RecordStore in_memory();
  // Moves a log to another name, damaged or not. Throws Error while a run uses it.
  static void set_aside(const std::filesystem::path& file, const std::filesystem::path& other);
  RecordStore(RecordStore&&) noexcept;
  RecordStore& operator=(RecordStore&&) noexcept;
  ~RecordStore();

  // All of them are on the disk when it returns (one transaction), else it throws JobError (disk full, ...) and none
  // is. A record whose id is there already is skipped.
  void append(const std::vector<Record>& records);
  std::vector<Record> all() const;  // in order of insertion
  std::vector<Record> of_task(const std::string& task, const std::string& device) const;
  // Ok ones: leaders in their order, then the others, fastest first.
  std::vector<Record> best(const std::string& task, const std::string& device, int n) const;
  // The records, by id, that best() is to give first, in this order; known better than by the time that each took when
  // it was found (search/finals.h). Replaces what was there.
  void put_leaders(const std::string& task, const std::string& device, const std::vector<std::string>& ids);
  i64 count() const;
  std::vector<std::string> devices() const;  // of all records, each once
  // Notes of one kind, pairs of a key and JSON text. In one transaction; a key that is there already gets the new text.
  void put_notes(const std::string& kind, const std::vector<std::pair<std::string, std::string>>& notes);
  std::vector<std::pair<std::string, std::string>> notes(const std::string& kind) const;

 private:
  struct Impl;
  explicit RecordStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mcc
