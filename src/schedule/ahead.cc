// Fetches constants ahead of their use (step prefetch).
//
// Packed weights are read front to back, part by part: the innermost loops walk a part (the panel of one column tile),
// loops around them repeat it for other rows (they do not move the address), and an outer one goes on to the next part.
// Weights that did not stay in a cache since the last run arrive in bursts: the first walk of each part waits for
// memory, which idles during the repetitions. So either
//  - all iterations over one part together ask for the next one, each for its share of the lines (distance 0), or
//  - each iteration asks for what it would read `bytes` later, across the borders of pages, where hardware stops.
// Prefetches beyond the end are harmless, and parts that are not contiguous in memory are left alone.
#include <algorithm>

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/generate.h"

namespace mcc::schedule {

namespace {

using loop::Affine;
using loop::Loop;
using loop::Stmt;

bool is_counted(const Loop& l) {
  return l.extent > 1 && (l.kind == loop::LoopKind::serial || l.kind == loop::LoopKind::parallel);
}

// The loops over one part of the buffer, seen from the innermost one.
struct Walk {
  i64 step = 0;                               // elements an iteration of the innermost loop reads
  i64 part = 0;                               // elements of the part
  i64 times = 1;                              // the part is walked
  i64 next = 0;                               // elements from this part to the next; 0: there is none
  i64 iterations = 1;                         // of all loops over the part
  std::vector<std::pair<int, i64>> numbered;  // their variables; iteration number = sum of variable * factor
};

class Inserter {
 public:
  Inserter(const loop::Func& func, const std::string& block, int buffer, const std::vector<i64>& bytes)
      : func_(func), block_(block), buffer_(buffer), bytes_(bytes) {}

  void body(std::vector<Stmt>& stmts) {
    for (Stmt& stmt : stmts) {
      if (Loop* l = std::get_if<Loop>(&stmt.node)) {
        if (is_counted(*l)) open_.push_back(l);
        if (is_counted(*l) && l->kind == loop::LoopKind::serial) innermost(*l);
        body(l->body);
        if (is_counted(*l)) open_.pop_back();
      } else if (loop::If* branch = std::get_if<loop::If>(&stmt.node)) {
        body(branch->then_body);
        body(branch->else_body);
      }
    }
  }

 private:
  // The first read of the buffer by the block in straight-line code, as an element number.
  std::optional<Affine> first_read(const std::vector<Stmt>& stmts) const {
    for (const Stmt& stmt : stmts) {
      std::optional<Affine> found;
      if (const Loop* l = std::get_if<Loop>(&stmt.node)) {
        if (!is_counted(*l)) found = first_read(l->body);
      } else if (const loop::Store* store = std::get_if<loop::Store>(&stmt.node); store && store->block == block_) {
        loop::for_each_load(store->value, [&](const loop::Expr& load) {
          if (load.i == buffer_ && !found) found = element(load);
        });
      }
      if (found) return found;
    }
    return std::nullopt;
  }

  std::optional<Affine> element(const loop::Expr& load) const {
    const Shape& shape = func_.buffer(buffer_).shape;
    loop::Expr number = loop::const_int(0);
    for (size_t d = 0; d < shape.size(); d++) number = number * shape[d] + load.args[d];
    return loop::to_affine(number);
  }

  i64 stride(const Affine& at, size_t depth) const { return at.coefficient(open_[depth]->var); }

  // Parallel loops count like serial ones: threads take contiguous shares of them, so one thread goes over most of a
  // part.
  Walk walk_of(const Affine& at) const {
    Walk walk;
    size_t depth = open_.size() - 1;
    walk.step = walk.part = stride(at, depth);
    const auto take = [&] {
      walk.numbered.emplace_back(open_[depth]->var, walk.iterations);
      walk.iterations *= open_[depth]->extent;
    };
    take();
    walk.part *= open_[depth]->extent;
    for (; depth > 0 && stride(at, depth - 1) == walk.part; walk.part *= open_[depth]->extent) {
      depth--;
      take();
    }
    for (; depth > 0 && stride(at, depth - 1) == 0; walk.times *= open_[depth]->extent) {
      depth--;
      take();
    }
    while (depth > 0 && walk.next == 0) walk.next = stride(at, --depth);
    while (depth > 0) {
      depth--;
      const bool read_by_all = stride(at, depth) == 0 && open_[depth]->kind == loop::LoopKind::parallel;
      if (read_by_all) walk.next = 0;  // fetching ahead did not pay there
    }
    return walk;
  }

  void innermost(Loop& l) {
    std::optional<Affine> at = first_read(l.body);
    if (!at) return;
    std::erase_if(at->terms, [&](const auto& term) {  // variables of straight-line loops start at 0
      return std::none_of(open_.begin(), open_.end(), [&](const Loop* o) { return o->var == term.first; });
    });
    const Walk walk = walk_of(*at);
    if (walk.step <= 0) return;
    for (const i64 bytes : bytes_) bytes == 0 ? next_part(l, *at, walk) : later(l, *at, walk, bytes);
  }

  void next_part(Loop& l, Affine at, const Walk& walk) const {
    if (walk.times < 2 || walk.next == 0) return;
    const i64 share = ceil_div(walk.part, walk.iterations);
    at.constant += walk.next;
    for (const auto& [var, factor] : walk.numbered)
      add_scaled(at, loop::affine_var(var), factor * share - at.coefficient(var));
    add(l, at, share);
  }

  void later(Loop& l, Affine at, const Walk& walk, i64 bytes) const {
    at.constant += bytes / element_bytes();
    add(l, at, walk.step);
  }

  void add(Loop& l, const Affine& at, i64 elements) const {
    const i64 lines = std::min(ceil_div(elements * element_bytes(), loop::kLineBytes), loop::kMostLines);
    l.ahead.push_back({buffer_, loop::to_expr(at), lines});
  }

  i64 element_bytes() const { return size_of(func_.buffer(buffer_).dtype); }

  const loop::Func& func_;
  const std::string& block_;
  const int buffer_;
  const std::vector<i64>& bytes_;
  std::vector<const Loop*> open_;  // counted loops around, outermost first
};

}  // namespace

void fetch_ahead(const State& state, loop::Func& func) {
  for (const Stage& stage : state.stages) {
    for (const Ahead& ahead : stage.ahead) {
      const std::string& name = state.buffer(ahead.buffer).name;
      const auto buffer =
          std::find_if(func.buffers.begin(), func.buffers.end(), [&](const loop::Buffer& b) { return b.name == name; });
      if (buffer == func.buffers.end()) continue;
      Inserter(func, stage.block, static_cast<int>(buffer - func.buffers.begin()), ahead.bytes).body(func.body);
    }
  }
}

}  // namespace mcc::schedule
