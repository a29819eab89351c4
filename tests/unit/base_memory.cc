// What a run may take: the machine's memory, less under a limit on the process.
#include "base/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "base/base.h"

namespace mcc {
namespace {

constexpr double kGiB = 1 << 30;

std::string refusal(double bytes) {
  try {
    require_memory(bytes, "a run");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

double addresses_in_use() {
  double pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

TEST(Memory, MoreThanTheMachineHasIsRefused) {
  EXPECT_EQ(refusal(1 << 20), "");
  EXPECT_NE(refusal(1e18).find("a run takes 931322574.6 GiB of memory, more than the"), std::string::npos);
}

TEST(Memory, TheLimitOfTheProcessCounts) {
  const double machine = memory_limit();
  rlimit before{}, less{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  less = before;
  // Under sanitizers, too, which have terabytes of addresses to begin with; and no higher than any limit there was.
  less.rlim_cur = static_cast<rlim_t>(addresses_in_use() + machine / 2);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &less), 0);
  const double limited = memory_limit();
  const std::string why = refusal(machine * 0.75);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_LE(limited, machine / 2);
  EXPECT_NE(why, "") << machine / kGiB << " GiB in the machine";
}

}  // namespace
}  // namespace mcc
