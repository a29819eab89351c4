// Temporary folders: what a killed process left behind goes, what a living one holds stays.
#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>

namespace fs = std::filesystem;
using namespace mcc;

TEST(RemoveAbandoned, TakesOnlyWhatNobodyHolds) {
  const TempDir dir;
  for (const char* name : {"x.stage1", "x.stage2", "y.stage1"}) fs::create_directory(dir.path() / name);
  write_file(dir.path() / "x.stage1" / "inside", "text");
  write_file(dir.path() / "x.stage-file", "text");
  FolderHold hold;
  ASSERT_EQ(hold.take(dir.path() / "x.stage2"), 0);
  remove_abandoned(dir.path(), "x.stage");
  EXPECT_FALSE(fs::exists(dir.path() / "x.stage1"));
  EXPECT_TRUE(fs::exists(dir.path() / "x.stage2"));
  EXPECT_TRUE(fs::exists(dir.path() / "y.stage1"));
  EXPECT_TRUE(fs::exists(dir.path() / "x.stage-file"));
}

TEST(TempDir, GoesWithItsContents) {
  fs::path path;
  {
    const TempDir dir;
    path = dir.path();
    write_file(path / "file", "text");
    remove_abandoned(path.parent_path(), path.filename());
    EXPECT_TRUE(fs::exists(path / "file")) << "a held folder was removed";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(FolderHold, SaysWhyNot) {
  const TempDir dir;
  FolderHold none, again;
  EXPECT_EQ(none.take(dir.path() / "missing"), ENOENT);
  EXPECT_EQ(again.take(dir.path()), EWOULDBLOCK);
}

TEST(TempDir, SaysWhereItCannotBe) {
  setenv("TMPDIR", "/nowhere/at/all", 1);
  try {
    TempDir();
    ADD_FAILURE() << "a folder in no folder";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/at/all"), std::string::npos) << error.what();
  }
  unsetenv("TMPDIR");
}

TEST(TempDir, EndsWhenNoFileCanBeOpened) {
  const TempDir dir;
  setenv("TMPDIR", dir.path().c_str(), 1);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_THROW(TempDir(), Error);
  setrlimit(RLIMIT_NOFILE, &before);
  unsetenv("TMPDIR");
  EXPECT_TRUE(fs::is_empty(dir.path())) << "left behind";
}
