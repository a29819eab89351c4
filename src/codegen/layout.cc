// See layout.h. One walk numbers the regions and collects for every buffer the regions and the loops around its uses;
// the placements follow from these.
#include "codegen/layout.h"

#include <algorithm>

#include "codegen/codegen.h"

namespace mcc::codegen {

using loop::Buffer;
using loop::Expr;
using loop::ExprOp;
using loop::Func;
using loop::Loop;
using loop::LoopKind;
using loop::Scope;
using loop::Stmt;

namespace {

constexpr i64 kAlign = 64;
constexpr i64 kStackLimit = 8 << 10;   // a larger local buffer goes to scratch
constexpr i64 kFrameLimit = 64 << 10;  // and so does what is left once a kernel's locals fill this

struct Uses {
  std::set<int> regions;
  bool seen = false;
  std::vector<const Loop*> loops;  // common prefix of the loops around all uses
};

// Whether lanes, which differ in var, may have different values.
bool may_differ(const Expr& expr, int var) {
  if (expr.op == ExprOp::load || (expr.op == ExprOp::var && expr.i == var)) return true;
  for (const Expr& arg : expr.args) {
    if (may_differ(arg, var)) return true;
  }
  return false;
}

// Whether an If under a vectorized loop may go different ways for different lanes (any load counts as different).
bool may_diverge(const std::vector<Stmt>& body, int var) {
  for (const Stmt& stmt : body) {
    if (const Loop* l = std::get_if<Loop>(&stmt.node); l && may_diverge(l->body, var)) return true;
    if (const loop::If* branch = std::get_if<loop::If>(&stmt.node)) {
      if (may_differ(branch->condition, var) || may_diverge(branch->then_body, var) ||
          may_diverge(branch->else_body, var))
        return true;
    }
  }
  return false;
}

class Walk {
 public:
  Walk(const Func& func, Layout& layout) : layout_(layout), uses_(func.buffers.size()) { sequence(func.body); }
  const std::vector<Uses>& uses() const { return uses_; }

 private:
  // Statements outside of any region.
  void sequence(const std::vector<Stmt>& body) {
    bool in_run = false;
    for (const Stmt& stmt : body) {
      if (!has_parallel_region(stmt)) {
        if (!in_run) region_++;
        in_run = true;
        inside(stmt);
        continue;
      }
      in_run = false;
      if (const Loop* l = std::get_if<Loop>(&stmt.node)) {
        if (l->kind == LoopKind::parallel) {
          region_++;
          inside(stmt);
        } else {
          path_.push_back(l);
          sequence(l->body);
          path_.pop_back();
        }
      } else {
        const loop::If& branch = std::get<loop::If>(stmt.node);
        region_++;
        expression(branch.condition);
        sequence(branch.then_body);
        sequence(branch.else_body);
      }
    }
  }

  void inside(const Stmt& stmt) {
    if (const Loop* l = std::get_if<Loop>(&stmt.node)) {
      const bool vector =
          l->kind == LoopKind::vectorize && l->extent > 1 && !in_vector_ && !may_diverge(l->body, l->var);
      if (vector) {
        layout_.vector_loops.insert(l);
        in_vector_ = true;
      }
      path_.push_back(l);
      for (const Stmt& inner : l->body) inside(inner);
      path_.pop_back();
      if (vector) in_vector_ = false;
    } else if (const loop::Store* store = std::get_if<loop::Store>(&stmt.node)) {
      use(store->buffer);
      for (const Expr& index : store->index) expression(index);
      expression(store->value);
    } else {
      const loop::If& branch = std::get<loop::If>(stmt.node);
      expression(branch.condition);
      for (const Stmt& inner : branch.then_body) inside(inner);
      for (const Stmt& inner : branch.else_body) inside(inner);
    }
  }

  void expression(const Expr& expr) {
    if (expr.op == ExprOp::load) use(static_cast<int>(expr.i));
    for (const Expr& arg : expr.args) expression(arg);
  }

  void use(int buffer) {
    Uses& uses = uses_[at(buffer)];
    uses.regions.insert(region_);
    if (!uses.seen) uses.loops = path_;
    uses.seen = true;
    size_t common = 0;
    while (common < uses.loops.size() && common < path_.size() && uses.loops[common] == path_[common]) common++;
    uses.loops.resize(common);
  }

