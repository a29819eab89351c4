// Arithmetic on counts at its limits.
#include <gtest/gtest.h>

#include <limits>

#include "base/base.h"

namespace mcc {
namespace {

TEST(Numbers, CeilDivDoesNotOverflow) {
  constexpr i64 kMax = std::numeric_limits<i64>::max();
  EXPECT_EQ(ceil_div(0, 3), 0);
  EXPECT_EQ(ceil_div(6, 3), 2);
  EXPECT_EQ(ceil_div(7, 3), 3);
  EXPECT_EQ(ceil_div(-7, 3), -2);
  EXPECT_EQ(ceil_div(1, kMax), 1);
  EXPECT_EQ(ceil_div(kMax, kMax), 1);
  EXPECT_EQ(ceil_div(kMax, 2), kMax / 2 + 1);
}

}  // namespace
}  // namespace mcc
