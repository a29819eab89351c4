// Transposition in registers. A map whose result is contiguous along one loop and whose operand is contiguous along
// another would read that operand lane by lane. Written as
//   unroll u { vectorize v { out[.., u, v] = f(in[.., v, u]) } }
// it is computed the other way round: for each lane of v one vector over u (packed loads, and masks where f selects),
// then the square of vectors is transposed by shuffles, and stored with v in the lanes.
//
// All loads of the block come before its first store, so the stored buffer must not be read.
#include <algorithm>
#include <functional>

#include "codegen/emitter.h"
#include "loop/loop_ops.h"

namespace mcc::codegen {

using loop::Expr;
using loop::ExprOp;
using loop::Loop;
using loop::LoopKind;

namespace {

constexpr i64 kLeastExtent = 4;  // of either loop: fewer vectors are not worth the shuffles
constexpr i64 kMostExtent = 64;

// How far the element moves with the variable; nothing when that is not one number.
std::optional<i64> stride_along(const Placement& place, const std::vector<Expr>& index, int var) {
  i64 stride = 0;
  for (size_t d = 0; d < index.size(); d++) {
    const std::optional<loop::Affine> affine = loop::to_affine(index[d]);
    if (affine) {
      stride += place.strides[d] * affine->coefficient(var);
    } else if (loop::uses_var(index[d], var)) {
      return std::nullopt;
    }
  }
  return stride;
}

// The square of vectors[i][j] transposed: pairs of rows exchange blocks of 1, 2, 4, ... lanes (Eklundh).
void transpose_square(llvm::IRBuilder<>& b, std::vector<Value*>& vectors) {
  const int size = static_cast<int>(vectors.size());
  for (int block = 1; block < size; block *= 2) {
    llvm::SmallVector<int, 32> low, high;  // what each of the two rows keeps or takes from the other
    for (int lane = 0; lane < size; lane++) {
      const bool second = (lane & block) != 0;
      low.push_back(second ? size + lane - block : lane);
      high.push_back(second ? size + lane : lane + block);
    }
    for (int row = 0; row < size; row++) {
      if (row & block) continue;
      Value *&x = vectors[at(row)], *&y = vectors[at(row + block)];
      Value* first = b.CreateShuffleVector(x, y, low);
      y = b.CreateShuffleVector(x, y, high);
      x = first;
    }
  }
}

Value* resized(llvm::IRBuilder<>& b, Value* vector, int width) {
  const int now = static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  if (now == width) return vector;
  llvm::SmallVector<int, 32> lanes;
  for (int lane = 0; lane < width; lane++) lanes.push_back(lane < now ? lane : -1);
  return b.CreateShuffleVector(vector, lanes);
}

}  // namespace

// The store that a loop and the vectorized loop right inside it only consist of, when it is better transposed.
const loop::Store* Emitter::transposable(const Loop& u) const {
  if (u.kind != LoopKind::unroll || u.extent < kLeastExtent || u.extent > kMostExtent || u.body.size() != 1)
    return nullptr;
  const Loop* v = std::get_if<Loop>(&u.body[0].node);
  if (!v || !layout_.vector_loops.contains(v) || v->extent < kLeastExtent || v->extent > kMostExtent) return nullptr;
  if (v->body.size() != 1 || layout_.homes.contains(&u) || layout_.homes.contains(v) || lanes_) return nullptr;
  const loop::Store* s = std::get_if<loop::Store>(&v->body[0].node);
  if (!s || s->op != loop::StoreOp::assign || s->value.dtype == DType::boolean) return nullptr;
  const auto stride = [&](int buffer, const std::vector<Expr>& index, int var) -> std::optional<i64> {
    const Placement& place = layout_.buffers[at(buffer)];
    return place.lane_pitch == 1 ? stride_along(place, index, var) : std::nullopt;
  };
  if (stride(s->buffer, s->index, v->var) != 1) return nullptr;
  bool gains = false, suits = true;
  loop::for_each_load(s->value, [&](const Expr& load) {
    const int buffer = static_cast<int>(load.i);
    const std::optional<i64> along_u = stride(buffer, load.args, u.var), along_v = stride(buffer, load.args, v->var);
    suits = suits && buffer != s->buffer && along_u && along_v && (*along_u == 0 || *along_u == 1);
    gains = gains || (along_u == 1 && along_v && *along_v != 0 && *along_v != 1);
  });
  return gains && suits ? s : nullptr;
}

void Emitter::transposed_store(const Loop& u, const loop::Store& s) {
  const Loop& v = std::get<Loop>(u.body[0].node);
  const i64 native = std::min(native_lanes(u), native_lanes(v));
  for (const Part& rows : split_lanes(v.extent, native)) {
    for (const Part& columns : split_lanes(u.extent, native)) {
      std::vector<Value*> square;
      const int size = std::max(rows.width, columns.width);
      lanes_ = Lanes{u.var, u.extent, {columns}};
      set_var(u.var, {VarValue::lane, 0, nullptr, depth_});
      for (i64 row = 0; row < rows.active; row++) {
        set_var(v.var, {VarValue::number, rows.begin + row, nullptr, depth_});
        square.push_back(resized(b, varying(expression(s.value)).parts[0], size));
      }
      while (static_cast<int>(square.size()) < size) square.push_back(llvm::PoisonValue::get(square[0]->getType()));
      transpose_square(b, square);
      lanes_ = Lanes{v.var, v.extent, {rows}};
      set_var(v.var, {VarValue::lane, 0, nullptr, depth_});
      for (i64 column = 0; column < columns.active; column++) {
        set_var(u.var, {VarValue::number, columns.begin + column, nullptr, depth_});
        store_varying(s.buffer, address(s.buffer, s.index), {true, {resized(b, square[at(column)], rows.width)}});
      }
      lanes_.reset();
    }
  }
  emitted_ += u.extent;
  set_var(u.var, {});
  set_var(v.var, {});
}

}  // namespace mcc::codegen
