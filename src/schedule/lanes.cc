// Registers have no order of their own, but code generation takes neighbouring elements for the lanes of a vector. So
// each register buffer gets the dimension that vector loops walk as its last one, wherever its block had it.
#include <algorithm>
#include <set>

#include "loop/loop_ops.h"
#include "schedule/generate.h"

namespace mcc::schedule {

namespace {

using loop::Expr;
using loop::Loop;
using loop::Stmt;
using loop::Store;

constexpr int kNone = -1, kSeveral = -2;

struct Lanes {
  loop::Func& func;
  std::vector<int> dim;   // of each buffer: the dimension that vector loops walk
  std::set<int> vectors;  // variables of the vector loops around

  void look(int buffer, const std::vector<Expr>& index) {
    if (func.buffer(buffer).scope != loop::Scope::reg) return;
    int& found = dim[at(buffer)];
    for (size_t d = 0; d < index.size(); d++) {
      const bool walked =
          std::any_of(vectors.begin(), vectors.end(), [&](int var) { return loop::uses_var(index[d], var); });
      if (walked) found = found == kNone || found == static_cast<int>(d) ? static_cast<int>(d) : kSeveral;
    }
  }

  void look(const std::vector<Stmt>& body) {
    for (const Stmt& stmt : body) {
      if (const Loop* inner = std::get_if<Loop>(&stmt.node)) {
        const bool vector = inner->kind == loop::LoopKind::vectorize;
        if (vector) vectors.insert(inner->var);
        look(inner->body);
        if (vector) vectors.erase(inner->var);
      } else if (const Store* store = std::get_if<Store>(&stmt.node)) {
        look(store->buffer, store->index);
        loop::for_each_load(store->value, [&](const Expr& load) { look(static_cast<int>(load.i), load.args); });
      } else {
        const loop::If& branch = std::get<loop::If>(stmt.node);
        look(branch.then_body);
        look(branch.else_body);
      }
    }
  }

  template <typename T>
  void turn(int buffer, std::vector<T>& by_dim) const {
    const int d = dim[at(buffer)];
    if (d >= 0) std::rotate(by_dim.begin() + d, by_dim.begin() + d + 1, by_dim.end());
  }

  void turn(std::vector<Stmt>& body) const {
    for (Stmt& stmt : body) {
      if (Loop* inner = std::get_if<Loop>(&stmt.node)) {
        turn(inner->body);
      } else if (Store* store = std::get_if<Store>(&stmt.node)) {
        turn(store->buffer, store->index);
        store->value = loop::map_loads(store->value, [&](const Expr& load) {
          Expr turned = load;
          turn(static_cast<int>(load.i), turned.args);
          return turned;
        });
      } else {
        loop::If& branch = std::get<loop::If>(stmt.node);
        turn(branch.then_body);
        turn(branch.else_body);
      }
    }
  }
};

}  // namespace

void lanes_innermost(loop::Func& func) {
  Lanes lanes{func, std::vector<int>(func.buffers.size(), kNone), {}};
  lanes.look(func.body);
  bool any = false;
  for (size_t b = 0; b < func.buffers.size(); b++) {
    int& d = lanes.dim[b];
    if (d == static_cast<int>(func.buffers[b].shape.size()) - 1) d = kNone;
    any = any || d >= 0;
    lanes.turn(static_cast<int>(b), func.buffers[b].shape);
  }
  if (any) lanes.turn(func.body);
}

}  // namespace mcc::schedule
