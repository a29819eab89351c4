// The proof behind in-place kernels. With input x and output y in the same memory, the kernel stays right when
//  1. x and y have the same shape and element size, so equal indices are equal addresses;
//  2. y is written by one block, by plain assignment, and that block stores each element once: as many stores run as y
//     has elements (a kernel defines all of its output, so no element can then be stored twice);
//  3. every load of x, anywhere, happens in the value of such a store, at exactly the index stored to.
// Then element i of x is read only while the one store to y[i] is evaluated, before it takes effect. Parallel and
// vectorised iterations touch different elements, so they do not matter.
#include "package/inplace.h"

#include <algorithm>

#include "loop/loop_ops.h"

namespace mcc {
namespace {

using loop::Expr, loop::Store;

std::vector<Expr> simplified(std::vector<Expr> index) {
  for (Expr& e : index) e = loop::simplify(e);
  return index;
}

// Conditions 2 (without the counting) and 3 for one store.
bool store_allows(const Store& store, int x, int y, const std::string& block) {
  if (std::any_of(store.index.begin(), store.index.end(), [&](const Expr& e) { return loop::loads_buffer(e, x); }))
    return false;
  if (store.buffer != y) return !loop::loads_buffer(store.value, x);
  if (store.block != block || store.op != loop::StoreOp::assign) return false;
  const std::vector<Expr> stored_to = simplified(store.index);
  bool same = true;
  loop::for_each_load(store.value,
                      [&](const Expr& load) { same &= load.i != x || simplified(load.args) == stored_to; });
  return same;
}

bool condition_loads(const std::vector<loop::Stmt>& body, int x) {
  for (const loop::Stmt& stmt : body) {
    if (const auto* inner = std::get_if<loop::Loop>(&stmt.node)) {
      if (condition_loads(inner->body, x)) return true;
    } else if (const auto* branch = std::get_if<loop::If>(&stmt.node)) {
      if (loop::loads_buffer(branch->condition, x) || condition_loads(branch->then_body, x) ||
          condition_loads(branch->else_body, x))
        return true;
    }
  }
  return false;
}

}  // namespace

bool may_overwrite(const loop::Func& scheduled, int input, int output) {
  const std::vector<int> params = loop::params(scheduled);
  const int x = params[at(input)], y = params[at(output)];
  const loop::Buffer &in = scheduled.buffer(x), &out = scheduled.buffer(y);
  if (in.scope != loop::Scope::input || out.scope != loop::Scope::output) return false;
  if (in.shape != out.shape || size_of(in.dtype) != size_of(out.dtype)) return false;
  if (condition_loads(scheduled.body, x)) return false;
  std::string block;
  bool allowed = true;
  i64 stores = 0;
  loop::for_each_store(scheduled, [&](const Store& store, std::span<const loop::Loop* const> loops) {
    if (store.buffer == y && block.empty()) block = store.block;
    allowed = allowed && store_allows(store, x, y, block);
    i64 runs = store.buffer == y ? 1 : 0;
    for (const loop::Loop* l : loops) runs *= l->extent;
    stores += runs;
  });
  return allowed && stores == elements(out.shape);
}

}  // namespace mcc
