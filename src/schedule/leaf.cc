// The statements at the leaves: expressions with the axes' values put in, indices made relative to where buffers live
// now, and indices of packed constants turned into packed ones.
#include <algorithm>
#include <functional>

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/emit.h"

namespace mcc::schedule {

namespace {

using loop::Expr;
using loop::ExprOp;
using loop::Stmt;

// The value at the leaf of an affine expression over axes and regions.
Affine compose(Emitter& e, int stage, const Affine& affine) {
  Affine value{affine.constant, {}};
  for (const auto& [var, coefficient] : affine.terms) {
    const int axis = find_axis(e.stage(stage), var);
    if (axis >= 0) {
      add_scaled(value, e.info(stage).env[at(axis)].base, coefficient);
    } else {
      add_scaled(value, loop::affine_var(e.outer_vars.at(var)), coefficient);
    }
  }
  return value;
}

// a = quotient * scale + rest with 0 <= rest < scale, for all values of the variables; false when it is not of that
// form.
bool divide(const Emitter& e, const Affine& a, i64 scale, Affine& quotient, Affine& rest) {
  quotient = rest = {};
  for (const auto& [var, coefficient] : a.terms) {
    if (coefficient % scale == 0) {
      quotient.terms.emplace_back(var, coefficient / scale);
    } else {
      rest.terms.emplace_back(var, coefficient);
    }
  }
  quotient.constant = floor_div(a.constant, scale);
  rest.constant = a.constant - quotient.constant * scale;
  const loop::Range span = bounds_of(e, rest);
  return span.min >= 0 && span.max < scale;
}

std::vector<Expr> packed_index(Emitter& e, const loop::Buffer& buffer, std::vector<std::optional<Affine>> source,
                               std::vector<Expr> source_exprs) {
  std::vector<Expr> index;
  for (const loop::PackDim& dim : buffer.pack.dims) {
    const size_t axis = static_cast<size_t>(dim.axis);
    if (!source[axis]) {
      const i64 extent = loop::laid_out(buffer.pack)[axis];
      if (dim.scale != 1 || extent == 0)
        e.illegal(fmt::format("pack: {} is read at an index that is not affine", buffer.name));
      index.push_back(std::move(source_exprs[axis]));
      continue;
    }
    Affine quotient, rest;
    if (!divide(e, *source[axis], dim.scale, quotient, rest)) {
      e.illegal(fmt::format("pack: the loops do not follow the blocks of {}", buffer.name));
    }
    index.push_back(to_expr(quotient));
    source[axis] = std::move(rest);
  }
  return index;
}

// An index as it is in the Func: relative to where the buffer lives now. Of registers it must become a number.
Affine relative(Emitter& e, const Placed& placed, size_t dim, Affine index) {
  if (!placed.base.empty()) add_scaled(index, placed.base[dim], -1);
  const loop::Buffer& buffer = e.out.buffer(std::max(placed.buffer, 0));
  if (buffer.scope != loop::Scope::reg) return index;
  for (const auto& [var, coefficient] : index.terms) {
    if (e.var_unrolled[at(var)]) continue;
    e.illegal(fmt::format("scope: loop {} over registers {} is not unrolled", e.out.vars[at(var)], buffer.name));
  }
  return index;
}

struct Builder {
  Emitter& e;
  int stage;
  const std::vector<Access>& loads;
  size_t next = 0;

  Expr build(const Expr& expr) {
    if (expr.op == ExprOp::load) return build_load(expr);
    if (expr.op == ExprOp::var) return to_expr(compose(e, stage, loop::affine_var(static_cast<int>(expr.i))));
    Expr result{expr.op, expr.dtype, expr.i, expr.f, {}};
    result.args.reserve(expr.args.size());
    for (const Expr& arg : expr.args) result.args.push_back(build(arg));
    return result;
  }

