// Targets: the table is sound, the host is described, JSON goes round and is checked strictly.
#include <gtest/gtest.h>

#include "base/file.h"
#include "target/target.h"

namespace mcc {
namespace {

std::string error_of(const std::string& json) {
  try {
    target_from_json(json);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Target, EveryNameIsFoundAndSound) {
  for (const std::string& name : target_names()) {
    const Target target = find_target(name);
    EXPECT_EQ(target.name, name);
    EXPECT_GE(target.cores, 1);
    EXPECT_EQ(target.vector_bytes & (target.vector_bytes - 1), 0);
    EXPECT_GT(target.l1_bytes, 1024);
    EXPECT_LT(target.l1_bytes, target.l2_bytes);
    EXPECT_GT(target.ghz, 0.1);
  }
}

TEST(Target, CrossTargetsDoNotDependOnThisMachine) {
  EXPECT_EQ(find_target("rpi4").cpu, "cortex-a72");
  EXPECT_EQ(find_target("rv64gcv").abi, "lp64d");
  EXPECT_EQ(find_target("x86-64-v3").vector_bytes, 32);
  EXPECT_TRUE(find_target("x86-64-v4").masked_memory);
}

TEST(Target, JsonGoesRound) {
  for (const std::string& name : target_names())
    EXPECT_EQ(target_from_json(to_json(find_target(name))), find_target(name));
}

TEST(Target, BaseIsChangedByTheOtherKeys) {
  const Target target = target_from_json(R"({"base": "rpi4", "name": "mine", "ghz": 1.8, "emulator": []})");
  EXPECT_EQ(target.name, "mine");
  EXPECT_EQ(target.ghz, 1.8);
  EXPECT_TRUE(target.emulator.empty());
  EXPECT_EQ(target.cpu, "cortex-a72");
}

TEST(Target, BadJsonIsRefusedByName) {
  EXPECT_NE(error_of("[").find("not a JSON object"), std::string::npos);
  EXPECT_NE(error_of(R"({"base": "rpi4", "gzh": 1})").find("unknown key \"gzh\""), std::string::npos);
  EXPECT_NE(error_of(R"({"name": "x"})").find("missing triple"), std::string::npos);
  EXPECT_NE(error_of(R"({"base": "rpi4", "cores": "4"})").find("\"cores\" must be"), std::string::npos);
  EXPECT_NE(error_of(R"({"base": "rpi4", "cores": 0})").find("\"cores\" must be"), std::string::npos);
  EXPECT_NE(error_of(R"({"base": "rpi4", "vector_bytes": 24})").find("power of two"), std::string::npos);
  EXPECT_NE(error_of(R"({"base": "rpi9"})").find("'rpi9' is not known"), std::string::npos);
}

TEST(Target, FilesAndUnknownNames) {
  const TempDir folder;
  const std::string file = (folder.path() / "board.json").string();
  write_file(file, R"({"base": "rpi5", "cores": 2})");
  EXPECT_EQ(find_target(file).cores, 2);
  EXPECT_THROW(find_target("no-such-board"), Error);
  EXPECT_THROW(find_target((folder.path() / "missing.json").string()), Error);
}

}  // namespace
}  // namespace mcc
