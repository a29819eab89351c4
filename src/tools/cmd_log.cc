// mcc-log: looks into tuning logs and moves records between them. Logs are SQLite files; a name that ends in .jsonl is
// read and written as JSON lines (docs/LOG.md).
#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "records/record.h"
#include "tools/tools.h"

namespace mcc {
namespace {

using Json = nlohmann::ordered_json;

bool is_jsonl(const std::string& file) { return file.ends_with(".jsonl"); }

RecordStore read_jsonl(const std::string& file) {
  RecordStore log = RecordStore::in_memory();
  std::vector<Record> records;
  i64 number = 0;
  for (const std::string& line : split(read_file(file), '\n')) {
    number++;
    if (trim(line).empty()) continue;
    try {
      if (const std::optional<Note> note = note_from_json_line(line))
        log.put_notes(note->kind, {{note->key, note->json}});
      else
        records.push_back(record_from_json_line(line));
    } catch (const Error& error) {
      fail("{}:{}: {}", file, number, error.what());
    }
  }
  log.append(records);
  return log;
}

RecordStore open_log(const std::string& file) {
  return is_jsonl(file) ? read_jsonl(file) : RecordStore::open(file, RecordStore::Mode::read_only);
}

std::vector<Record> read_records(const std::string& file) { return open_log(file).all(); }

// Where two logs name leaders of one task, those of equal rank come in the order of their times.
void add(const RecordStore& from, RecordStore& to) {
  to.append(from.all());
  for (const char* kind : kNoteKinds) to.put_notes(kind, from.notes(kind));
}

RecordStore gather(const std::vector<std::string>& files) {
  RecordStore all = RecordStore::in_memory();
  for (const std::string& file : files) add(open_log(file), all);
  return all;
}

void write_jsonl(const std::string& file, const RecordStore& log) {
  std::string text;
  for (const Record& r : log.all()) text += to_json_line(r) + "\n";
  for (const char* kind : kNoteKinds)
    for (auto& [key, json] : log.notes(kind)) text += to_json_line({kind, key, json}) + "\n";
  file == "-" ? void(std::cout << text) : write_file(file, text);
}

// Adds to a log that exists.
void write(const std::string& file, const RecordStore& log) {
  if (is_jsonl(file) || file == "-") return write_jsonl(file, log);
  RecordStore store = RecordStore::open(file, RecordStore::Mode::read_write);
  const i64 before = store.count();
  add(log, store);
  say("{}: {} records added, {} in all\n", file, store.count() - before, store.count());
}

std::string ms(const Record& r) {
  return r.result.seconds.empty() ? "-" : fmt::format("{:.4f} ms", r.result.best() * 1e3);
}

int show(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    for (const Record& r : read_records(file))
      fmt::print("{} {:<13} {:>12}  {:<40} {}{}\n", r.id.substr(0, 8), name(r.result.outcome), ms(r), r.task_name,
                 to_string(r.trace), r.result.note.empty() ? "" : "  (" + r.result.note + ")");
  }
  return 0;
}

// The fastest record of each task and device.
std::map<std::string, Record> best_of(const std::vector<Record>& records) {
  std::map<std::string, Record> best;
  for (const Record& r : records) {
    if (r.result.outcome != Outcome::ok) continue;
    const auto [at, fresh] = best.try_emplace(r.task + " " + r.device, r);
    if (!fresh && r.result.best() < at->second.result.best()) at->second = r;
  }
  return best;
}

int best(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    for (const auto& [key, r] : best_of(read_records(file)))
      fmt::print("{} {:>12}  {:<40} {}\n", r.task.substr(0, 8), ms(r), r.task_name, to_string(r.trace));
  }
  return 0;
}

Json stats_of(const std::string& file) {
  const RecordStore log = open_log(file);
  const std::vector<Record> records = log.all();
  std::map<std::string, i64> outcomes, notes;
  std::map<std::string, i64> tasks;
  for (const Record& r : records) {
    outcomes[std::string(name(r.result.outcome))]++, tasks[r.task]++;
    if (!r.result.note.empty()) notes[utf8(r.result.note.substr(0, 60))]++;
  }
  Json json = {
      {"file", file}, {"records", records.size()}, {"tasks", tasks.size()}, {"outcomes", outcomes}, {"reasons", notes}};
  double right = 0, pairs = 0, recall = 0, rounds = 0;
  for (const auto& [key, text] : log.notes("quality")) {
    const Json note = Json::parse(text, nullptr, false);
    if (!note.is_object()) continue;
    const auto number = [&](const char* key, double otherwise) {
      return note.contains(key) && note[key].is_number() ? note[key].get<double>() : otherwise;
    };
    const double batch = number("batch", 0), all_pairs = batch * (batch - 1) / 2;
    const double weight = number("pairs", all_pairs);  // older notes counted every pair
    right += weight * number("pairwise_accuracy", 0), pairs += weight;
    recall += number("recall", 0), rounds++;
  }
  if (rounds > 0)
    json["cost_model"] = {{"rounds", rounds},
                          {"pairs", pairs},
                          {"pairwise_accuracy", pairs > 0 ? right / pairs : 0},
                          {"recall", recall / rounds}};
  return json;
}

