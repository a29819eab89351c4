// The two runners on real traces: what applies is measured, what does not has a reason, and the simulated one repeats
// itself.
#include <gtest/gtest.h>

#include <limits>

#include "measure/runner.h"
#include "schedule/space.h"
#include "schedule_samples.h"

namespace mcc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Task conv_task(const char* target) {
  Target t = find_target(target);
  t.cores = 1;
  return make_task(samples::conv({}), t, 1);
}

std::vector<Trace> some_traces(const Task& task, int n) {
  const std::vector<Sketch> space = sketches(task);
  std::vector<Trace> traces = {default_trace(task)};
  Rng rng(3);
  while (static_cast<int>(traces.size()) < n) {
    const Candidate candidate = random_candidate(space, rng);
    Trace trace = resolve(space[static_cast<size_t>(candidate.sketch)], candidate);
    const Applied applied = mcc::apply(task.func, trace);
    if (applied.func && check_scheduled(*applied.func, task.target).empty()) traces.push_back(std::move(trace));
  }
  return traces;
}

TEST(LocalRunner, MeasuresWhatAppliesAndGivesReasons) {
  const Task task = conv_task("host");
  std::vector<Trace> traces = some_traces(task, 3);
  traces.push_back(parse_trace("split nothing i [4]"));
  MeasureOptions options;
  options.min_sample_s = 1e-5;
  const std::vector<Result> results = local_runner(options)->run(task, traces, kInfinity);
  ASSERT_EQ(results.size(), traces.size());
  size_t most = 0;
  for (size_t i = 0; i + 1 < results.size(); i++) {
    EXPECT_EQ(name(results[i].outcome), "ok") << results[i].note;
    EXPECT_GE(results[i].seconds.size(), static_cast<size_t>(options.repeats));
    most = std::max(most, results[i].seconds.size());
  }
  EXPECT_GE(most, static_cast<size_t>(options.repeats + options.passes));  // of the fastest
  EXPECT_EQ(name(results.back().outcome), "illegal");
  EXPECT_FALSE(results.back().note.empty());
}

TEST(LocalRunner, StopsEarlyWhatIsHopelesslySlow) {
  const Task task = conv_task("host");
  const std::vector<Trace> traces = {default_trace(task)};
  const std::vector<Result> results = local_runner({})->run(task, traces, 1e-12);
  EXPECT_EQ(name(results[0].outcome), "ok");
  EXPECT_EQ(results[0].seconds.size(), 1u);
}

TEST(SimulatedRunner, RepeatsItself) {
  const Task task = conv_task("rpi4");
  const std::vector<Trace> traces = some_traces(task, 6);
  const std::vector<Result> a = simulated_runner(1)->run(task, traces, kInfinity),
                            b = simulated_runner(1)->run(task, traces, kInfinity),
                            c = simulated_runner(2)->run(task, traces, kInfinity);
  for (size_t i = 0; i < traces.size(); i++) {
    EXPECT_EQ(name(a[i].outcome), "ok");
    EXPECT_EQ(a[i].seconds, b[i].seconds);
    EXPECT_NE(a[i].seconds, c[i].seconds);
  }
}

}  // namespace
}  // namespace mcc
