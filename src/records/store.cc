// The log file: SQLite in write-ahead-log mode. One row a record: its key columns for look-ups, and the JSON line that
// is the record. A batch is one transaction, flushed to the disk before append() returns; so a kill at any moment loses
// at most the batch in flight. Readers and one writer work at the same time; a second writer waits (busy timeout).
//
// A log may come from elsewhere, and a SQLite file can hold more than data: views and triggers run their author's
// queries when a table is read or written. A log has none, so a file with any is refused. What SQLite finds damaged is
// an Error as any bad file is; only what fails for another reason (disk full, busy) is a JobError.
#include <sqlite3.h>
#include <unistd.h>

#include <limits>

#include "records/record.h"

namespace mcc {
namespace {

constexpr int kSchema = 1;
constexpr int kApplicationId = 0x6d63636c;  // "mccl", in the file's header: tells a tuning log from other SQLite files

constexpr int kMaxRowBytes = 64 << 20;

// Column `median` holds the time that counts (Result::best; older rows: the median, hence the name).
const std::string kCreate =
    fmt::format("PRAGMA application_id={}; PRAGMA user_version={};", kApplicationId, kSchema) +
    "CREATE TABLE IF NOT EXISTS records (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, task TEXT NOT NULL, device "
    "TEXT NOT NULL,"
    " outcome TEXT NOT NULL, median REAL, line TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS by_task ON records (task, device, median);"
    "CREATE TABLE IF NOT EXISTS notes (kind TEXT NOT NULL, key TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (kind, "
    "key));";

// Rows are kilobytes: a log for which there is not memory enough has a length in it that is not true.
bool is_damage(int code) {
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR || code == SQLITE_SCHEMA ||
         code == SQLITE_TOOBIG || code == SQLITE_NOMEM;
}

[[noreturn]] void failed(sqlite3* db, const std::string& file, const char* what) {
  const int code = sqlite3_errcode(db);
  const std::string message = fmt::format("{}: {}: {}", file, what, sqlite3_errmsg(db));
  if (is_damage(code)) throw Error(message + "; mcc-tune --fresh keeps this file under another name and starts anew");
  if (code == SQLITE_FULL)
    throw JobError(fmt::format("{}; what is in it is safe: mcc-compile --log={} makes the best of it", message, file));
  throw JobError(message);
}

}  // namespace

struct RecordStore::Impl {
  sqlite3* db = nullptr;
  std::string file;
  ~Impl() { sqlite3_close_v2(db); }

  [[noreturn]] void failed(const char* what) const { mcc::failed(db, file, what); }

  // All that `body` writes is on the disk when this returns, else none of it.
  void transaction(const auto& body) const {
    run("BEGIN IMMEDIATE", "cannot write the tuning log");
    try {
      body();
      run("COMMIT", "cannot write the tuning log");
    } catch (...) {
      sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
      throw;
    }
  }

  void run(const char* sql, const char* what) const {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) failed(what);
  }

  i64 number(const char* sql) const;
};

namespace {

// A prepared statement, finalised at the end of its scope.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql, const std::string& file) : db_(db), file_(file) {
    if (sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) != SQLITE_OK) failed();
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int at, std::string_view text) {
    sqlite3_bind_text64(statement_, at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    return *this;
  }
  Statement& bind(int at, double value) {
    value < std::numeric_limits<double>::infinity() ? sqlite3_bind_double(statement_, at, value)
                                                    : sqlite3_bind_null(statement_, at);
    return *this;
  }
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) failed();
    return code == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(statement_); }
  std::string text(int column) const {
    const auto* at = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return at == nullptr ? "" : std::string(at, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
  }
  i64 integer(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  [[noreturn]] void failed() const { mcc::failed(db_, file_, "tuning log"); }
  sqlite3* db_;
  const std::string& file_;
  sqlite3_stmt* statement_ = nullptr;
};

// Even a reader needs two helper files beside the log, and can only remove them again where it may write. In a folder
// where it may not, and where no run left such files behind, the log is read as a file that nobody changes.
bool cannot_change(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  return access(folder.c_str(), W_OK) != 0 && !std::filesystem::exists(file.string() + "-wal");
}

std::string immutable_uri(const std::filesystem::path& file) {
  std::string uri = "file:";
  for (const char c : file.string()) {
    if (c == '%' || c == '?' || c == '#')
      uri += fmt::format("%{:02x}", c);
    else
      uri += c;
  }
  return uri + "?immutable=1";
}

std::vector<Record> read_all(Statement& statement) {
  std::vector<Record> records;
  while (statement.step()) records.push_back(record_from_json_line(statement.text(0)));
  return records;
}

}  // namespace

