// Temporary folders: what a killed process left behind goes, what a living one holds stays.
#include "base/file.h"

#include <gtest/gtest.h>

namespace fs = std::filesystem;
using namespace mcc;

TEST(RemoveAbandoned, TakesOnlyWhatNobodyHolds) {
  const TempDir dir;
  for (const char* name : {"x.stage1", "x.stage2", "y.stage1"}) fs::create_directory(dir.path() / name);
  write_file(dir.path() / "x.stage1" / "inside", "text");
  write_file(dir.path() / "x.stage-file", "text");
  FolderHold hold;
  ASSERT_TRUE(hold.take(dir.path() / "x.stage2"));
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
