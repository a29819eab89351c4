// Tuning logs, which are SQLite files: whatever is in one, reading it and adding to it gives records or an Error. A
// damaged log may also make a write fail.
#include <filesystem>

#include "base/file.h"
#include "fuzz/fuzz.h"
#include "records/record.h"

namespace {

void read_and_add(std::string_view bytes) {
  static const mcc::TempDir folder;
  const std::filesystem::path file = folder.path() / "log.db";
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(file.string() + suffix);
  mcc::write_file(file, bytes);
  {
    const mcc::RecordStore store = mcc::RecordStore::open(file, mcc::RecordStore::Mode::read_only);
    store.count();
    store.notes("quality");
    store.best("task", "device", 3);
    store.all();
  }
  mcc::Record record;
  record.id = "new";
  try {
    mcc::RecordStore::open(file, mcc::RecordStore::Mode::read_write).append({record});
  } catch (const mcc::JobError&) {
  }
}

}  // namespace

MCC_FUZZ_TARGET(read_and_add)