i64 RecordStore::Impl::number(const char* sql) const {
  Statement statement(db, sql, file);
  return statement.step() ? statement.integer(0) : 0;
}

RecordStore::RecordStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordStore::RecordStore(RecordStore&&) noexcept = default;
RecordStore& RecordStore::operator=(RecordStore&&) noexcept = default;
RecordStore::~RecordStore() = default;

RecordStore RecordStore::in_memory() { return open(":memory:", Mode::read_write); }

RecordStore RecordStore::open(const std::filesystem::path& file, Mode mode) {
  auto impl = std::make_unique<Impl>();
  impl->file = file.string();
  const bool write = mode == Mode::read_write;
  if (!write && !std::filesystem::exists(file)) fail("{}: no such tuning log", file.string());
  const bool still = !write && cannot_change(file);
  const int flags =
      (write ? SQLITE_OPEN_CREATE : 0) | (still ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE);
  if (sqlite3_open_v2(still ? immutable_uri(file).c_str() : file.c_str(), &impl->db, flags | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK)
    fail("{}: cannot open the tuning log: {}", file.string(), sqlite3_errmsg(impl->db));
  sqlite3_busy_timeout(impl->db, 10000);
  try {
    sqlite3_limit(impl->db, SQLITE_LIMIT_LENGTH, kMaxRowBytes);
    const i64 tables = impl->number("SELECT count(*) FROM sqlite_master");
    const i64 id = impl->number("PRAGMA application_id"), schema = impl->number("PRAGMA user_version");
    if (tables > 0 && id != kApplicationId) fail("{}: is a SQLite file, but not a tuning log", file.string());
    if (schema > kSchema)
      fail("{}: written by a newer mcc (log schema {}, this one knows {})", file.string(), schema, kSchema);
    if (impl->number("SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE '%VIRTUAL%'"))
      fail("{}: holds views, triggers or virtual tables, which no tuning log has", file.string());
    if (write) {
      impl->run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;", "cannot write the tuning log");
      if (impl->number("SELECT count(*) FROM sqlite_master WHERE name IN ('records', 'by_task', 'notes')") < 3)
        impl->transaction([&] { impl->run(kCreate.c_str(), "cannot write the tuning log"); });
    } else if (tables == 0) {
      fail("{}: is empty, not a tuning log", file.string());
    } else {
      impl->run("PRAGMA query_only=1;", "cannot read the tuning log");
    }
  } catch (const JobError& error) {
    throw Error(error.what());
  }
  return RecordStore(std::move(impl));
}

// Only the last connection can end write-ahead logging, so this tells whether there is another, and folds the
// write-ahead log of a killed run into the file.
void RecordStore::set_aside(const std::filesystem::path& file, const std::filesystem::path& other) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) fail("{}: is not a tuning log", file.string());
  Impl impl;
  const int opened = sqlite3_open_v2(file.c_str(), &impl.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (opened == SQLITE_OK &&
      sqlite3_exec(impl.db, "PRAGMA journal_mode=DELETE", nullptr, nullptr, nullptr) == SQLITE_BUSY)
    fail("{}: is in use by another run; wait for it, or give another --log", file.string());
  for (const char* part : {"-wal", "-shm", ""}) {  // of a damaged log the first two stay
    if (!std::filesystem::exists(file.string() + part, error)) continue;
    std::filesystem::rename(file.string() + part, other.string() + part, error);
    if (error) fail("{}: cannot be kept as {}: {}", file.string() + part, other.string() + part, error.message());
  }
}

