// The tuning log: what is written is read back, nothing twice, bad files are refused with one line.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <thread>

#include "base/file.h"
#include "records/record.h"

namespace mcc {
namespace {

Record sample(int i) {
  Record record;
  record.id = fmt::format("id{}", i);
  record.task = i % 2 ? "odd" : "even";
  record.task_name = "conv \"quoted\"";
  record.device = "dev";
  record.trace = parse_trace("split conv m [4,12]; mark conv m.0 parallel");
  record.result.seconds = {1.25e-4 * (i + 1), 1.0 / 3.0};
  record.seed = 7;
  record.mcc = "0.1";
  return record;
}

TEST(Record, JsonLineRoundTrip) {
  const Record record = sample(3);
  const std::string line = to_json_line(record);
  EXPECT_EQ(to_json_line(record_from_json_line(line)), line);
  EXPECT_EQ(record_from_json_line(line).trace, record.trace);
}

TEST(Note, JsonLineRoundTrip) {
  const Note note{"task", "key", R"({"func":"f\n","n":[1,2.5]})"};
  const std::string line = to_json_line(note);
  const std::optional<Note> back = note_from_json_line(line);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind + back->key + back->json, note.kind + note.key + note.json);
  EXPECT_FALSE(note_from_json_line(to_json_line(sample(3))));
  EXPECT_THROW(note_from_json_line(R"({"v":99,"kind":"task","key":"k","value":0})"), Error);
  EXPECT_THROW(note_from_json_line(R"({"v":1,"kind":"task","key":7,"value":0})"), Error);
}

TEST(Record, BadLinesAreRefused) {
  EXPECT_THROW(record_from_json_line("{"), Error);
  EXPECT_THROW(record_from_json_line("[]"), Error);
  EXPECT_THROW(record_from_json_line("{\"v\":99}"), Error);
  EXPECT_THROW(record_from_json_line("{\"v\":1,\"id\":3}"), Error);
}

TEST(RecordStore, KeepsEverythingOnce) {
  const TempDir dir;
  const auto file = dir.path() / "log.db";
  {
    RecordStore store = RecordStore::open(file, RecordStore::Mode::read_write);
    store.append({sample(0), sample(1)});
    store.append({sample(1), sample(2)});
  }
  const RecordStore store = RecordStore::open(file, RecordStore::Mode::read_only);
  EXPECT_EQ(store.count(), 3);
  EXPECT_EQ(store.all()[2].id, "id2");
  EXPECT_EQ(store.best("even", "dev", 5).front().id, "id0");
  EXPECT_EQ(store.of_task("odd", "dev").size(), 1u);
  EXPECT_EQ(store.of_task("odd", "other").size(), 0u);
}

TEST(RecordStore, LeadersComeFirstInTheirOwnOrder) {
  RecordStore store = RecordStore::in_memory();
  store.append({sample(0), sample(2), sample(4), sample(6)});  // each slower than the one before
  const auto order = [&] {
    std::string ids;
    for (const Record& r : store.best("even", "dev", 4)) ids += r.id;
    return ids;
  };
  EXPECT_EQ(order(), "id0id2id4id6");
  store.put_leaders("even", "dev", {"id4", "id2"});
  EXPECT_EQ(order(), "id4id2id0id6");
  store.put_leaders("even", "dev", {"id6"});
  EXPECT_EQ(order(), "id6id0id2id4");
}

TEST(RecordStore, FailuresHaveNoTime) {
  RecordStore store = RecordStore::in_memory();
  Record failed = sample(0);
  failed.result = {Outcome::crash, {}, "signal 11"};
  store.append({failed});
  EXPECT_TRUE(store.best("even", "dev", 5).empty());
  EXPECT_EQ(store.all()[0].result.note, "signal 11");
}

TEST(RecordStore, RefusesWhatIsNoLog) {
  const TempDir dir;
  write_file(dir.path() / "text",
             "hello, this is no database at all, and long enough to be looked at" + std::string(44, '.'));
  EXPECT_THROW(RecordStore::open(dir.path() / "text", RecordStore::Mode::read_write), Error);
  EXPECT_THROW(RecordStore::open(dir.path() / "none", RecordStore::Mode::read_only), Error);
  EXPECT_THROW(RecordStore::open(dir.path() / "no" / "folder.db", RecordStore::Mode::read_write), Error);
}

void run_sql(const std::filesystem::path& file, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

// Reading this view never ends.
constexpr const char* kEndlessView =
    "DROP TABLE records; CREATE VIEW records AS WITH RECURSIVE n(line) AS (SELECT '' UNION ALL SELECT line FROM n) "
    "SELECT line FROM n";

TEST(RecordStore, RefusesLogsThatRunQueries) {
  const TempDir dir;
  for (const char* sql : {kEndlessView, "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END"}) {
    const auto file = dir.path() / "log.db";
    RecordStore::open(file, RecordStore::Mode::read_write).append({sample(0)});
    run_sql(file, sql);
    EXPECT_THROW(RecordStore::open(file, RecordStore::Mode::read_only), Error);
    EXPECT_THROW(RecordStore::open(file, RecordStore::Mode::read_write), Error);
    std::filesystem::remove(file);
  }
}

TEST(RecordStore, DamageIsAnError) {
  const TempDir dir;
  const auto file = dir.path() / "log.db";
  RecordStore::open(file, RecordStore::Mode::read_write).append({sample(0)});
  run_sql(file, "DROP TABLE records");
  const RecordStore store = RecordStore::open(file, RecordStore::Mode::read_only);
  EXPECT_THROW(store.all(), Error);
  EXPECT_THROW(store.count(), Error);
}

TEST(RecordStore, AHalfMadeLogIsCompleted) {
  const TempDir dir;
  const auto file = dir.path() / "log.db";
  RecordStore::open(file, RecordStore::Mode::read_write).append({sample(0)});
  run_sql(file, "DROP TABLE notes");
  RecordStore store = RecordStore::open(file, RecordStore::Mode::read_write);
  store.put_leaders("even", "dev", {"id0"});
  EXPECT_EQ(store.best("even", "dev", 1).size(), 1u);
}

TEST(RecordStore, IsSetAsideWhenNobodyUsesIt) {
  const TempDir dir;
  const auto file = dir.path() / "log.db", other = dir.path() / "log.db.1";
  {
    RecordStore store = RecordStore::open(file, RecordStore::Mode::read_write);
    store.append({sample(0)});
    EXPECT_THROW(RecordStore::set_aside(file, other), Error);
    store.append({sample(1)});
  }
  RecordStore::set_aside(file, other);
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(RecordStore::open(other, RecordStore::Mode::read_only).count(), 2);
  write_file(file, "damaged beyond all recognition");
  RecordStore::set_aside(file, dir.path() / "log.db.2");
  EXPECT_EQ(read_file(dir.path() / "log.db.2"), "damaged beyond all recognition");
}

TEST(RecordStore, TwoWritersWait) {
  const TempDir dir;
  const auto file = dir.path() / "log.db";
  RecordStore::open(file, RecordStore::Mode::read_write);
  auto write = [&](int from) {
    RecordStore store = RecordStore::open(file, RecordStore::Mode::read_write);
    for (int i = from; i < from + 20; i++) store.append({sample(i)});
  };
  std::thread other(write, 100);
  write(0);
  other.join();
  EXPECT_EQ(RecordStore::open(file, RecordStore::Mode::read_only).count(), 40);
}

TEST(RecordStore, Notes) {
  RecordStore store = RecordStore::in_memory();
  store.put_notes("quality", {{"1", "{\"a\":1}"}, {"2", "{}"}});
  store.put_notes("quality", {{"1", "{\"a\":2}"}});
  EXPECT_EQ(store.notes("quality").size(), 2u);
  EXPECT_EQ(store.notes("other").size(), 0u);
}

}  // namespace
}  // namespace mcc
