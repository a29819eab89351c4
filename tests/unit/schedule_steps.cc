// Each step by hand on small programs: the result computes the same, and illegal uses are refused with a reason.
#include "schedule/analytic.h"
#include "schedule_samples.h"

namespace mcc {
namespace {

using namespace samples;

TEST(Trace, TextRoundTrip) {
  const std::string text =
      "split conv m [4,12]; reorder conv m.0 n.0 k; mark conv m.0 parallel; inline pad; compute_at conv relu m.1; "
      "scope conv reg; "
      "cache_write conv; cache_read conv x [1,0]; pack conv w [0:16,1:1,0:1]; rfactor sum j.1; winograd conv [4]; "
      "prefetch conv w [0,8192]; parts conv ic [4]; cache_access conv x ky kx ic oy ox; strips pool ky";
  EXPECT_EQ(to_string(parse_trace(text)), text);
  EXPECT_THROW(parse_trace("split conv m"), Error);
  EXPECT_THROW(parse_trace("turn conv m [2]"), Error);
  EXPECT_THROW(parse_trace("pack conv w [1,2]"), Error);
}

TEST(Steps, EmptyTraceIsPlainLoops) {
  for (const Func& f : {conv({}), depthwise({}), softmax_like(3, 10), transpose(4, 6)}) expect_same(f, {}, 1);
}

TEST(Steps, RaggedSplitsInEveryOrder) {
  expect_same(
      matmul(13, 11, 9, true, false, false),
      parse_trace(
          "split matmul i0 [3,2]; split matmul i1 [4]; split matmul i2 [4]; "
          "reorder matmul i0.0 i1.0 i2.0 i0.1 i2.1 i0.2 i1.1; mark matmul i1.1 vectorize; mark matmul i0.2 unroll"),
      2);
}

TEST(Steps, RaggedParallelLoopsShareOneRange) {
  const Applied applied =
      mcc::apply(matmul(13, 11, 9, true, false, false),
                 parse_trace("split matmul i0 [4]; split matmul i1 [4]; reorder matmul i0.0 i1.0 i0.1 i1.1 i2; "
                             "mark matmul i0.0 parallel; mark matmul i1.0 parallel"));
  ASSERT_TRUE(applied.func) << applied.why_not;
  const Loop& outer = std::get<Loop>(applied.func->body[0].node);
  EXPECT_EQ(outer.kind, LoopKind::parallel);
  ASSERT_EQ(outer.body.size(), 1u);
  EXPECT_EQ(std::get<Loop>(outer.body[0].node).kind, LoopKind::parallel);
  EXPECT_EQ(difference(matmul(13, 11, 9, true, false, false), *applied.func, 3), "");
}

TEST(Steps, ConvInRegistersUnderItsEpilogue) {
  expect_same(
      conv({}),
      parse_trace(
          "inline bias; split relu rx [4]; split relu rc [8]; reorder relu ry rc.0 rx.0 rx.1 rc.1; mark relu rx.1 "
          "unroll; "
          "mark relu rc.1 vectorize; compute_at conv relu rx.0; scope conv reg; split conv ic [2]; "
          "reorder conv oy ky kx ic.0 ic.1 ox oc; mark conv ic.1 unroll; mark conv ox unroll; mark conv oc vectorize; "
          "pack conv w [0:8,2:1,3:1,1:1,0:1]; compute_at pad relu ry"),
      4);
}

TEST(Steps, SumsInPartsInsideTheirEpilogue) {
  expect_same(matmul(5, 20, 48, true, true, true),
              parse_trace("parts matmul i2 [4]; cache_write matmul.parts; split matmul.parts.out i1 [8]; "
                          "compute_at matmul.parts matmul.parts.out i1.0; scope matmul.parts reg; "
                          "reorder matmul.parts part i2 i0 i1; pack matmul.parts w [0:8,1:1,0:1]; "
                          "mark matmul.parts i0 unroll; mark matmul.parts i1 vectorize; "
                          "mark matmul.parts.out part parallel; mark matmul.parts.out i1.1 vectorize; "
                          "compute_at matmul relu i0"),
              9);
}

TEST(Steps, PartsOfEqualLengthOnly) {
  const auto why = [](const std::string& trace) {
    return mcc::apply(matmul(5, 20, 48, true, true, true), parse_trace(trace)).why_not;
  };
  EXPECT_EQ(why("parts matmul i2 [3]"), "");
  EXPECT_EQ(why("parts matmul i2 [3]; parts matmul.parts i2 [2]"), "parts: matmul.parts is in parts already");
  EXPECT_EQ(why("parts matmul i2 [5]"), "parts: i2 of 48 elements cannot be in 5 equal parts");
  EXPECT_EQ(why("parts matmul i2 [1]"), "parts: i2 of 48 elements cannot be in 1 equal parts");
  EXPECT_EQ(why("parts matmul i2 [0]"), "parts: i2 of 48 elements cannot be in 0 equal parts");
  EXPECT_EQ(why("parts matmul i1 [2]"), "parts: i1 is no reduction loop");
  EXPECT_EQ(why("parts matmul k [2]"), "parts: block matmul has no loop k");
  EXPECT_EQ(why("parts relu i0 [5]"), "parts: i0 is no reduction loop");
  EXPECT_EQ(why("split matmul i2 [4]; parts matmul i2.0 [2]"), "parts: matmul has loops that are split");
}

TEST(Steps, WindowsShareStrips) {
  for (const i64 stride : {1, 2, 4}) {
    const Func func = pool({.height = 12, .width = 21, .in = 3, .stride = stride}, StoreOp::max, true);
    expect_same(func, parse_trace("strips pool ky"), 1);
    expect_same(func,
                parse_trace("strips pool ky; split pool oy [2]; split pool ox [8]; reorder pool c oy.0 oy.1 ox.0 kx "
                            "ox.1; mark pool ox.1 vectorize; mark pool kx unroll; compute_at pool.strips pool oy.0; "
                            "split pool.strips ox [8]; reorder pool.strips c oy ox.0 ky ox.1; "
                            "mark pool.strips ox.1 vectorize; mark pool c parallel; compute_at pad pool c"),
                2);
  }
}

TEST(Steps, OnlyWindowsHaveStrips) {
  const auto why = [](const Func& func, const std::string& trace) {
    return mcc::apply(func, parse_trace(trace)).why_not;
  };
  const Func planar = pool({.in = 3}, StoreOp::max, true);
  EXPECT_EQ(why(planar, "strips pool ky; strips pool kx"), "strips: there is pool.strips already");
  EXPECT_EQ(why(planar, "strips pool oy"), "strips: oy is no reduction loop");
  EXPECT_EQ(why(planar, "strips pool kz"), "strips: block pool has no loop kz");
  EXPECT_EQ(why(planar, "strips pad i0"), "strips: i0 is no reduction loop");
  EXPECT_EQ(why(planar, "split pool ky [2]; strips pool ky.0"), "strips: pool has loops that are split");
  EXPECT_EQ(why(conv({}), "strips conv ky"), "strips: conv does not read a window");
  EXPECT_EQ(why(matmul(5, 20, 48, true, true, true), "strips matmul i2"), "strips: matmul does not read a window");
  EXPECT_EQ(why(pool_and_join(6, 8), "strips sum i1"), "strips: sum does not read a window");
}

TEST(Steps, WindowsCopiedForEachTileOfRows) {
  const std::string tile =
      "split relu rx [4]; split relu rc [8]; reorder relu ry rx.0 rc.0 rx.1 rc.1; compute_at conv relu rc.0; "
      "scope conv reg; reorder conv oy ky kx ic ox oc; mark relu rx.1 unroll; mark relu rc.1 vectorize; mark conv ox "
      "unroll; "
      "mark conv oc vectorize; compute_at conv.p relu rx.0; ";
  for (const i64 stride : {1, 2}) {
    const Func func = conv({.height = 9, .width = 10, .in = 9, .out = 20, .stride = stride});
    expect_same(
        func, parse_trace("inline bias; cache_access conv p oy ox ky kx ic; " + tile + "mark conv.p ic vectorize"), 1);
    expect_same(
        func, parse_trace("inline bias; cache_access conv p ky kx ic oy ox; " + tile + "mark conv.p ox vectorize"), 2);
  }
}

TEST(Steps, OnlyAccessesThatAreSafeAreCopied) {
  const auto why = [](const std::string& trace) { return mcc::apply(conv({}), parse_trace(trace)).why_not; };
  EXPECT_EQ(why("cache_access conv p ic kx ky oy ox"), "");
  EXPECT_EQ(why("cache_access conv p ic kx ky oy"), "cache_access: p is also read along ox");
  EXPECT_EQ(why("cache_access conv p ic kx ky oy ox oc"), "cache_access: p is not read along oc");
  EXPECT_EQ(why("cache_access conv p ic kx ky oy ox ox"), "cache_access: p is not read along ox");
  EXPECT_EQ(why("cache_access conv x ic"), "cache_access: x: it is not read");
  EXPECT_EQ(why("cache_access conv q ic"), "cache_access: there is no buffer q");
  EXPECT_EQ(why("cache_access pad x py px pc"), "cache_access: x is read under a condition");
  EXPECT_EQ(why("cache_access conv p ic kx ky oy ox; cache_access conv p.panel ic kx ky oy ox"), "");
}

TEST(Sketches, LongSumsToFewOutputsAreMadeInParts) {
  Target two = avx2();
  two.cores = 2;
  const auto parts = [](const Func& func, const Target& target) {
    const Trace trace = default_trace(make_task(func, target, 1));
    return std::any_of(trace.begin(), trace.end(), [](const Step& s) { return s.kind == StepKind::parts; });
  };
  EXPECT_TRUE(parts(matmul(6, 8, 65536, false, false, false), two)) << "one register tile for two threads";
  EXPECT_TRUE(parts(matmul(1, 8, 8192, true, false, false), avx2())) << "one chain of sums";
  EXPECT_FALSE(parts(matmul(64, 64, 64, true, false, true), two));
  EXPECT_FALSE(parts(matmul(6, 16, 4099, false, false, false), two)) << "a prime number has no equal parts";
}

TEST(Steps, WinogradTilesOfEachSize) {
  for (i64 m : {2, 4, 6}) {
    const Trace trace = parse_trace(fmt::format("winograd conv [{}]", m));
    expect_same(conv({}, true, true), trace, 5);
    expect_same(conv({.height = 12, .width = 12, .in = 1, .out = 3}), trace, 6);
    expect_same(conv({.height = m + 2, .width = 2 * m + 2, .pad = 0}), trace, 7);
  }
}

TEST(Steps, WinogradInsideItsEpilogue) {
  expect_same(conv({.height = 9, .width = 10, .in = 9, .out = 20}, true, true),
              parse_trace("inline bias; winograd conv [4]; split relu ry [4]; split relu rx [4]; split relu rc [8]; "
                          "reorder relu ry.0 rx.0 rc.0 ry.1 rx.1 rc.1; mark relu ry.1 unroll; mark relu rx.1 unroll; "
                          "mark relu rc.1 vectorize; compute_at conv relu rc.0; compute_at conv.row_out relu rc.0; "
                          "compute_at conv.row_in conv.in tx; compute_at pad conv.in ty; "
                          "pack conv.mul w [0:1,1:1,2:8,3:1,2:1]; split conv.mul oc [8]"),
              8);
}

TEST(Steps, WinogradRefusesWhatItCannotDo) {
  const auto why = [](const Func& func, const std::string& trace) {
    return mcc::apply(func, parse_trace(trace)).why_not;
  };
  EXPECT_NE(why(conv({.stride = 2}), "winograd conv [2]"), "");
  EXPECT_NE(why(conv({.kernel = 5, .pad = 2}), "winograd conv [2]"), "");
  EXPECT_NE(why(conv({}), "winograd conv [3]"), "");
  EXPECT_NE(why(conv({}), "winograd relu [2]"), "");
  EXPECT_NE(why(conv({.height = 8, .width = 8, .pad = 0}), "winograd conv [4]"), "") << "the last tile reaches outside";
  EXPECT_NE(why(conv({}, false), "winograd conv [2]"), "") << "an output has no room for whole tiles";
  EXPECT_NE(why(conv({}), "winograd conv [2]; inline conv"), "");
  EXPECT_EQ(why(conv({}, false), "cache_write conv; winograd conv [2]"), "");
}

TEST(Sketches, StrictNumericsLeavesOutWinograd) {
  const Func func = conv({.height = 28, .width = 28, .in = 64, .out = 64});
  const auto winograds = [](const Task& task) {
    i64 count = 0;
    for (const Sketch& sketch : sketches(task)) count += sketch.rules.starts_with("winograd") ? 1 : 0;
    return count;
  };
  const Task usual = make_task(func, avx2(), 1), strict = make_task(func, avx2(), 1, true);
  EXPECT_EQ(winograds(usual), 3);
  EXPECT_EQ(winograds(strict), 0);
  EXPECT_NE(usual.key, strict.key);
  EXPECT_NE(to_string(default_trace(usual)).find("winograd"), std::string::npos);
  EXPECT_EQ(to_string(default_trace(strict)).find("winograd"), std::string::npos);
}

TEST(Sketches, DepthwiseIsPaddedForABlockOfChannels) {
  const Func func = depthwise({.height = 14, .width = 14, .in = 96});
  for (const i64 cores : {1, 4}) {
    Target target = avx2();
    target.cores = static_cast<int>(cores);
    const Trace trace = default_trace(make_task(func, target, 1));
    expect_same(func, trace, 1);
    const Applied applied = mcc::apply(func, trace);
    ASSERT_TRUE(applied.func) << applied.why_not;
    const auto padded = std::find_if(applied.func->buffers.begin(), applied.func->buffers.end(),
                                     [](const Buffer& buffer) { return buffer.name == "p"; });
    ASSERT_NE(padded, applied.func->buffers.end());
    EXPECT_EQ(padded->scope, Scope::local);
    EXPECT_EQ(padded->shape.back(), 2 * target.lanes(4));
  }
}

TEST(Sketches, LongReductionsComeInBlocksToo) {
  Target target = avx2();
  target.l2_bytes = 64 << 10;
  const Task task = make_task(matmul(40, 40, 640, true, false, false), target, 1);
  const std::vector<Sketch> space = sketches(task);
  const auto blocks =
      std::find_if(space.begin(), space.end(), [](const Sketch& s) { return s.rules == "tile, reduction in blocks"; });
  ASSERT_NE(blocks, space.end());
  Rng rng(1);
  const std::vector<Sketch> only{*blocks};
  i64 legal = 0;
  for (int i = 0; i < 30; i++) legal += expect_same(task.func, resolve(*blocks, random_candidate(only, rng)), 1, false);
  EXPECT_GT(legal, 15);
  const Trace usual = default_trace(task);
  EXPECT_EQ(find_candidate(only, usual), std::nullopt) << "only a search tries them";
}

TEST(Analytic, ThreadsShouldNotFetchTheSameWeights) {
  Target target = avx2();
  target.cores = 2;
  const auto seconds = [&](i64 k, const std::string& parallel, const std::string& serial) {
    const std::string trace = "split matmul i1 [16]; reorder matmul " + parallel + " " + serial +
                              " i2 i1.1; mark matmul i1.1 vectorize; mark matmul " + parallel + " parallel";
    const Applied applied = mcc::apply(matmul(64, 512, k, true, false, false), parse_trace(trace));
    EXPECT_TRUE(applied.func) << applied.why_not;
    return applied.func ? analytic_seconds(*applied.func, target) : 0;
  };
  const double fetched = 512 * 512 * 4 / (target.memory_gbs * 1e9);
  EXPECT_GT(seconds(512, "i0", "i1.0"), seconds(512, "i1.0", "i0") + 0.9 * fetched);
  EXPECT_LT(seconds(64, "i0", "i1.0"), seconds(64, "i1.0", "i0") * 1.2) << "these weights stay in a cache";
}

TEST(Steps, RegistersHaveTheLanesInnermost) {
  const Trace trace = parse_trace(
      "inline bias; split relu rx [8]; split relu rc [2]; reorder relu ry rc.0 rx.0 rc.1 rx.1; mark relu rc.1 unroll; "
      "mark relu rx.1 vectorize; compute_at conv relu rx.0; scope conv reg; reorder conv oy ky kx ic oc ox; "
      "mark conv oc unroll; mark conv ox vectorize");
  expect_same(conv({.height = 16, .width = 16}), trace, 9);
  const Applied applied = mcc::apply(conv({.height = 16, .width = 16}), trace);
  ASSERT_TRUE(applied.func) << applied.why_not;
  for (const Buffer& buffer : applied.func->buffers) {
    if (buffer.scope != Scope::reg) continue;
    EXPECT_EQ(buffer.shape.back(), 8) << print(*applied.func);
  }
}

TEST(Steps, CacheReadTransposesAnOperand) {
  expect_same(
      matmul(6, 10, 7, false, true, true),
      parse_trace(
          "cache_read matmul w [1,0]; split relu i1 [4]; reorder relu i1.0 i0 i1.1; compute_at matmul.w relu i1.0; "
          "compute_at matmul relu i0; mark matmul i1 unroll"),
      5);
}

TEST(Steps, CacheReadCopiesOnlyWhatIsRead) {  // w is a part of a larger value: what lies beyond is not the kernel's
  const Func func = loop::parse_func(R"(func "part"(input x: f32[4,32], input w: f32[16,96], output y: f32[4,16]) {
    for i in 4 {
      for j in 16 {
        y[i, j] = 0.0 @matmul.init
      }
    }
    for i_2 in 4 {
      for j_2 in 16 {
        for k in 32 {
          y[i_2, j_2] += x[i_2, k]*w[j_2, k + 1] @matmul
        }
      }
    }
  })");
  const Trace trace = parse_trace("cache_read matmul w [1,0]");
  expect_same(func, trace, 3);
  const Applied applied = mcc::apply(func, trace);
  ASSERT_TRUE(applied.func) << applied.why_not;
  const auto copy = std::find_if(applied.func->buffers.begin(), applied.func->buffers.end(),
                                 [](const Buffer& buffer) { return buffer.name == "w.copy"; });
  ASSERT_NE(copy, applied.func->buffers.end());
  EXPECT_EQ(copy->shape, (Shape{33, 16}));
}

TEST(Steps, RfactorKeepsLanesApart) {
  expect_same(
      mean_rows(5, 37),
      parse_trace("split sum i1 [2,4]; rfactor sum i1.1; mark sum.rf i1.2 vectorize; compute_at sum.rf sum i0; "
                  "split sum i1.1 [4]; mark sum i1.1.1 vectorize; compute_at sum scale i0; mark scale i0 parallel"),
      6);
}

TEST(Steps, RefusedWithAReason) {
  const auto why = [](const Func& f, std::string_view trace) { return mcc::apply(f, parse_trace(trace)).why_not; };
  EXPECT_NE(why(conv({}), "split conv nothing [2]").find("has no loop"), std::string::npos);
  EXPECT_NE(why(conv({}), "inline conv").find("reduction"), std::string::npos);
  EXPECT_NE(why(conv({}), "mark conv ic parallel").find("accumulate"), std::string::npos);
  EXPECT_NE(why(conv({}), "mark conv oc vectorize").find("innermost"), std::string::npos);
  EXPECT_NE(why(conv({}), "inline relu").find("output"), std::string::npos);
  EXPECT_NE(why(conv({}), "split conv ox [4]; reorder conv ox.1 ox.0").find("inside"), std::string::npos);
  EXPECT_NE(why(conv({}), "pack conv w [0:8,1:1,2:1,3:1,0:1]").find("pack"), std::string::npos);
  EXPECT_NE(why(conv({}), "pack conv w [0:9223372036854775807,0:1]").find("out of range"), std::string::npos);
  EXPECT_NE(why(softmax_like(3, 4), "compute_at max sum i0").find("outside"), std::string::npos);
}

}  // namespace
}  // namespace mcc
