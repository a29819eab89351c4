// The measuring process: loads a batch's shared object, checks each candidate's output against the reference program on
// the same data, and times it, then the good ones again in turns. It may crash, hang or be killed: the tuner knows from
// the replies so far which candidate it was.
#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>

#include "base/rng.h"
#include "graph/tensor.h"
#include "graph/tolerance.h"
#include "measure/guarded.h"
#include "measure/timing.h"
#include "measure/wire.h"
#include "runtime/mcc_runtime.h"

namespace mcc {
namespace {

constexpr i64 kMostKept = 512 << 20;   // bytes of candidates that wait to be timed again
constexpr double kHopeless = 2;        // times the fastest: not timed again
constexpr double kMostInTurns = 0.02;  // seconds of one candidate's samples in turns, after the first of them

// Small integers are all in range of what integer inputs usually index; floats are spread over [-1, 1). Constants are
// as small as trained weights are, 1 / sqrt(length of a row): with larger ones a recurrent network is chaotic, and its
// roundings grow to nonsense within a few steps.
Tensor task_data(const loop::Buffer& buffer, u64 seed, int param) {
  Tensor tensor({buffer.dtype, buffer.shape});
  Rng rng = Rng(seed).fork(static_cast<u64>(param));
  const bool weights = buffer.scope == loop::Scope::constant && !buffer.shape.empty() && buffer.shape.back() > 0;
  const float most = weights ? 1 / std::sqrt(static_cast<float>(buffer.shape.back())) : 1;
  const auto spread = [&] {
    return most * static_cast<float>(static_cast<i64>(rng.next() >> 40) - (1 << 23)) / (1 << 23);
  };
  for (i64 i = 0, size = tensor.size(); i < size; i++) {
    if (is_float(buffer.dtype))
      tensor.set(i, spread());
    else
      tensor.set_int(i, rng.below(2));
  }
  return tensor;
}

Guarded copy_of(const Tensor& tensor, bool seal) {
  Guarded memory(tensor.byte_size());
  std::memcpy(memory.data(), tensor.bytes(), static_cast<size_t>(tensor.byte_size()));
  if (seal) memory.seal();
  return memory;
}

// The task whose data are loaded: inputs, unpacked constants, and the reference's outputs.
struct TaskData {
  std::string key;
  u64 seed = 0;
  std::vector<Tensor> sources;  // by parameter; empty tensors for outputs
  std::vector<Guarded> inputs;  // by parameter; only for Scope::input
  std::vector<Tensor> want;     // by parameter; only for outputs
};

// What the reference programs computed, by task and seed: they are slow, and a run comes back to each task many times.
class References {
 public:
  const std::vector<Tensor>* find(const Job& job) const {
    const auto found = outputs_.find({job.task, job.seed});
    return found == outputs_.end() ? nullptr : &found->second;
  }
  void keep(const Job& job, const std::vector<Tensor>& outputs) {
    i64 bytes = 0;
    for (const Tensor& tensor : outputs) bytes += tensor.byte_size();
    if (bytes_ + bytes > kMostBytes) {
      outputs_.clear();
      bytes_ = 0;
    }
    bytes_ += bytes;
    outputs_[{job.task, job.seed}] = outputs;
  }

 private:
  static constexpr i64 kMostBytes = 256 << 20;
  std::map<std::pair<std::string, u64>, std::vector<Tensor>> outputs_;
  i64 bytes_ = 0;
};

// A candidate's own memory and the argument array that its kernel takes.
struct Bound {
  std::vector<Guarded> owned;
  std::vector<void*> args;
  std::vector<std::span<const std::byte>> constants;
  Guarded scratch;

