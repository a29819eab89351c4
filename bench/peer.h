// What the peer programs share. A peer times another library on one op and is run by mcc-bench as
//   peer-NAME MODEL.onnx STEPS.json --threads=T --seconds=S
// STEPS.json describes the model as a few steps (src/bench/steps.h). A peer prints one JSON line {"peer", "min_ms",
// "median_ms", "runs"} and exits with 0, or with 3 when it has no such op. Inputs and weights come from the generator
// that bench_ort.mjs documents (one stream for each tensor); the time does not depend on their values.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace peer {

using Json = nlohmann::json;
using Shape = std::vector<int64_t>;

struct Job {
  Json steps;
  int threads = 1;
  double seconds = 0.3;
};

[[noreturn]] inline void no_such_op(const std::string& what) {
  std::fprintf(stderr, "no %s here\n", what.c_str());
  std::exit(3);
}

inline Job read_job(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s MODEL.onnx STEPS.json --threads=T --seconds=S\n", argv[0]);
    std::exit(2);
  }
  Job job;
  std::ifstream file(argv[2]);
  job.steps = Json::parse(file);
  if (job.steps.empty()) no_such_op("description of this model");
  for (int i = 3; i < argc; i++) {
    const std::string argument = argv[i];
    if (argument.rfind("--threads=", 0) == 0) job.threads = std::stoi(argument.substr(10));
    if (argument.rfind("--seconds=", 0) == 0) job.seconds = std::stod(argument.substr(10));
  }
  return job;
}

// Random floats, aligned for any vector. Each tensor of a program has a stream of its own.
class Tensor {
 public:
  explicit Tensor(int64_t count) {
    static uint32_t tensors = 0;
    const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + 63) / 64 * 64;
    data_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
    uint32_t state = 1u ^ (++tensors * 0x9E3779B9u);
    for (int64_t i = -8; i < count; i++) {
      state ^= state << 13, state ^= state >> 17, state ^= state << 5;
      if (i >= 0) data_.get()[i] = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    }
  }
  float* data() { return data_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data_;
};

inline int64_t product(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

struct Timing {
  double min_ms = 0, median_ms = 0;
  size_t runs = 0;
};

// As bench_ort.mjs: a warm-up of at least 3 runs and a quarter of the time, then at least 10 runs and the time.
inline Timing time_runs(const std::function<void()>& run, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); };
  const Clock::time_point warm = Clock::now();
  for (int n = 0; n < 3 || since(warm) < seconds / 4; n++) run();
  std::vector<double> times;
  for (const Clock::time_point start = Clock::now(); times.size() < 10 || since(start) < seconds;) {
    const Clock::time_point before = Clock::now();
    run();
    times.push_back(since(before) * 1e3);
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2], times.size()};
}

inline void print(const std::string& name, const Timing& t) {
  std::printf("%s\n",
              Json{{"peer", name}, {"min_ms", t.min_ms}, {"median_ms", t.median_ms}, {"runs", t.runs}}.dump().c_str());
}

}  // namespace peer