void RecordStore::append(const std::vector<Record>& records) {
  impl_->transaction([&] {
    Statement insert(impl_->db,
                     "INSERT OR IGNORE INTO records (id, task, device, outcome, median, line) VALUES (?,?,?,?,?,?)",
                     impl_->file);
    for (const Record& record : records) {
      insert.bind(1, record.id).bind(2, record.task).bind(3, record.device).bind(4, name(record.result.outcome));
      insert.bind(5, record.result.best()).bind(6, to_json_line(record));
      insert.step();
      insert.reset();
    }
  });
}

std::vector<Record> RecordStore::all() const {
  Statement statement(impl_->db, "SELECT line FROM records ORDER BY n", impl_->file);
  return read_all(statement);
}

std::vector<Record> RecordStore::of_task(const std::string& task, const std::string& device) const {
  Statement statement(impl_->db, "SELECT line FROM records WHERE task=? AND device=? ORDER BY n", impl_->file);
  statement.bind(1, task).bind(2, device);
  return read_all(statement);
}

std::vector<Record> RecordStore::best(const std::string& task, const std::string& device, int n) const {
  Statement statement(impl_->db,
                      "SELECT line FROM records LEFT JOIN notes ON kind='leader' AND key=id "
                      "WHERE task=? AND device=? AND outcome='ok' AND median IS NOT NULL "
                      "ORDER BY json IS NULL, CAST(json AS INTEGER), median, n LIMIT ?",
                      impl_->file);
  statement.bind(1, task).bind(2, device).bind(3, static_cast<double>(n));
  return read_all(statement);
}

void RecordStore::put_leaders(const std::string& task, const std::string& device, const std::vector<std::string>& ids) {
  impl_->transaction([&] {
    Statement remove(impl_->db,
                     "DELETE FROM notes WHERE kind='leader' AND key IN (SELECT id FROM records WHERE task=? AND "
                     "device=?)",
                     impl_->file);
    remove.bind(1, task).bind(2, device).step();
    Statement insert(impl_->db, "INSERT OR REPLACE INTO notes (kind, key, json) VALUES ('leader',?,?)", impl_->file);
    for (size_t rank = 0; rank < ids.size(); rank++) {
      insert.bind(1, ids[rank]).bind(2, std::to_string(rank)).step();
      insert.reset();
    }
  });
}

std::vector<std::string> RecordStore::devices() const {
  Statement statement(impl_->db, "SELECT DISTINCT device FROM records ORDER BY device", impl_->file);
  std::vector<std::string> devices;
  while (statement.step()) devices.push_back(statement.text(0));
  return devices;
}

i64 RecordStore::count() const { return impl_->number("SELECT count(*) FROM records"); }

void RecordStore::put_notes(const std::string& kind, const std::vector<std::pair<std::string, std::string>>& notes) {
  impl_->transaction([&] {
    Statement insert(impl_->db, "INSERT OR REPLACE INTO notes (kind, key, json) VALUES (?,?,?)", impl_->file);
    for (const auto& [key, json] : notes) {
      insert.bind(1, kind).bind(2, key).bind(3, json);
      insert.step();
      insert.reset();
    }
  });
}

std::vector<std::pair<std::string, std::string>> RecordStore::notes(const std::string& kind) const {
  Statement statement(impl_->db, "SELECT key, json FROM notes WHERE kind=? ORDER BY rowid", impl_->file);
  statement.bind(1, kind);
  std::vector<std::pair<std::string, std::string>> found;
  while (statement.step()) found.emplace_back(statement.text(0), statement.text(1));
  return found;
}

}  // namespace mcc
