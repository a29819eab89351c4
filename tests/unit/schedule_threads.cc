// What default schedules share out among threads.
#include "base/text.h"
#include "schedule_samples.h"

namespace mcc {
namespace {

using namespace samples;

std::string default_for_two(const Func& func) {
  Target two = avx2();
  two.cores = 2;
  const Task task = make_task(func, two, 1);
  const Trace trace = default_trace(task);
  const Applied applied = mcc::apply(func, trace);
  EXPECT_TRUE(applied.func) << applied.why_not;
  EXPECT_EQ(difference(func, applied.func.value_or(Func{}), 1), "");
  return to_string(trace);
}

// pixels x channels to channels x pixels, loops in the order of what is read or of what is written.
Func to_channels_first(i64 pixels, i64 channels, bool pixels_outside) {
  FuncBuilder b("turn");
  const int x = b.input("x", DType::f32, {pixels, channels}), y = b.output("y", DType::f32, {channels, pixels});
  if (pixels_outside) {
    b.axes({"p", "c"});
    b.block_at(
        "turn", {pixels, channels}, y, [](const Vars& v) { return Vars{v[1], v[0]}; },
        [&](const Vars& v) { return b.load(x, v); });
  } else {
    b.axes({"c", "p"});
    b.block("turn", {channels, pixels}, y, [&](const Vars& v) { return b.load(x, {v[1], v[0]}); });
  }
  return b.take();
}

TEST(Threads, ATranspositionIsSharedOutAlongItsOuterLoop) {
  EXPECT_NE(default_for_two(to_channels_first(4096, 64, true)).find("mark turn p.0 parallel"), std::string::npos);
  EXPECT_NE(default_for_two(to_channels_first(4096, 64, false)).find("mark turn c.0 parallel"), std::string::npos);
  EXPECT_EQ(default_for_two(to_channels_first(64, 64, true)).find("parallel"), std::string::npos) << "not worth it";
}

TEST(Threads, AMatrixThatComesFromMemoryIsReadByAll) {
  EXPECT_NE(default_for_two(matmul(1, 4096, 4096, true, false, false)).find("parallel"), std::string::npos);
}

// Each thread has the rows that it made itself, no thread more of them than another; but weights that come from memory
// are not fetched twice for that.
TEST(Threads, RowsAreSharedOutEvenly) {
  EXPECT_NE(default_for_two(matmul(28, 256, 256, true, true, true)).find("share "), std::string::npos);
  EXPECT_EQ(default_for_two(matmul(28, 512, 512, true, true, true)).find("share "), std::string::npos);
}

}  // namespace
}  // namespace mcc