  Expr build_load(const Expr& expr) {
    const Access& access = loads[next++];
    const Placed& placed = e.placed[at(access.buffer)];
    const loop::Buffer& buffer = e.state.buffer(access.buffer);
    if (placed.buffer < 0)
      e.illegal(fmt::format("compute_at: {} reads {} outside the loop", e.stage(stage).block, buffer.name));
    Expr result{ExprOp::load, expr.dtype, placed.buffer, 0, {}};
    std::vector<std::optional<Affine>> indices(access.index.size());
    std::vector<Expr> exprs(access.index.size());
    for (size_t d = 0; d < access.index.size(); d++) {
      if (access.index[d]) {
        indices[d] = relative(e, placed, d, compose(e, stage, *access.index[d]));
      } else {
        exprs[d] = build(expr.args[d]);
      }
    }
    if (!buffer.pack.dims.empty()) {
      result.args = packed_index(e, buffer, std::move(indices), std::move(exprs));
    } else {
      for (size_t d = 0; d < indices.size(); d++)
        result.args.push_back(indices[d] ? to_expr(*indices[d]) : std::move(exprs[d]));
    }
    return result;
  }
};

Stmt store(Emitter& e, int id, const Expr& value, const std::vector<Access>& loads, bool plain, loop::StoreOp op,
           std::string block) {
  const Stage& stage = e.stage(id);
  Builder builder{e, id, loads};
  loop::Store result;
  result.value = builder.build(value);
  if (!plain) {
    result.value = loop::simplify(
        result.value, [&](int var) -> std::optional<loop::Range> { return loop::Range{0, e.var_extent[at(var)] - 1}; });
  }
  const Placed& placed = e.placed[at(stage.store.buffer)];
  result.buffer = placed.buffer;
  const std::vector<StoreDim>& dims = e.info(id).store;
  for (size_t d = 0; d < dims.size(); d++) {
    Affine index{dims[d].offset, {}};
    const Env& env = e.info(id).env;
    if (dims[d].axis >= 0) add_scaled(index, env[at(dims[d].axis)].base, dims[d].tile);
    if (dims[d].inner >= 0) add_scaled(index, env[at(dims[d].inner)].base, 1);
    result.index.push_back(to_expr(relative(e, placed, d, std::move(index))));
  }
  result.op = op;
  result.block = std::move(block);
  return Stmt{std::move(result)};
}

Expr copy_expr(Emitter& e, const Expr& expr, const std::map<int, int>& vars) {
  Expr result = expr;
  if (expr.op == ExprOp::var) result.i = vars.at(static_cast<int>(expr.i));
  if (expr.op == ExprOp::load) result.i = e.placed[at(expr.i)].buffer;
  for (Expr& arg : result.args) arg = copy_expr(e, arg, vars);
  return result;
}

Stmt copy_stmt(Emitter& e, const Stmt& stmt, std::map<int, int>& vars) {
  const auto copy_all = [&](const std::vector<Stmt>& body) {
    std::vector<Stmt> result;
    for (const Stmt& s : body) result.push_back(copy_stmt(e, s, vars));
    return result;
  };
  if (const loop::Loop* loop = std::get_if<loop::Loop>(&stmt.node)) {
    if (!vars.count(loop->var)) vars[loop->var] = new_var(e, e.state.vars[at(loop->var)], loop->extent, loop->kind);
    return Stmt{loop::Loop{vars[loop->var], loop->extent, loop->kind, copy_all(loop->body)}};
  }
  if (const loop::If* branch = std::get_if<loop::If>(&stmt.node)) {
    return Stmt{
        loop::If{copy_expr(e, branch->condition, vars), copy_all(branch->then_body), copy_all(branch->else_body)}};
  }
  loop::Store store = std::get<loop::Store>(stmt.node);
  for (Expr& at : store.index) at = copy_expr(e, at, vars);
  store.value = copy_expr(e, store.value, vars);
  store.buffer = e.placed[at(store.buffer)].buffer;
  return Stmt{std::move(store)};
}

}  // namespace

Stmt leaf_store(Emitter& e, int id) {
  const StageInfo& info = e.info(id);
  return store(e, id, e.stage(id).store.value, info.value_loads, info.plain_value, e.stage(id).store.op,
               e.stage(id).block);
}

Stmt leaf_init(Emitter& e, int id) {
  const StageInfo& info = e.info(id);
  return store(e, id, *e.stage(id).init, info.init_loads, info.plain_init, loop::StoreOp::assign,
               e.stage(id).block + ".init");
}

Stmt copy_opaque(Emitter& e, const Stmt& stmt) {
  std::map<int, int> vars = e.outer_vars;
  return copy_stmt(e, stmt, vars);
}

}  // namespace mcc::schedule