  Layout& layout_;
  std::vector<Uses> uses_;
  std::vector<const Loop*> path_;
  int region_ = 0;
  bool in_vector_ = false;
};

// Rows of register buffers start at multiples of a vector, so that a vector access rounded up stays in its row.
i64 row_pitch(i64 extent) {
  i64 lanes = 1;
  while (lanes < extent && lanes < kAlign) lanes *= 2;
  return round_up(extent, lanes);
}

std::vector<i64> reg_strides(const Buffer& buffer) {
  Shape padded = buffer.shape;
  if (padded.size() > 1) padded.back() = row_pitch(padded.back());
  return row_major_strides(padded);
}

i64 span_elements(const Shape& shape, const std::vector<i64>& strides) {
  i64 count = elements(shape);
  if (count == 0) return 0;
  return shape.empty() ? 1 : std::max(count, shape[0] * strides[0]);
}

}  // namespace

std::vector<const Loop*> parallel_nest(const Loop& outer) {
  std::vector<const Loop*> nest = {&outer};
  while (nest.back()->body.size() == 1) {
    const Loop* inner = std::get_if<Loop>(&nest.back()->body[0].node);
    if (!inner || inner->kind != LoopKind::parallel) break;
    nest.push_back(inner);
  }
  return nest;
}

bool has_parallel_region(const Stmt& stmt) {
  if (const Loop* l = std::get_if<Loop>(&stmt.node)) {
    if (l->kind == LoopKind::parallel) return true;
    return l->kind != LoopKind::vectorize && std::ranges::any_of(l->body, has_parallel_region);
  }
  const loop::If* branch = std::get_if<loop::If>(&stmt.node);
  return branch && (std::ranges::any_of(branch->then_body, has_parallel_region) ||
                    std::ranges::any_of(branch->else_body, has_parallel_region));
}

void add_used_buffers(const Expr& expr, std::set<int>& into) {
  if (expr.op == ExprOp::load) into.insert(static_cast<int>(expr.i));
  for (const Expr& arg : expr.args) add_used_buffers(arg, into);
}

void add_used_buffers(const Stmt& stmt, std::set<int>& into) {
  if (const Loop* l = std::get_if<Loop>(&stmt.node)) {
    for (const loop::Prefetch& fetch : l->ahead) into.insert(fetch.buffer);
    for (const Stmt& inner : l->body) add_used_buffers(inner, into);
  } else if (const loop::Store* store = std::get_if<loop::Store>(&stmt.node)) {
    into.insert(store->buffer);
    for (const Expr& index : store->index) add_used_buffers(index, into);
    add_used_buffers(store->value, into);
  } else {
    const loop::If& branch = std::get<loop::If>(stmt.node);
    add_used_buffers(branch.condition, into);
    for (const Stmt& inner : branch.then_body) add_used_buffers(inner, into);
    for (const Stmt& inner : branch.else_body) add_used_buffers(inner, into);
  }
}

std::set<int> used_buffers(const std::vector<Stmt>& body) {
  std::set<int> used;
  for (const Stmt& stmt : body) add_used_buffers(stmt, used);
  return used;
}

Layout make_layout(const Func& func) {
  Layout layout;
  const Walk walk(func, layout);
  i64 frame = 0, param = 0;
  for (size_t b = 0; b < func.buffers.size(); b++) {
    const Buffer& buffer = func.buffers[b];
    const Uses& uses = walk.uses()[b];
    Placement p;
    const bool is_private = (buffer.scope == Scope::local || buffer.scope == Scope::reg) && uses.regions.size() <= 1;
    p.strides = is_private && buffer.scope == Scope::reg ? reg_strides(buffer) : row_major_strides(buffer.shape);
    i64 count = span_elements(buffer.shape, p.strides);
    if (is_private) {
      for (const Loop* l : uses.loops) {
        if (layout.vector_loops.contains(l)) p.lane_pitch = row_pitch(l->extent);
      }
      if (!uses.loops.empty()) p.home = uses.loops.back();
    }
    p.bytes = round_up(count * p.lane_pitch * size_of(buffer.dtype), kAlign);
    if (loop::is_param(buffer.scope)) {
      p.offset = param++;
    } else if (!is_private) {
      p.place = Place::shared;
      p.offset = layout.shared_bytes;
      layout.shared_bytes += p.bytes;
    } else if (buffer.scope == Scope::reg || (p.bytes <= kStackLimit && frame + p.bytes <= kFrameLimit)) {
      p.place = Place::stack;
      layout.homes[p.home].push_back(static_cast<int>(b));
      if (buffer.scope == Scope::local) frame += p.bytes;
    } else {
      p.place = Place::thread;
      p.offset = layout.thread_bytes;
      layout.thread_bytes += p.bytes;
    }
    layout.buffers.push_back(std::move(p));
  }
  return layout;
}

}  // namespace mcc::codegen

namespace mcc {

i64 scratch_bytes(const loop::Func& func, int threads) {
  const codegen::Layout layout = codegen::make_layout(func);
  return layout.shared_bytes + threads * layout.thread_bytes;
}

}  // namespace mcc