  Bound(const CandidateJob& job, const TaskData& data) : scratch(job.scratch_bytes) {
    for (size_t p = 0; p < job.params.size(); p++) {
      const loop::Buffer& buffer = job.params[p];
      if (buffer.scope == loop::Scope::input) {
        args.push_back(data.inputs[p].data());
        continue;
      }
      if (buffer.scope == loop::Scope::output) {
        owned.emplace_back(bytes({buffer.dtype, buffer.shape}));
        // NaN: what is not written shows.
        std::memset(owned.back().data(), 0xff, static_cast<size_t>(owned.back().size()));
      } else {
        owned.push_back(
            copy_of(buffer.pack.dims.empty() ? data.sources[p] : loop::pack_constant(buffer, data.sources[p]), true));
        constants.emplace_back(owned.back().data(), static_cast<size_t>(owned.back().size()));
      }
      args.push_back(owned.back().data());
    }
  }
  i64 bytes_held() const {
    i64 sum = scratch.size();
    for (const Guarded& memory : owned) sum += memory.size();
    return sum;
  }
};

mcc_kernel_fn find_kernel(void* library, const std::string& symbol) {
  void* at = dlsym(library, symbol.c_str());
  if (at == nullptr) throw JobError(fmt::format("{} is not in the batch's shared object", symbol));
  return reinterpret_cast<mcc_kernel_fn>(at);
}

std::vector<Tensor> run_reference(const CandidateJob& reference, const TaskData& data, void* library) {
  Bound bound(reference, data);
  find_kernel(library, reference.symbol)(bound.args.data(), reinterpret_cast<char*>(bound.scratch.data()),
                                         mcc_runtime_serial());
  std::vector<Tensor> outputs;
  for (size_t p = 0; p < reference.params.size(); p++) {
    const loop::Buffer& buffer = reference.params[p];
    outputs.emplace_back();
    if (buffer.scope != loop::Scope::output) continue;
    outputs.back() = Tensor({buffer.dtype, buffer.shape});
    std::memcpy(outputs.back().bytes(), bound.args[p], static_cast<size_t>(outputs.back().byte_size()));
  }
  return outputs;
}

TaskData prepare(const Job& job, void* library, References& references) {
  TaskData data{job.task, job.seed, {}, {}, {}};
  for (size_t p = 0; p < job.reference.params.size(); p++) {
    const loop::Buffer& buffer = job.reference.params[p];
    data.sources.push_back(buffer.scope == loop::Scope::output ? Tensor()
                                                               : task_data(buffer, job.seed, static_cast<int>(p)));
    data.inputs.push_back(buffer.scope == loop::Scope::input ? copy_of(data.sources.back(), true) : Guarded());
  }
  const std::vector<Tensor>* known = references.find(job);
  data.want = known != nullptr ? *known : run_reference(job.reference, data, library);
  if (known == nullptr) references.keep(job, data.want);
  return data;
}

// "" when all outputs are right.
std::string check_outputs(const CandidateJob& candidate, const Bound& bound, const TaskData& data, double tolerance) {
  for (size_t p = 0; p < candidate.params.size(); p++) {
    const loop::Buffer& buffer = candidate.params[p];
    if (buffer.scope != loop::Scope::output) continue;
    Tensor got(data.want[p].type);
    std::memcpy(got.bytes(), bound.args[p], static_cast<size_t>(got.byte_size()));
    const Comparison diff = compare(got, data.want[p]);
    if (diff.mismatched_special > 0)
      return fmt::format("{}: {} elements are NaN or infinite on one side only", buffer.name, diff.mismatched_special);
    if (!(diff.relative() <= tolerance_of(buffer.dtype, tolerance)))
      return fmt::format("{}: error {:.3g} of the largest value {:.3g}", buffer.name, diff.max_abs_error,
                         diff.max_abs_want);
  }
  return "";
}

// A candidate that was right, ready to be timed again.
struct Ready {
  i64 number = 0;  // within the job
  std::unique_ptr<Bound> bound;
  std::function<void()> run;
  TimingOptions options;
  double best = 0;  // seconds of one run so far
};

Result measure(const Job& job, const CandidateJob& candidate, const TaskData& data, void* library, mcc_runtime* rt,
               Ready& ready) {
  const mcc_kernel_fn kernel = find_kernel(library, candidate.symbol);
  ready.bound = std::make_unique<Bound>(candidate, data);
  Bound* const bound = ready.bound.get();
  ready.run = [=] { kernel(bound->args.data(), reinterpret_cast<char*>(bound->scratch.data()), rt); };
  ready.run();
  if (std::string why = check_outputs(candidate, *bound, data, job.tolerance); !why.empty())
    return {Outcome::wrong_result, {}, std::move(why)};
  ready.options = {job.warmup_runs, job.repeats, job.min_sample_s, job.best_seconds * job.stop_factor, nullptr};
  i64 constant_bytes = 0;
  for (const auto& constant : bound->constants) constant_bytes += static_cast<i64>(constant.size());
  if (job.cold_bytes > 0 && constant_bytes > job.cold_bytes)
    ready.options.before_run = [=] {
      for (const auto& constant : bound->constants) evict(constant);
      flush_tlb();
    };
  const Result result{Outcome::ok, time_runs(ready.run, ready.options), ""};
  ready.best = result.best();
  return result;
}

void say(Reply::Kind kind, Result result = {}, double clock_before = 0, double clock_after = 0) {
  std::cout << to_line(Reply{kind, std::move(result), 0, clock_before, clock_after}) << std::endl;
}

// A candidate that cannot even be set up (its scratch memory is too large, ...) costs itself alone.
Result measure_or_why_not(const Job& job, const CandidateJob& candidate, const TaskData& data, void* library,
                          mcc_runtime* rt, Ready& ready) {
  try {
    return measure(job, candidate, data, library, rt, ready);
  } catch (const std::exception& error) {
    return {Outcome::build_error, {}, error.what()};
  }
}

// One sample more of each in each pass, every other pass backwards. What disturbs the machine for some milliseconds, or
// slows it down for a while, then meets all candidates alike, and the least of the samples misses it.
void time_in_turns(const Job& job, std::vector<Ready>& ready) {
  double best = job.best_seconds > 0 ? job.best_seconds : std::numeric_limits<double>::infinity();
  for (const Ready& one : ready) best = std::min(best, one.best);
  std::erase_if(ready, [&](const Ready& one) { return one.best > kHopeless * best; });
  for (int pass = 0; pass < job.passes; pass++) {
    std::reverse(ready.begin(), ready.end());
    for (const Ready& one : ready) {
      if (static_cast<double>(pass) * std::max(one.best, job.min_sample_s) > kMostInTurns) continue;
      one.run();  // the others have taken its place in the caches
      Reply reply{Reply::Kind::more, {Outcome::ok, {sample(one.run, one.best, one.options)}, ""}, one.number};
      std::cout << to_line(reply) << std::endl;
    }
  }
}

void do_job(const Job& job, TaskData& data, References& references, mcc_runtime* rt) {
  void* library = dlopen(job.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw JobError(fmt::format("cannot load the batch: {}", dlerror()));
  if (data.key != job.task || data.seed != job.seed) data = prepare(job, library, references);
  say(Reply::Kind::reference_ready);
  const double clock_before = clock_probe();
  std::vector<Ready> ready;
  i64 kept = 0;
  for (size_t i = 0; i < job.candidates.size(); i++) {
    Ready one{static_cast<i64>(i), nullptr, nullptr, {}, 0};
    const Result result = measure_or_why_not(job, job.candidates[i], data, library, rt, one);
    say(Reply::Kind::result, result);
    if (result.outcome != Outcome::ok || kept + one.bound->bytes_held() > kMostKept) continue;
    kept += one.bound->bytes_held();
    ready.push_back(std::move(one));
  }
  time_in_turns(job, ready);
  const double clock_after = clock_probe();
  ready.clear();
  dlclose(library);
  say(Reply::Kind::done, {}, clock_before, clock_after);
}

}  // namespace

int measure_child_main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // never outlive the tuner
  TaskData data;
  References references;
  std::map<int, mcc_runtime*> runtimes;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const Job job = job_from_line(line);
      auto& rt = runtimes[job.threads];
      if (rt == nullptr) rt = job.threads > 1 ? mcc_runtime_create(job.threads) : mcc_runtime_serial();
      do_job(job, data, references, rt);
    } catch (const std::exception& error) {
      say(Reply::Kind::failed, {Outcome::build_error, {}, error.what()});
    }
  }
  return 0;
}

}  // namespace mcc
