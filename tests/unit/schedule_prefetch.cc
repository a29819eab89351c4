// What the step prefetch writes into loops, and when the rules ask for it.
#include <set>

#include "base/text.h"
#include "schedule_samples.h"

namespace mcc {
namespace {

using namespace samples;

constexpr i64 kRows = 24, kColumns = 40, kReduced = 32, kTile = 8;

// Column tiles of 8 outside, row tiles of 4 inside, the reduction two steps at a time: w is read in panels.
std::string panels(const std::string& prefetch) {
  return "split relu i0 [4]; split relu i1 [8]; reorder relu i1.0 i0.0 i0.1 i1.1; compute_at matmul relu i0.0; "
         "scope matmul reg; mark relu i0.1 unroll; mark relu i1.1 vectorize; split matmul i2 [2]; "
         "reorder matmul i2.0 i2.1 i0 i1; mark matmul i2.1 unroll; mark matmul i0 unroll; mark matmul i1 vectorize; "
         "pack matmul w [1:8,0:1,1:1]; " +
         prefetch;
}

// Calls visit(element fetched or read first, values of the loops' variables) for each prefetch that runs.
using Values = std::map<int, i64>;
void run(const Func& func, const std::vector<Stmt>& body, Values& values,
         const std::function<void(const Prefetch&, i64 element)>& visit) {
  for (const Stmt& stmt : body) {
    const Loop* loop = std::get_if<Loop>(&stmt.node);
    if (loop == nullptr) continue;
    for (i64 i = 0; i < loop->extent; i++) {
      values[loop->var] = i;
      for (const Prefetch& fetch : loop->ahead) {
        const Affine at = to_affine(fetch.at).value();
        i64 element = at.constant;
        for (const auto& [var, factor] : at.terms) element += factor * values.at(var);
        visit(fetch, element);
      }
      run(func, loop->body, values, visit);
    }
  }
}

Func scheduled(const Func& func, const std::string& trace) {
  const Applied applied = mcc::apply(func, parse_trace(trace));
  EXPECT_TRUE(applied.func) << applied.why_not;
  EXPECT_EQ(verify(applied.func.value_or(Func{})), "");
  return applied.func.value_or(Func{});
}

TEST(Prefetch, EachPanelFetchesTheNextOneOnce) {
  const Func algorithm = matmul(kRows, kColumns, kReduced, true, false, true);
  const Func func = scheduled(algorithm, panels("prefetch matmul w [0]"));
  EXPECT_EQ(difference(algorithm, func, 1), "");
  const int tiles = std::get<Loop>(func.body[0].node).var;
  constexpr i64 kPanel = kReduced * kTile;
  std::map<i64, std::set<i64>> fetched;  // by column tile
  Values values;
  i64 runs = 0;
  run(func, func.body, values, [&](const Prefetch& fetch, i64 element) {
    runs++;
    EXPECT_EQ(func.buffers[static_cast<size_t>(fetch.buffer)].name, "w");
    for (i64 e = element; e < element + fetch.lines * 16; e++) fetched[values.at(tiles)].insert(e);
  });
  EXPECT_EQ(runs, (kColumns / kTile) * (kRows / 4) * (kReduced / 2)) << "one in each iteration";
  for (i64 tile = 0; tile < kColumns / kTile; tile++) {
    EXPECT_EQ(*fetched[tile].begin(), (tile + 1) * kPanel);
    EXPECT_GE(static_cast<i64>(fetched[tile].size()), kPanel);
    EXPECT_LT(static_cast<i64>(fetched[tile].size()), 2 * kPanel);
  }
}

TEST(Prefetch, DistancesAreBytesAheadOfTheFirstRead) {
  const Func algorithm = matmul(kRows, kColumns, kReduced, true, false, true);
  const Func near = scheduled(algorithm, panels("prefetch matmul w [0,256]"));
  EXPECT_EQ(difference(algorithm, near, 1), "");
  const std::string text = print(near);
  EXPECT_NE(text.find("prefetch 1 w[i1.0*256 + i2.0*16 + 64]"), std::string::npos) << text;
  const Func one_row = scheduled(matmul(1, kColumns, kReduced, true, false, true), "prefetch matmul w [0]");
  EXPECT_EQ(print(one_row).find("prefetch"), std::string::npos) << "nothing is used twice";
}

TEST(Prefetch, RefusedWithAReason) {
  const Func func = matmul(3, 4, 5, true, false, true);
  const auto why = [&](std::string_view trace) { return mcc::apply(func, parse_trace(trace)).why_not; };
  EXPECT_EQ(why("prefetch matmul v [0]"), "prefetch: there is no buffer v");
  EXPECT_EQ(why("prefetch matmul a [0]"), "prefetch: a is not a constant");
  EXPECT_EQ(why("prefetch relu w [0]"), "prefetch: relu does not read w");
  EXPECT_EQ(why("prefetch matmul w [-1]"), "prefetch: a distance is not in 0..1048576");
  EXPECT_EQ(why("prefetch matmul w [0]; prefetch matmul w [64]"), "prefetch: matmul fetches w ahead already");
}

TEST(Prefetch, LargeConstantsAreFetchedAheadByDefault) {
  const auto steps = [](i64 rows) {
    std::vector<std::string> found;
    for (const Step& step : default_trace(make_task(matmul(rows, 512, 512, true, false, true), avx2(), 1))) {
      if (step.kind == StepKind::prefetch) found.push_back(to_string(step));
    }
    return join(found, "; ");
  };
  EXPECT_EQ(steps(128), "prefetch matmul w [0]");
  EXPECT_EQ(steps(1), "prefetch matmul w [8192]");
  const Task small = make_task(matmul(128, 64, 64, true, false, true), avx2(), 1);
  EXPECT_EQ(to_string(default_trace(small)).find("prefetch"), std::string::npos);
}

// Another task, whose records are kept apart, but only where a constant is large enough for it to matter.
TEST(Prefetch, NothingIsFetchedWhereConstantsStayInTheCache) {
  const auto warm = [](i64 size, bool is) {
    return make_task(matmul(1, size, size, true, false, true), avx2(), 1, false, is);
  };
  EXPECT_NE(warm(512, true).key, warm(512, false).key);
  EXPECT_EQ(warm(64, true).key, warm(64, false).key);
  EXPECT_FALSE(warm(64, true).warm);
  EXPECT_NE(to_string(default_trace(warm(512, false))).find("prefetch"), std::string::npos);
  EXPECT_EQ(to_string(default_trace(warm(512, true))).find("prefetch"), std::string::npos);
}

TEST(Prefetch, CandidatesComputeTheSame) {
  const Task task = make_task(matmul(9, 272, 512, true, false, true), avx2(), 1);
  const std::vector<Sketch> space = sketches(task);
  Rng rng(7);
  i64 fetching = 0;
  for (int i = 0; i < 12; i++) {
    const Candidate candidate = random_candidate(space, rng);
    const Trace trace = resolve(space[static_cast<size_t>(candidate.sketch)], candidate);
    fetching += expect_same(task.func, trace, 1, false) && to_string(trace).find("prefetch") != std::string::npos;
  }
  EXPECT_GT(fetching, 2);
}

}  // namespace
}  // namespace mcc
