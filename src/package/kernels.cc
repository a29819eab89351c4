// See kernels.h. Calls with the same task run the same kernel, whatever their buffers are called; tasks are scheduled
// and compiled in parallel, and numbered by first use, so that the result is the same each time.
#include "package/kernels.h"

#include <tbb/parallel_for.h>

#include <cctype>

#include "codegen/codegen.h"
#include "loop/loop_ops.h"
#include "schedule/space.h"

namespace mcc {
namespace {

std::string clean(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool keep = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (keep) out += c;
    if (!keep && !out.empty() && out.back() != '_') out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.substr(0, 40);
}

loop::Func schedule(const Task& task, const PackageOptions& options, std::string& record) {
  const auto trace = options.traces.find(task.key);
  const auto id = options.record_ids.find(task.key);
  const bool given = trace != options.traces.end(), recorded = id != options.record_ids.end();
  if (given) {
    if (Applied applied = apply_logged(task, trace->second); applied.func) {
      record = recorded ? id->second : "given";
      return std::move(*applied.func);
    }
  }
  record = recorded && !given ? id->second : "default";
  Applied applied = mcc::apply(task.func, default_trace(task));
  if (!applied.func)
    throw InternalError(fmt::format("{}: the default schedule does not apply: {}", task.name, applied.why_not));
  return std::move(*applied.func);
}

}  // namespace

Applied apply_logged(const Task& task, const Trace& trace) {
  Applied applied = mcc::apply(task.func, trace);
  if (applied.func) applied.why_not = loop::verify(*applied.func);
  if (!applied.why_not.empty()) applied.func.reset();
  return applied;
}

Kernels schedule_kernels(const LoweredModel& model, const PackageOptions& options, const std::string& prefix) {
  Kernels result;
  std::vector<Task> tasks;
  std::map<std::string, int> by_key;
  const bool warm = constants_stay(model, options.target);
  for (const KernelCall& call : model.calls) {
    Task task = make_task(call.func, options.target, 1, options.strict, warm);
    const auto [found, fresh] = by_key.try_emplace(task.key, static_cast<int>(tasks.size()));
    result.of_call.push_back(found->second);
    if (fresh) tasks.push_back(std::move(task));
  }
  result.kernels.resize(tasks.size());
  tbb::parallel_for(size_t{0}, tasks.size(), [&](size_t k) {
    Kernel& kernel = result.kernels[k];
    kernel.task = tasks[k].key;
    kernel.symbol = fmt::format("{}_k{}_{}", prefix, k, clean(tasks[k].func.name));
    kernel.func = schedule(tasks[k], options, kernel.record);
  });
  for (const int k : result.of_call) result.scheduled.push_back(result.kernels[at(k)].func);
  return result;
}

std::string ObjectCache::get(const std::string& key, const std::function<std::string()>& compile) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = objects_.find(key); found != objects_.end()) return found->second;
  }
  std::string object = compile();
  const std::lock_guard lock(mutex_);
  return objects_[key] = std::move(object);
}

std::vector<std::string> compile_kernels(const Kernels& kernels, const PackageOptions& options) {
  std::vector<std::string> objects(kernels.kernels.size());
  tbb::parallel_for(size_t{0}, objects.size(), [&](size_t k) {
    const Kernel& kernel = kernels.kernels[k];
    auto compile = [&] {
      const KernelSource source{&kernel.func, kernel.symbol};
      return compile_object({&source, 1}, options.target);
    };
    objects[k] = options.objects == nullptr
                     ? compile()
                     : options.objects->get(kernel.symbol + "\n" + loop::print(kernel.func), compile);
  });
  return objects;
}

}  // namespace mcc
