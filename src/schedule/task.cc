// The identity of a task: what its program says (not what the program is called) and the device it runs on.
#include "schedule/task.h"

#include "base/hash.h"
#include "loop/loop_ops.h"

namespace mcc {

Task make_task(loop::Func func, const Target& target, double weight, bool strict) {
  Task task;
  task.name = func.name;
  func.name = "task";
  task.key = hash_hex(loop::print(func) + "\n" + device_key(target) + (strict ? "\nstrict" : ""));
  func.name = task.name;
  task.flops = loop::flops(func);
  task.func = std::move(func);
  task.target = target;
  task.weight = weight;
  task.strict = strict;
  return task;
}

}  // namespace mcc
