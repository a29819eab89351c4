// The identity of a task: what its program says (not what the program is called) and the device it runs on.
#include "schedule/task.h"

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "loop/loop_ops.h"

namespace mcc {

namespace {

// Whether it matters to the program where its constants come from.
bool has_large_constant(const loop::Func& func, i64 bytes) {
  return std::ranges::any_of(func.buffers, [&](const loop::Buffer& b) {
    return b.scope == loop::Scope::constant && elements(b.shape) * size_of(b.dtype) >= bytes;
  });
}

}  // namespace

Task make_task(loop::Func func, const Target& target, double weight, bool strict, bool warm) {
  Task task;
  task.name = func.name;
  func.name = "task";
  task.warm = warm && has_large_constant(func, target.cold_bytes);
  task.key = hash_hex(loop::print(func) + "\n" + device_key(target) + (strict ? "\nstrict" : "") +
                      (task.warm ? "\nwarm" : ""));
  func.name = task.name;
  task.flops = loop::flops(func);
  task.func = std::move(func);
  task.target = target;
  if (task.warm) task.target.cold_bytes = std::numeric_limits<i64>::max();
  task.weight = weight;
  task.strict = strict;
  return task;
}

}  // namespace mcc
