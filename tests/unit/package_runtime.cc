// The thread pool under stress: every iteration exactly once, distinct thread numbers, nested loops, more threads than
// processors, and pools that come and go; and the argument checks of mcc_model_run.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/mcc_runtime.h"

namespace {

struct Counts {
  std::vector<std::atomic<int>> hits;
  std::atomic<int> busy_threads[64] = {};
  std::atomic<int> wrong{0};
  explicit Counts(size_t n) : hits(n) {}
};

void count_chunk(void* ctx, int64_t begin, int64_t end, int32_t thread) {
  auto& counts = *static_cast<Counts*>(ctx);
  if (counts.busy_threads[thread]++ != 0) counts.wrong++;
  for (int64_t i = begin; i < end; i++) counts.hits[static_cast<size_t>(i)]++;
  counts.busy_threads[thread]--;
}

void expect_each_once(mcc_runtime* rt, int64_t n) {
  Counts counts(static_cast<size_t>(n));
  rt->parallel(rt, count_chunk, &counts, n);
  for (auto& hit : counts.hits) ASSERT_EQ(hit.load(), 1);
  ASSERT_EQ(counts.wrong.load(), 0);
}

TEST(Runtime, EveryIterationOnce) {
  for (const int threads : {1, 2, 3, 4, 7, 16}) {
    mcc_runtime* rt = mcc_runtime_create(threads);
    ASSERT_NE(rt, nullptr);
    for (int64_t n = 0; n < 300; n++) expect_each_once(rt, n);
    mcc_runtime_destroy(rt);
  }
}

TEST(Runtime, WakesAfterSleep) {
  mcc_runtime* rt = mcc_runtime_create(4);
  for (int i = 0; i < 20; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 4));
    expect_each_once(rt, 10);
  }
  mcc_runtime_destroy(rt);
}

TEST(Runtime, RunsOnFewerProcessorsThanThreads) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  mcc_runtime* rt = mcc_runtime_create(3);
  for (int i = 0; i < 10; i++) expect_each_once(rt, 10);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  expect_each_once(rt, 10);
  mcc_runtime_destroy(rt);
}

struct Nested {
  mcc_runtime* rt;
  std::atomic<int> inner{0}, wrong{0};
};

void inner_chunk(void* ctx, int64_t begin, int64_t end, int32_t thread) {
  auto& [nested, outer_thread] = *static_cast<std::pair<Nested*, int32_t>*>(ctx);
  if (thread != outer_thread) nested->wrong++;
  nested->inner += static_cast<int>(end - begin);
}

void outer_chunk(void* ctx, int64_t begin, int64_t end, int32_t thread) {
  auto& nested = *static_cast<Nested*>(ctx);
  std::pair<Nested*, int32_t> argument{&nested, thread};
  for (int64_t i = begin; i < end; i++) nested.rt->parallel(nested.rt, inner_chunk, &argument, 5);
}

TEST(Runtime, NestedLoopsRunOnTheirThread) {
  mcc_runtime* rt = mcc_runtime_create(3);
  Nested nested{rt, {}, {}};
  rt->parallel(rt, outer_chunk, &nested, 100);
  EXPECT_EQ(nested.inner.load(), 500);
  EXPECT_EQ(nested.wrong.load(), 0);
  mcc_runtime_destroy(rt);
}

TEST(Runtime, PoolsOfSeveralCallersComeAndGo) {
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; c++) {
    callers.emplace_back([] {
      for (int i = 0; i < 30; i++) {
        mcc_runtime* rt = mcc_runtime_create(3);
        expect_each_once(rt, 17);
        mcc_runtime_destroy(rt);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

void add_one(void* const* args, char*, mcc_runtime*) {
  const auto* x = static_cast<const float*>(args[0]);
  auto* y = static_cast<float*>(args[1]);
  for (int i = 0; i < 4; i++) y[i] = x[i] + 1;
}

struct OneStep {
  int64_t shape[1] = {4};
  mcc_tensor_info input{"x", MCC_F32, 1, shape, 16, 0}, output{"y", MCC_F32, 1, shape, 16, 0};
  mcc_location args[2] = {{MCC_INPUT, 0, 0}, {MCC_OUTPUT, 0, 0}};
  mcc_step step{add_one, args, 2, 0, 0, "add"};
  mcc_model model{MCC_ABI_VERSION, 2, "m", 1, 1, 1, 2, &input, &output, 64, 64, &step, nullptr, 0};
};

TEST(RunModel, RunsAndChecksItsArguments) {
  const OneStep one;
  alignas(64) char arena[128];
  alignas(4) float x[5] = {1, 2, 3, 4, 5}, y[4];
  const void* in[1] = {x};
  void* out[1] = {y};
  EXPECT_EQ(mcc_model_run(&one.model, in, out, arena, nullptr), MCC_OK);
  EXPECT_EQ(y[3], 5);
  EXPECT_EQ(mcc_model_run(nullptr, in, out, arena, nullptr), MCC_E_ARGUMENT);
  EXPECT_EQ(mcc_model_run(&one.model, nullptr, out, arena, nullptr), MCC_E_ARGUMENT);
  EXPECT_EQ(mcc_model_run(&one.model, in, out, nullptr, nullptr), MCC_E_ARGUMENT);
  EXPECT_EQ(mcc_model_run(&one.model, in, out, arena + 8, nullptr), MCC_E_ALIGNMENT);
  const void* odd[1] = {reinterpret_cast<char*>(x) + 1};
  EXPECT_EQ(mcc_model_run(&one.model, odd, out, arena, nullptr), MCC_E_ALIGNMENT);
  mcc_runtime* rt = mcc_runtime_create(3);
  EXPECT_EQ(mcc_model_run(&one.model, in, out, arena, rt), MCC_E_THREADS);
  mcc_runtime_destroy(rt);
}

TEST(RunModel, HookSeesEachStep) {
  const OneStep one;
  alignas(64) char arena[64];
  float x[4] = {}, y[4];
  const void* in[1] = {x};
  void* out[1] = {y};
  std::vector<int> seen;
  mcc_model_run_hooked(
      &one.model, in, out, arena, nullptr,
      [](void* user, int32_t step, int32_t done) { static_cast<std::vector<int>*>(user)->push_back(step * 2 + done); },
      &seen);
  EXPECT_EQ(seen, (std::vector<int>{0, 1}));
}

}  // namespace