int stats(const std::vector<std::string>& files, bool as_json) {
  Json all = Json::array();
  for (const std::string& file : files) all.push_back(stats_of(file));
  if (as_json) return std::cout << json_text(Json{{"logs", all}}) << "\n", 0;
  for (const Json& log : all) {
    fmt::print("{}: {} records of {} tasks\n", log["file"].get<std::string>(), log["records"].dump(),
               log["tasks"].dump());
    for (const auto& [outcome, n] : log["outcomes"].items()) fmt::print("  {:<14}{}\n", outcome, n.dump());
    for (const auto& [reason, n] : log["reasons"].items()) fmt::print("    {:>6}  {}\n", n.dump(), reason);
    if (log.contains("cost_model"))
      fmt::print("  cost model on the next batch, {} rounds: pairwise accuracy {:.3f}, mean recall {:.3f}\n",
                 log["cost_model"]["rounds"].dump(), log["cost_model"]["pairwise_accuracy"].get<double>(),
                 log["cost_model"]["recall"].get<double>());
  }
  return 0;
}

// All records of the files, into the last argument (--output).
int merge(const std::vector<std::string>& files, const std::string& output) {
  if (output.empty()) fail("mcc-log merge: -o FILE is missing");
  return write(output, gather(files)), 0;
}

// Keeps the best `keep` records of each task and device, and what the logs say about these.
int prune(const std::vector<std::string>& files, const std::string& output, i64 keep) {
  if (output.empty()) fail("mcc-log prune: -o FILE is missing");
  std::error_code ignored;
  for (const std::string& file : files)
    if (std::filesystem::equivalent(file, output, ignored)) fail("mcc-log prune: -o {} is one of the inputs", output);
  const RecordStore all = gather(files);
  std::set<std::pair<std::string, std::string>> tasks;
  for (const Record& r : all.all()) tasks.emplace(r.task, r.device);
  RecordStore kept = RecordStore::in_memory();
  std::set<std::string> known;  // keys of what is kept
  for (const auto& [task, device] : tasks) {
    const std::vector<Record> best = all.best(task, device, static_cast<int>(keep));
    kept.append(best);
    for (const Record& r : best) known.insert({r.id, r.task});
  }
  for (const char* kind : kNoteKinds) {
    auto notes = all.notes(kind);
    std::erase_if(notes, [&](const auto& note) { return !known.contains(note.first); });
    kept.put_notes(kind, notes);
  }
  return write(output, kept), 0;
}

}  // namespace

int cmd_log(const Args& args) {
  CLI::App app(
      "Shows, merges, exports and imports tuning logs. Files that end in .jsonl are JSON lines, all others SQLite "
      "logs.",
      args[0]);
  std::vector<std::string> files, except;
  std::string output;
  i64 keep = 3;
  bool json = false;
  const std::pair<const char*, const char*> commands[] = {
      {"show", "every record, a line each"},
      {"best", "the fastest record of each task"},
      {"stats", "counts by outcome and reason, cost-model quality"},
      {"merge", "all records of FILE... into -o FILE"},
      {"export", "FILE... as JSON lines to -o FILE.jsonl (default: standard output)"},
      {"import", "JSON lines FILE... into the log -o FILE"},
      {"train", "cross-validates the cost model on FILE..., trains it on all of them, and writes it to -o FILE"},
      {"prune", "only the best --keep records of each task, to -o FILE"}};
  for (const auto& [name, help] : commands) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->add_option("FILE", files, "tuning logs")->required();
    sub->add_option("-o", output, "the file to write");
    sub->add_option("--keep", keep, "records of each task that prune keeps")->check(CLI::PositiveNumber);
    sub->add_option("--except", except, "train without the tasks whose names contain this");
    sub->add_flag("--json", json, "one JSON object on standard output (stats, train)");
  }
  app.require_subcommand(1);
  if (!parse_command_line(app, args)) return 0;
  const std::string command = app.get_subcommands().front()->get_name();
  if (command == "show") return show(files);
  if (command == "best") return best(files);
  if (command == "stats") return stats(files, json);
  if (command == "train") return train_cost_model(files, except, output, json);
  if (command == "prune") return prune(files, output, keep);
  if (command == "export") return merge(files, output.empty() ? "-" : output);
  return merge(files, output);
}

}  // namespace mcc
