// Going over a loop program without changing what it means: visiting stores and loads, substituting variables, counting
// work, and laying out packed constants.
#include <algorithm>
#include <cstring>

#include "loop/loop_ops.h"
#include "loop/scalar.h"
#include "loop/winograd.h"

namespace mcc::loop {

Expr substitute(const Expr& expr, const std::map<int, Expr>& vars) {
  if (expr.op == ExprOp::var) {
    const auto found = vars.find(static_cast<int>(expr.i));
    return found == vars.end() ? expr : found->second;
  }
  Expr result = expr;
  for (Expr& arg : result.args) arg = substitute(arg, vars);
  return result;
}

namespace {

using VisitStore = std::function<void(const Store&, std::span<const Loop* const>)>;

void visit_stores(const std::vector<Stmt>& body, std::vector<const Loop*>& loops, const VisitStore& visit) {
  for (const Stmt& stmt : body) {
    if (const auto* loop = std::get_if<Loop>(&stmt.node)) {
      loops.push_back(loop);
      visit_stores(loop->body, loops, visit);
      loops.pop_back();
    } else if (const auto* branch = std::get_if<If>(&stmt.node)) {
      visit_stores(branch->then_body, loops, visit);
      visit_stores(branch->else_body, loops, visit);
    } else {
      visit(std::get<Store>(stmt.node), loops);
    }
  }
}

}  // namespace

void for_each_store(const Func& func, const VisitStore& visit) {
  std::vector<const Loop*> loops;
  visit_stores(func.body, loops, visit);
}

void for_each_load(const Expr& expr, const std::function<void(const Expr& load)>& visit) {
  if (expr.op == ExprOp::load) visit(expr);
  for (const Expr& arg : expr.args) for_each_load(arg, visit);
}

Expr map_loads(const Expr& expr, const std::function<Expr(const Expr& load)>& change) {
  Expr result = expr;
  for (Expr& arg : result.args) arg = map_loads(arg, change);
  return result.op == ExprOp::load ? change(result) : result;
}

bool uses_var(const Expr& expr, int var) {
  if (expr.op == ExprOp::var) return expr.i == var;
  for (const Expr& arg : expr.args) {
    if (uses_var(arg, var)) return true;
  }
  return false;
}

bool loads_buffer(const Expr& expr, int buffer) {
  if (expr.op == ExprOp::load && expr.i == buffer) return true;
  return std::any_of(expr.args.begin(), expr.args.end(), [&](const Expr& arg) { return loads_buffer(arg, buffer); });
}

namespace {

// Arithmetic on values: floats, and integers narrower than an index.
bool counts_as_flop(const Expr& e) {
  const bool arithmetic = (e.op >= ExprOp::add && e.op <= ExprOp::pow) || (e.op >= ExprOp::neg && e.op <= ExprOp::sign);
  return arithmetic && (is_float(e.dtype) || (is_int(e.dtype) && e.dtype != DType::i64));
}

i64 flops_of(const Expr& e) {
  if (e.op == ExprOp::load) return 0;  // its index is not the program's work
  i64 count = counts_as_flop(e) ? 1 : 0;
  for (const Expr& arg : e.args) count += flops_of(arg);
  return count;
}

}  // namespace

i64 flops(const Func& func) {
  i64 total = 0;
  for_each_store(func, [&](const Store& store, std::span<const Loop* const> loops) {
    i64 times = 1;
    for (const Loop* loop : loops) times *= loop->extent;
    total += times * (flops_of(store.value) + (store.op == StoreOp::assign ? 0 : 1));
  });
  return total;
}

std::vector<int> params(const Func& func) {
  std::vector<int> ids;
  for (size_t i = 0; i < func.buffers.size(); i++) {
    if (is_param(func.buffers[i].scope)) ids.push_back(static_cast<int>(i));
  }
  return ids;
}

Shape laid_out(const Pack& pack) {
  if (pack.winograd == 0) return pack.source;
  return {pack.winograd + 2, pack.winograd + 2, pack.source[0], pack.source[1]};
}

namespace {

// `count` elements of `size` bytes, `step` elements apart in the source, next to each other in the target.
template <typename T>
void gather_as(std::byte* to, const std::byte* from, i64 count, i64 step) {
  for (i64 i = 0; i < count; i++) std::memcpy(to + i * i64{sizeof(T)}, from + i * step * i64{sizeof(T)}, sizeof(T));
}

void gather(std::byte* to, const std::byte* from, i64 count, i64 step, i64 size) {
  switch (size) {
    case 1: return gather_as<u8>(to, from, count, step);
    case 2: return gather_as<std::uint16_t>(to, from, count, step);
    case 4: return gather_as<std::uint32_t>(to, from, count, step);
    case 8: return gather_as<u64>(to, from, count, step);
    default: MCC_CHECK(false);
  }
}

}  // namespace

Tensor pack_constant(const Buffer& buffer, const Tensor& given) {
  const Pack& pack = buffer.pack;
  const size_t rank = buffer.shape.size();
  // The source may come with unit dimensions that collapse() dropped: only its row-major elements matter.
  MCC_CHECK(rank > 0 && pack.dims.size() == rank && given.size() == elements(pack.source) &&
            given.type.dtype == buffer.dtype);
  const Tensor source = pack.winograd == 0 ? given : winograd_weights(given, pack.winograd);
  const Shape shape = laid_out(pack), strides = row_major_strides(shape);
  const i64 size = size_of(buffer.dtype), row = buffer.shape.back();
  const auto row_axis = static_cast<size_t>(pack.dims.back().axis);
  const i64 scale = pack.dims.back().scale;
  Tensor packed({buffer.dtype, buffer.shape});
  Shape at(rank, 0), from(shape.size(), 0);
  for (std::byte *to = packed.bytes(), *end = to + packed.byte_size(); to < end; to += row * size) {
    i64 offset = 0;
    bool inside = true;
    for (size_t a = 0; a < from.size(); a++) {
      inside = inside && from[a] < shape[a];
      offset += from[a] * strides[a];
    }
    if (inside) {
      const i64 count = std::min(row, (shape[row_axis] - from[row_axis] + scale - 1) / scale);
      gather(to, source.bytes() + offset * size, count, strides[row_axis] * scale, size);
    }
    for (size_t d = rank - 1; d-- > 0;) {  // the next row's index, row-major, and its source element
      i64& s = from[static_cast<size_t>(pack.dims[d].axis)];
      s += pack.dims[d].scale;
      if (++at[d] < buffer.shape[d]) break;
      s -= pack.dims[d].scale * at[d];
      at[d] = 0;
    }
  }
  return packed;
}

}  // namespace mcc::loop
