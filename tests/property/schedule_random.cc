// Random schedules of random small programs compute what the programs compute; default schedules always apply.
#include "schedule/sketches.h"
#include "schedule/steps.h"
#include "schedule_samples.h"

namespace mcc {
namespace {

using namespace samples;

std::vector<Func> programs(Rng& rng) {
  const auto size = [&](i64 most) { return 1 + rng.below(most); };
  std::vector<Func> all;
  for (int i = 0; i < 3; i++) {
    const i64 kernel = 1 + 2 * rng.below(2);
    const ConvShape s{kernel + size(12), kernel + size(12), size(9), size(40), kernel, size(2), kernel / 2};
    all.push_back(conv(s, i != 0, i == 2));
    all.push_back(depthwise({kernel + size(9), kernel + size(9), size(20), 1, kernel, size(2), kernel / 2}));
    all.push_back(depthwise(
        {kernel + 1 + size(9), kernel + 1 + size(9), 2 + size(20), size(40), kernel, size(2), kernel / 2}, true));
    all.push_back(pool({kernel + size(9), kernel + size(9), size(20), 1, kernel, size(2), 0},
                       i == 0 ? StoreOp::max : StoreOp::add));
    all.push_back(
        pool({2 + size(20), 2 + size(40), size(4), 1, 3, size(3), 1}, i == 0 ? StoreOp::add : StoreOp::max, true));
    all.push_back(
        matmul(size(20), size(40), size(20), rng.below(2) == 0, rng.below(2) == 0, rng.below(2) == 0, rng.below(3)));
    all.push_back(matmul(1, size(90), size(40), true, true, true));
    all.push_back(matmul(size(4), size(20), 512 * size(3), rng.below(2) == 0, false, rng.below(2) == 0));  // in parts
    if (i == 0) all.push_back(matmul(24 + size(6), 256 + size(20), size(5), false, false, true));  // with panels
    all.push_back(softmax_like(size(7), size(70)));
    all.push_back(attention({size(3), 15 + size(20), 15 + size(30), size(9), 15 + size(20), i == 1, i != 2}));
    all.push_back(mean_rows(size(7), size(70)));
    all.push_back(conv_nchw(size(2), size(5), size(20), 3 + size(9), size(3), size(2)));
    all.push_back(normalise(size(5), size(70)));
    all.push_back(pool_and_join(size(6), size(40)));
    all.push_back(recurrence(1 + size(3), size(20)));
    all.push_back(running_sum(size(6), size(20)));
    all.push_back(elementwise({size(9), size(40)}));
    all.push_back(transpose(size(30), size(30)));
  }
  return all;
}

TEST(Schedule, RowsThatCompeteInTheCacheAreCopiedToPanels) {
  const auto copies = [](i64 n, bool constant) {
    const Trace trace = default_trace(make_task(matmul(24, n, 600, constant, false, false), avx2(), 1));
    return std::count_if(trace.begin(), trace.end(), [](const Step& s) { return s.kind == StepKind::cache_read; });
  };
  EXPECT_EQ(copies(2048, false), 1);
  EXPECT_EQ(copies(2048, true), 0);
  EXPECT_EQ(copies(64, false), 0);
}

// The border of a small image is a tenth of the work.
TEST(Schedule, ProductsWithTheBorderAreSkipped) {
  const auto skips = [](i64 channels) {
    const Trace trace = default_trace(make_task(conv({14, 14, channels, 64, 3, 2, 1}, false, false), avx2(), 1));
    return std::any_of(trace.begin(), trace.end(), [](const Step& s) { return s.kind == StepKind::skip; });
  };
  EXPECT_TRUE(skips(128));
  EXPECT_FALSE(skips(16));  // too few products between two decisions
}

// A few rows, and weights that all of them read: whichever loop is outermost, threads share it.
TEST(Schedule, ProductsOfFewRowsRunInParallel) {
  Target target = avx2();
  target.cores = 2;
  for (const i64 rows : {7, 49, 50}) {
    const Applied applied = mcc::apply(matmul(rows, 1152, 192, true, true, true),
                                       default_trace(make_task(matmul(rows, 1152, 192, true, true, true), target, 1)));
    ASSERT_TRUE(applied.func) << applied.why_not;
    EXPECT_NE(print(*applied.func).find("parallel "), std::string::npos) << print(*applied.func);
  }
}

// By default neither scores nor what the softmax makes of them are whole in memory; one choice less, and they are.
TEST(Schedule, ScoresOfAnAttentionAreMadeForBlocksOfRows) {
  for (const bool by_rows : {false, true}) {
    const Func func = attention({4, 256, 256, 32, 32, true, by_rows});
    const Applied applied = mcc::apply(func, default_trace(make_task(func, avx2(), 1)));
    ASSERT_TRUE(applied.func) << applied.why_not;
    for (const Buffer& buffer : applied.func->buffers) {
      EXPECT_NE(buffer.scope, Scope::temp) << buffer.name;
      EXPECT_TRUE(is_param(buffer.scope) || elements(buffer.shape) < 256 * 256) << buffer.name;
    }
    const std::vector<Sketch> space = sketches(make_task(func, avx2(), 1));
    const std::vector<Knob>& knobs = space[0].knobs;
    EXPECT_TRUE(std::any_of(knobs.begin(), knobs.end(), [](const Knob& knob) { return knob.name == "exp place"; }));
  }
}

TEST(ScheduleProperty, RandomCandidatesComputeTheSame) {
  i64 legal = 0, tried = 0;
  for (u64 seed = 1; seed <= 4; seed++) {
    Rng rng(seed);
    for (const Func& func : programs(rng)) {
      Target target = avx2();
      target.cores = seed % 2 == 0 ? 4 : 1;
      const Task task = make_task(func, target, 1);
      std::vector<std::string> failures;
      schedule::preferred_sketches(task, &failures);
      ASSERT_TRUE(failures.empty()) << failures[0] << "\n" << print(func);
      const std::vector<Sketch> space = sketches(task);
      for (int i = 0; i < 12; i++) {
        const Candidate candidate = random_candidate(space, rng);
        const Trace trace = resolve(space[static_cast<size_t>(candidate.sketch)], candidate);
        tried++;
        legal += expect_same(func, trace, seed, false) ? 1 : 0;
        if (testing::Test::HasFailure()) return;
        const std::optional<Candidate> found = find_candidate(space, trace);
        ASSERT_TRUE(found);
        ASSERT_EQ(resolve(space[static_cast<size_t>(found->sketch)], *found), trace);
      }
    }
  }
  EXPECT_GT(legal * 10, tried * 7) << legal << " of " << tried;
}

TEST(ScheduleProperty, DefaultTracesApplyAndAreInTheSpace) {
  for (u64 seed = 10; seed <= 12; seed++) {
    Rng rng(seed);
    for (const Func& func : programs(rng)) {
      Target target = avx2();
      target.cores = seed % 2 == 0 ? 4 : 1;
      if (seed == 12) target.vector_bytes = 64, target.vector_registers = 32;
      const Task task = make_task(func, target, 1);
      const Trace trace = default_trace(task);
      expect_same(func, trace, seed);
      if (testing::Test::HasFailure()) return;
      EXPECT_TRUE(find_candidate(sketches(task), trace)) << to_string(trace);
    }
  }
}

// A few filters over a planar image: the tile that the rules prefer does not fit the registers, another one does.
TEST(ScheduleProperty, DefaultsAreNotPlainWhereATileIsLegal) {
  FuncBuilder b("stem");
  const int x = b.input("x", DType::f32, {3, 97, 97}), w = b.constant_input("w", DType::f32, {8, 3, 3, 3});
  const int y = b.output("y", DType::f32, {48, 48, 8}), c = b.temp("c", DType::f32, {48, 48, 8});
  b.reduce("conv", {48, 48, 8}, {3, 3, 3}, c, StoreOp::add, const_float(0), [&](const Vars& v, const Vars& k) {
    return b.load(x, {k[2], v[0] * 2 + k[0], v[1] * 2 + k[1]}) * b.load(w, {v[2], k[2], k[0], k[1]});
  });
  b.block("relu", {48, 48, 8}, y, [&](const Vars& v) { return max(b.load(c, v), const_float(0)); });
  const Func func = b.take();
  for (const i64 bytes : {16, 32, 64}) {
    Target target = avx2();
    target.vector_bytes = bytes, target.vector_registers = bytes == 64 ? 32 : 16;
    const Trace trace = default_trace(make_task(func, target, 1));
    EXPECT_FALSE(trace.empty()) << bytes;
    expect_same(func, trace, 1);
  }
}

// Splits with arbitrary factors in arbitrary orders, unrelated to any rule.
TEST(ScheduleProperty, RandomSplitsAndOrders) {
  for (u64 seed = 1; seed <= 60; seed++) {
    Rng rng(seed);
    const Func func = matmul(1 + rng.below(15), 1 + rng.below(15), 1 + rng.below(15), true, rng.below(2) == 0, false);
    Trace trace;
    std::vector<std::string> loops;
    for (const char* axis : {"i0", "i1", "i2"}) {
      if (rng.below(4) == 0) {
        loops.push_back(axis);
        continue;
      }
      trace.push_back({StepKind::split, "matmul", {axis}, {1 + rng.below(5), 1 + rng.below(5)}});
      for (int i = 0; i < 3; i++) loops.push_back(fmt::format("{}.{}", axis, i));
    }
    for (size_t i = loops.size() - 1; i > 0; i--) {  // a random order that keeps loops of one axis in order
      const size_t j = static_cast<size_t>(rng.below(static_cast<i64>(i)));
      if (loops[i].substr(0, 2) != loops[i - 1].substr(0, 2)) std::swap(loops[i], loops[i - 1]);
      if (j + 1 < loops.size() && loops[j].substr(0, 2) != loops[j + 1].substr(0, 2)) std::swap(loops[j], loops[j + 1]);
    }
    trace.push_back({StepKind::reorder, "matmul", loops, {}});
    if (rng.below(2) == 0) trace.push_back({StepKind::mark, "matmul", {loops.back(), "vectorize"}, {}});
    expect_same(func, trace, seed);
    if (testing::Test::HasFailure()) return;
  }
}

// Any step on any block, with whatever names exist: what is not refused must be right.
Step random_step(const schedule::State& state, Rng& rng) {
  const schedule::Stage& stage = rng.pick(state.stages);
  const schedule::Stage& other = rng.pick(state.stages);
  const auto loop_of = [&](const schedule::Stage& s) {
    return s.loops.empty() ? std::string("none") : rng.pick(s.loops).name;
  };
  const auto shuffled = [&] {
    std::vector<std::string> names;
    for (const schedule::LoopSpec& loop : stage.loops) names.push_back(loop.name);
    rng.shuffle(names);
    return names;
  };
  const std::vector<std::string> kinds{"parallel", "vectorize", "unroll", "serial"}, scopes{"reg", "local", "temp"};
  const std::string buffer = rng.pick(state.buffers).name;
  switch (rng.below(13)) {
    case 0: return {StepKind::inline_block, stage.block, {}, {}};
    case 1:
    case 2: return {StepKind::compute_at, stage.block, {other.block, loop_of(other)}, {}};
    case 3: return {StepKind::reorder, stage.block, shuffled(), {}};
    case 4: return {StepKind::mark, stage.block, {loop_of(stage), rng.pick(kinds)}, {}};
    case 5: return {StepKind::scope, stage.block, {rng.pick(scopes)}, {}};
    case 6: return {StepKind::cache_write, stage.block, {}, {}};
    case 7:
      return {StepKind::cache_read,
              stage.block,
              {buffer},
              rng.below(2) == 0 ? std::vector<i64>{1, 0} : std::vector<i64>{0}};
    case 8: return {StepKind::rfactor, stage.block, {loop_of(stage)}, {}};
    case 9: return {StepKind::parts, stage.block, {loop_of(stage)}, {2 + rng.below(3)}};
    case 10: return {StepKind::strips, stage.block, {loop_of(stage)}, {}};
    case 11: {
      std::vector<std::string> words = shuffled();
      words.resize(words.size() - std::min(words.size(), static_cast<size_t>(rng.below(3))));
      words.insert(words.begin(), buffer);
      return {StepKind::cache_access, stage.block, words, {}};
    }
    default: return {StepKind::split, stage.block, {loop_of(stage)}, {1 + rng.below(6), 1 + rng.below(3)}};
  }
}

TEST(ScheduleProperty, RandomStepsAreRefusedOrRight) {
  i64 legal = 0;
  for (u64 seed = 1; seed <= 40; seed++) {
    Rng rng(seed * 977);
    for (const Func& func : programs(rng)) {
      schedule::State state = schedule::make_state(func);
      Trace trace;
      for (int tries = 0; tries < 14; tries++) {
        const Step step = random_step(state, rng);
        schedule::State next = state;
        if (!schedule::run_step(next, step).empty()) continue;
        state = std::move(next);
        trace.push_back(step);
      }
      legal += expect_same(func, trace, seed, false) ? 1 : 0;
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(legal, 100);
}

}  // namespace
}  // namespace mcc
