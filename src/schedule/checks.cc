// What can be told to be hopeless before compiling: an innermost block whose values do not fit the register file by
// far, code that explodes when unrolled, thread-local memory beyond any cache.
#include <algorithm>
#include <set>

#include "loop/loop_ops.h"
#include "schedule/space.h"

namespace mcc {

namespace {

using loop::Loop;
using loop::LoopKind;
using loop::Stmt;

constexpr i64 kLargestCode = 12000;           // vector statements after unrolling, all tails together
constexpr i64 kLargestLocal = i64{16} << 20;  // bytes

i64 vectors_of(i64 count, DType dtype, const Target& target) {
  return ceil_div(count * std::max<i64>(1, size_of(dtype)), target.vector_bytes);
}

// Statements after unrolling, in vector operations.
i64 code_size(const std::vector<Stmt>& body, const loop::Func& func, const Target& target) {
  i64 size = 0;
  for (const Stmt& stmt : body) {
    if (const Loop* l = std::get_if<Loop>(&stmt.node)) {
      const i64 inside = code_size(l->body, func, target);
      if (l->kind == LoopKind::unroll) {
        size += inside * l->extent;
      } else if (l->kind == LoopKind::vectorize) {
        size += inside * vectors_of(l->extent, DType::f32, target);
      } else {
        size += inside + 1;
      }
    } else if (const loop::If* branch = std::get_if<loop::If>(&stmt.node)) {
      size += 1 + code_size(branch->then_body, func, target) + code_size(branch->else_body, func, target);
    } else {
      size += 1;
    }
  }
  return size;
}

// Of a register buffer: one register for each vector along its last dimension.
i64 registers(const loop::Buffer& buffer, const Target& target) {
  if (buffer.shape.empty()) return 1;
  const i64 row = buffer.shape.back();
  const i64 rows = row == 0 ? 0 : elements(buffer.shape) / row;
  return rows * vectors_of(row, buffer.dtype, target);
}

void used_registers(const std::vector<Stmt>& body, const loop::Func& func, std::set<int>& used) {
  for (const Stmt& stmt : body) {
    if (const Loop* l = std::get_if<Loop>(&stmt.node)) {
      used_registers(l->body, func, used);
    } else if (const loop::Store* s = std::get_if<loop::Store>(&stmt.node)) {
      if (func.buffer(s->buffer).scope == loop::Scope::reg) used.insert(s->buffer);
    }
  }
}

// The largest sum of register buffers written inside one serial loop whose body is straight-line code.
i64 pressure(const std::vector<Stmt>& body, const loop::Func& func, const Target& target) {
  i64 most = 0;
  for (const Stmt& stmt : body) {
    const Loop* l = std::get_if<Loop>(&stmt.node);
    if (const loop::If* branch = std::get_if<loop::If>(&stmt.node)) {
      most = std::max({most, pressure(branch->then_body, func, target), pressure(branch->else_body, func, target)});
    }
    if (!l) continue;
    most = std::max(most, pressure(l->body, func, target));
    if (l->kind != LoopKind::serial && l->kind != LoopKind::parallel) continue;
    const bool straight = std::none_of(l->body.begin(), l->body.end(), [](const Stmt& s) {
      const Loop* inner = std::get_if<Loop>(&s.node);
      return inner && (inner->kind == LoopKind::serial || inner->kind == LoopKind::parallel);
    });
    if (!straight) continue;
    std::set<int> used;
    used_registers(l->body, func, used);
    i64 sum = 0;
    for (int b : used) sum += registers(func.buffer(b), target);
    most = std::max(most, sum);
  }
  return most;
}

std::string check_vectors(const std::vector<Stmt>& body, bool inside) {
  for (const Stmt& stmt : body) {
    if (const Loop* l = std::get_if<Loop>(&stmt.node)) {
      if (inside && l->kind != LoopKind::unroll) return "vectors: a loop inside a vector loop";
      if (std::string why = check_vectors(l->body, inside || l->kind == LoopKind::vectorize); !why.empty()) return why;
    } else if (const loop::If* branch = std::get_if<loop::If>(&stmt.node)) {
      for (const auto* part : {&branch->then_body, &branch->else_body}) {
        if (std::string why = check_vectors(*part, inside); !why.empty()) return why;
      }
    }
  }
  return "";
}

}  // namespace

std::string check_scheduled(const loop::Func& func, const Target& target) {
  if (std::string why = check_vectors(func.body, false); !why.empty()) return why;
  const i64 size = code_size(func.body, func, target);
  if (size > kLargestCode) return fmt::format("code: {} statements after unrolling", size);
  i64 local = 0;
  for (const loop::Buffer& b : func.buffers) {
    if (b.scope == loop::Scope::local) local += elements(b.shape) * size_of(b.dtype);
  }
  if (local > kLargestLocal) return fmt::format("local: {} bytes of thread-local buffers", local);
  const i64 needed = pressure(func.body, func, target) + 1;
  if (needed > target.vector_registers)
    return fmt::format("registers: {} needed of {}", needed, target.vector_registers);
  return "";
}

}  // namespace mcc
