// The simulated runner: no hardware, no compiler. Every trace is applied and checked like for a real run; its time is
// the analytic model's, with noise that depends only on seed, task and trace, so that the same seed gives the same log.
#include <cmath>

#include "base/hash.h"
#include "base/rng.h"
#include "measure/runner.h"
#include "schedule/analytic.h"
#include "schedule/space.h"

namespace mcc {
namespace {

constexpr double kNoise = 0.02;  // standard deviation of the logarithm of a sample
constexpr int kSamples = 3;

class SimulatedRunner : public Runner {
 public:
  explicit SimulatedRunner(u64 seed) : seed_(seed) {}
  std::string name() const override { return "sim"; }

  std::vector<Result> run(const Task& task, std::span<const Trace> traces, double) override {
    std::vector<Result> results;
    for (const Trace& trace : traces) results.push_back(run_one(task, trace));
    return results;
  }

 private:
  Result run_one(const Task& task, const Trace& trace) const {
    const Applied applied = mcc::apply(task.func, trace);
    if (!applied.func) return {Outcome::illegal, {}, applied.why_not};
    if (std::string why = check_scheduled(*applied.func, task.target); !why.empty())
      return {Outcome::illegal, {}, std::move(why)};
    Rng noise(hash64(task.key + "|" + to_string(trace), seed_));
    Result result;
    for (int i = 0; i < kSamples; i++)
      result.seconds.push_back(analytic_seconds(*applied.func, task.target) * std::exp(kNoise * noise.normal()));
    return result;
  }

  u64 seed_;
};

}  // namespace

std::unique_ptr<Runner> simulated_runner(u64 seed) { return std::make_unique<SimulatedRunner>(seed); }

}  // namespace mcc
