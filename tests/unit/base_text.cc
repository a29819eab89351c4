// Text for messages and names: whatever comes from a file, a message is one line of sensible length.
#include "base/text.h"

#include <gtest/gtest.h>

namespace mcc {
namespace {

TEST(Text, LowerCaseTouchesAsciiLettersOnly) {
  EXPECT_EQ(lower_case("ReLU_6 [\\Z]"), "relu_6 [\\z]");
  EXPECT_EQ(lower_case("\xc3\x84"), "\xc3\x84");  // a letter of two bytes
}

TEST(Text, MessagesAreOneLine) {
  EXPECT_EQ(one_line("a\nb\r\n\tc"), "a b   c");
  EXPECT_EQ(one_line(std::string("x\0y\x1b[1m\x7f", 8)), "x?y?[1m?");
  EXPECT_EQ(one_line("\xc3\xa9 stays"), "\xc3\xa9 stays");
  EXPECT_EQ(one_line("12345", 5), "12345");
  EXPECT_EQ(one_line("123456", 5), "12345...");
}

}  // namespace
}  // namespace mcc
