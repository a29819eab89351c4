// Candidates that misbehave, in a shared object made by hand: each costs itself alone, with the right reason, and the
// others of its batch are measured. This program is its own measuring process, as mcc is.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/process.h"
#include "measure/supervisor.h"

namespace mcc {
namespace {

constexpr i64 kElements = 64;  // 256 bytes: the data end where the guard page begins
constexpr const char* kSource = R"(
#include <signal.h>
#include <unistd.h>
enum { N = 64 };
#define KERNEL(name) void name(void* const* args, char* scratch, void* rt)
#define X ((float*)args[0])
#define Y ((float*)args[1])
static void twice(const float* x, float* y) { for (int i = 0; i < N; i++) y[i] = 2 * x[i]; }
KERNEL(reference) { twice(X, Y); }
KERNEL(good) { twice(X, Y); }
KERNEL(segfault) { *(volatile int*)0 = 1; }
KERNEL(hangs) { for (volatile int forever = 1; forever;) {} }
KERNEL(slow) { twice(X, Y); usleep(20000); }
KERNEL(wrong) { twice(X, Y); Y[7] += 1; }
KERNEL(partial) { for (int i = 0; i < N / 2; i++) Y[i] = 2 * X[i]; }
KERNEL(beyond) { twice(X, Y); ((volatile float*)Y)[N] = 0; }
KERNEL(before) { twice(X, Y); ((volatile float*)Y)[-1000] = 0; }
KERNEL(changes_input) { twice(X, Y); ((volatile float*)X)[0] = 5; }
KERNEL(leaves) { _exit(0); }
KERNEL(killed) { kill(getpid(), SIGKILL); }
KERNEL(babbles) { twice(X, Y); if (write(1, "no reply\n", 9) != 9) _exit(1); }
)";

class SupervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_.path() / "kernels.c", kSource);
    const ProcessResult built =
        run_process({"cc", "-shared", "-fPIC", "-O1", "-o", library(), (folder_.path() / "kernels.c").string()}, 60);
    ASSERT_EQ(built.exit_code, 0) << built.err;
  }

  std::string library() const { return (folder_.path() / "kernels.so").string(); }

  static CandidateJob candidate(const std::string& symbol) {
    return {symbol,
            0,
            {{"x", DType::f32, {kElements}, loop::Scope::input, {}},
             {"y", DType::f32, {kElements}, loop::Scope::output, {}}}};
  }

  Job job(const std::vector<std::string>& symbols) const {
    Job job;
    job.task = "twice";
    job.library = library();
    job.reference = candidate("reference");
    for (const std::string& symbol : symbols) job.candidates.push_back(candidate(symbol));
    job.min_sample_s = 1e-6;
    return job;
  }

  std::vector<Result> measure(const Job& job) {
    std::vector<Result> results(job.candidates.size());
    std::vector<Result*> pointers;
    for (Result& result : results) pointers.push_back(&result);
    supervisor_.measure(job, pointers);
    return results;
  }

  TempDir folder_;
  Supervisor supervisor_{4};
};

TEST_F(SupervisorTest, EachFaultCostsItselfAlone) {
  const std::vector<std::pair<std::string, Outcome>> cases = {{"good", Outcome::ok},
                                                              {"segfault", Outcome::crash},
                                                              {"good", Outcome::ok},
                                                              {"hangs", Outcome::timeout},
                                                              {"good", Outcome::ok},
                                                              {"wrong", Outcome::wrong_result},
                                                              {"partial", Outcome::wrong_result},
                                                              {"good", Outcome::ok},
                                                              {"beyond", Outcome::crash},
                                                              {"before", Outcome::crash},
                                                              {"good", Outcome::ok},
                                                              {"changes_input", Outcome::crash},
                                                              {"leaves", Outcome::crash},
                                                              {"babbles", Outcome::crash},
                                                              {"not_there", Outcome::build_error},
                                                              {"good", Outcome::ok},
                                                              {"segfault", Outcome::crash}};
  std::vector<std::string> symbols;
  for (const auto& [symbol, outcome] : cases) symbols.push_back(symbol);
  const std::vector<Result> results = measure(job(symbols));
  for (size_t i = 0; i < cases.size(); i++) {
    const Result& result = results[i];
    EXPECT_EQ(name(result.outcome), name(cases[i].second)) << i << " " << symbols[i] << ": " << result.note;
    EXPECT_EQ(result.outcome == Outcome::ok, result.note.empty()) << symbols[i];
    EXPECT_EQ(result.outcome == Outcome::ok, !result.seconds.empty()) << symbols[i];
  }
  EXPECT_NE(results[1].note.find("signal 11"), std::string::npos) << results[1].note;
  EXPECT_EQ(name(measure(job({"good"}))[0].outcome), "ok");  // and life goes on
}

TEST_F(SupervisorTest, SamplesInTurnsGoToTheirCandidates) {
  Job some = job({"good", "not_there", "slow", "good"});
  some.repeats = 2, some.passes = 5;
  const std::vector<Result> results = measure(some);
  EXPECT_EQ(results[1].seconds.size(), 0u);
  EXPECT_EQ(results[2].seconds.size(), 2u);  // a hopeless one is not timed again
  EXPECT_EQ(std::max(results[0].seconds.size(), results[3].seconds.size()), 7u);
}

TEST_F(SupervisorTest, AFailingReferenceFailsItsBatchOnly) {
  Job bad = job({"good", "good"});
  bad.task = "nothing";
  bad.reference = candidate("segfault");
  for (const Result& result : measure(bad)) {
    EXPECT_EQ(name(result.outcome), "crash");
    EXPECT_NE(result.note.find("reference"), std::string::npos) << result.note;
  }
  EXPECT_EQ(name(measure(job({"good"}))[0].outcome), "ok");
}

TEST_F(SupervisorTest, KilledFromOutsideIsNoVerdict) {
  const std::vector<Result> results = measure(job({"good", "killed", "good"}));
  EXPECT_EQ(name(results[0].outcome), "ok");
  EXPECT_EQ(name(results[1].outcome), "device_lost") << results[1].note;
  EXPECT_EQ(name(results[2].outcome), "ok");
  Job bad = job({"good", "good"});
  bad.task = "nothing";
  bad.reference = candidate("killed");
  for (const Result& result : measure(bad)) EXPECT_EQ(name(result.outcome), "device_lost") << result.note;
}

TEST_F(SupervisorTest, AMissingLibraryIsAReason) {
  Job bad = job({"good"});
  bad.library = "/nowhere/batch.so";
  const Result result = measure(bad)[0];
  EXPECT_EQ(name(result.outcome), "build_error");
  EXPECT_NE(result.note.find("/nowhere/batch.so"), std::string::npos) << result.note;
}

}  // namespace
}  // namespace mcc

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--measure-child") return mcc::measure_child_main();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
