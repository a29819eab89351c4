// Addresses, loads and stores. An index list becomes constant + factors * loop variables + factor * lane (Address); the
// variable terms are added to the base pointer outermost loop first and remembered, so that all accesses of a tile
// share their prefix and LLVM's addressing modes take the constants.
//
// With lane factor 0 an access is scalar (a broadcast), with 1 one vector per part, with -1 a vector reversed, else a
// gather or scatter. A partial part never touches memory outside the loop's own lanes: masked instructions where the
// machine has them, else two overlapping accesses of the largest power of two. The exception are whole rows of the
// kernel's own register buffers, which are padded (layout.h).
#include <algorithm>

#include "codegen/emitter.h"

namespace mcc::codegen {

using llvm::Type;
using loop::Expr;
using loop::ExprOp;

namespace {

constexpr int kInnermost = 1 << 20;  // order of address terms that are no loop variables

void add_term(Address& to, Value* v, i64 factor, int order) {
  if (factor == 0) return;
  for (Address::Term& term : to.terms) {
    if (term.v == v) {
      term.factor += factor;
      return;
    }
  }
  to.terms.push_back({v, factor, order});
}

int largest_power_of_two(int n) {
  int p = 1;
  while (2 * p <= n) p *= 2;
  return p;
}

}  // namespace

// The value of an index expression when it is known here.
std::optional<i64> Emitter::number(const Expr& expr) const {
  if (expr.op == ExprOp::constant) return expr.i;
  if (expr.op == ExprOp::var) {
    const VarValue& value = var_value(static_cast<int>(expr.i));
    return value.kind == VarValue::number ? std::optional<i64>(value.i) : std::nullopt;
  }
  return std::nullopt;
}

void Emitter::add_linear(const Expr& expr, i64 scale, Address& into) {
  if (const std::optional<i64> known = number(expr)) {
    into.constant += scale * *known;
    return;
  }
  switch (expr.op) {
    case ExprOp::var: {
      const VarValue& value = var_value(static_cast<int>(expr.i));
      if (value.kind == VarValue::lane) into.lane += scale;
      if (value.v) add_term(into, value.v, scale, value.depth);
      return;
    }
    case ExprOp::add:
      add_linear(expr.args[0], scale, into);
      add_linear(expr.args[1], scale, into);
      return;
    case ExprOp::sub:
      add_linear(expr.args[0], scale, into);
      add_linear(expr.args[1], -scale, into);
      return;
    case ExprOp::neg: add_linear(expr.args[0], -scale, into); return;
    case ExprOp::mul:
      if (const std::optional<i64> k = number(expr.args[1])) return add_linear(expr.args[0], scale * *k, into);
      if (const std::optional<i64> k = number(expr.args[0])) return add_linear(expr.args[1], scale * *k, into);
      break;
    default: break;
  }
  const Val value = expression(expr);
  if (!value.varying) {
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(value.parts[0]))
      into.constant += scale * known->getSExtValue();
    else
      add_term(into, value.parts[0], scale, kInnermost);
    return;
  }
  for (size_t p = 0; p < value.parts.size(); p++) {
    Value* scaled = b.CreateMul(value.parts[p], int_constant(value.parts[p]->getType(), scale));
    if (into.scattered.size() <= p)
      into.scattered.push_back(scaled);
    else
      into.scattered[p] = b.CreateAdd(into.scattered[p], scaled);
  }
}

namespace {

void add(llvm::IRBuilder<>& b, Address& to, const Address& other) {
  to.constant += other.constant;
  to.lane += other.lane;
  for (const Address::Term& term : other.terms) add_term(to, term.v, term.factor, term.order);
  for (size_t p = 0; p < other.scattered.size(); p++) {
    if (to.scattered.size() <= p)
      to.scattered.push_back(other.scattered[p]);
    else
      to.scattered[p] = b.CreateAdd(to.scattered[p], other.scattered[p]);
  }
}

}  // namespace

Address Emitter::address(int buffer, const std::vector<Expr>& index) {
  const Placement& place = layout_.buffers[at(buffer)];
  const loop::Buffer& type = func_.buffer(buffer);
  Address rows, last;
  for (size_t d = 0; d < index.size(); d++) {
    add_linear(index[d], place.strides[d] * place.lane_pitch, d + 1 == index.size() ? last : rows);
  }
  const bool lanes_are_row = lanes_ && last.lane == 1 && last.constant == 0 && last.terms.empty() &&
                             last.scattered.empty() && lanes_->extent == type.shape.back() && rows.lane == 0;
  add(b, rows, last);
  rows.own_row = lanes_are_row && type.scope == loop::Scope::reg && place.place == Place::stack;
  if (place.lane_pitch > 1) {
    rows.lane++;
    rows.own_row = rows.lane == 1 && rows.scattered.empty();
  }
  std::ranges::stable_sort(rows.terms, {}, &Address::Term::order);
  return rows;
}

// The address of lane `lane_offset` (the first lane of a part), without the scattered offsets.
Value* Emitter::uniform_pointer(int buffer, const Address& at, i64 lane_offset) {
  const i64 size = size_of(func_.buffer(buffer).dtype);
  Value* pointer = bases_[static_cast<size_t>(buffer)];
  MCC_CHECK(pointer);
  for (const Address::Term& term : at.terms) {
    Value*& known = pointer_cache_[{pointer, term.v, term.factor * size}];
    if (!known)
      known =
          b.CreateGEP(b.getInt8Ty(), pointer, b.CreateMul(term.v, b.getInt64(static_cast<u64>(term.factor * size))));
    pointer = known;
  }
  const i64 offset = (at.constant + at.lane * lane_offset) * size;
  return offset == 0 ? pointer : b.CreateConstGEP1_64(b.getInt8Ty(), pointer, static_cast<u64>(offset));
}

Parts Emitter::pointers(int buffer, const Address& at) {
  const i64 size = size_of(func_.buffer(buffer).dtype);
  Parts result;
  for (size_t p = 0; p < lanes_->parts.size(); p++) {
    const Part& part = lanes_->parts[p];
    Value* offsets = lane_numbers({0, part.width, part.active});
    offsets = b.CreateMul(offsets, int_constant(offsets->getType(), at.lane));
    if (!at.scattered.empty()) offsets = b.CreateAdd(offsets, at.scattered[p]);
    offsets = b.CreateMul(offsets, int_constant(offsets->getType(), size));
    result.push_back(b.CreateGEP(b.getInt8Ty(), uniform_pointer(buffer, at, part.begin), offsets));
  }
  return result;
}

Type* Emitter::memory_type(DType dtype) {
  if (dtype == DType::f32 || dtype == DType::f64) return value_type(b.getContext(), dtype);
  return b.getIntNTy(static_cast<unsigned>(8 * size_of(dtype)));
}

Value* Emitter::from_memory(DType dtype, Value* raw) {
  if (dtype == DType::f16) return half_to_float(b, isa_, raw);
  if (dtype == DType::bf16) return bf16_to_float(b, raw);
  return dtype == DType::boolean ? b.CreateICmpNE(raw, int_constant(raw->getType(), 0)) : raw;
}

Value* Emitter::to_memory(DType dtype, Value* value) {
  if (dtype == DType::f16) return float_to_half(b, isa_, value);
  if (dtype == DType::bf16) return float_to_bf16(b, value);
  return dtype == DType::boolean ? b.CreateZExt(value, widened(b.getInt8Ty(), value)) : value;
}

Value* Emitter::active_mask(const Part& part) {
  llvm::SmallVector<llvm::Constant*, 16> bits;
  for (int lane = 0; lane < part.width; lane++) bits.push_back(b.getInt1(lane < part.active));
  return llvm::ConstantVector::get(bits);
}

// One vector from consecutive elements. `whole`: all lanes may be read, active or not.
Value* Emitter::load_packed(Type* type, Value* pointer, i64 element_bytes, const Part& part, bool whole) {
  const auto vector = [&](int lanes) { return llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes)); };
  const llvm::Align align(static_cast<u64>(element_bytes));
  if (part.active == part.width || whole) return b.CreateAlignedLoad(vector(part.width), pointer, align);
  if (isa_.masked_memory) return b.CreateMaskedLoad(vector(part.width), pointer, align, active_mask(part));
  const int piece = largest_power_of_two(part.active);
  Value* low = b.CreateAlignedLoad(vector(piece), pointer, align);
  Value* last = b.CreateConstGEP1_64(b.getInt8Ty(), pointer, static_cast<u64>((part.active - piece) * element_bytes));
  Value* high = b.CreateAlignedLoad(vector(piece), last, align);
  llvm::SmallVector<int, 16> lanes;
  for (int lane = 0; lane < part.width; lane++) {
    lanes.push_back(lane < piece ? lane : lane < part.active ? 2 * piece - part.active + lane : -1);
  }
  return b.CreateShuffleVector(low, high, lanes);
}

void Emitter::store_packed(Value* value, Value* pointer, i64 element_bytes, const Part& part, bool whole) {
  const llvm::Align align(static_cast<u64>(element_bytes));
  if (part.active == part.width || whole) {
    b.CreateAlignedStore(value, pointer, align);
  } else if (isa_.masked_memory) {
    b.CreateMaskedStore(value, pointer, align, active_mask(part));
  } else {
    const int piece = largest_power_of_two(part.active);
    for (const int begin : {0, part.active - piece}) {
      llvm::SmallVector<int, 16> lanes;
      for (int lane = 0; lane < piece; lane++) lanes.push_back(begin + lane);
      Value* to = b.CreateConstGEP1_64(b.getInt8Ty(), pointer, static_cast<u64>(begin * element_bytes));
      b.CreateAlignedStore(b.CreateShuffleVector(value, lanes), to, align);
      if (piece == part.active) break;
    }
  }
}

Value* Emitter::load_part(int buffer, const Address& at, const Part& part) {
  const DType dtype = func_.buffer(buffer).dtype;
  const i64 size = size_of(dtype);
  Type* type = memory_type(dtype);
  const i64 first = at.lane == -1 ? part.begin + part.active - 1 : part.begin;
  Value* value = load_packed(type, uniform_pointer(buffer, at, first), size, part, at.own_row);
  return at.lane == -1 ? b.CreateShuffleVector(value,
                                               [&] {
                                                 llvm::SmallVector<int, 16> lanes;
                                                 for (int lane = 0; lane < part.width; lane++)
                                                   lanes.push_back(lane < part.active ? part.active - 1 - lane : -1);
                                                 return lanes;
                                               }())
                       : value;
}

// Lanes `at.lane` (2 to 4) elements apart: as many whole vectors, the last one ending with the last lane, shuffled
// together.
Value* Emitter::load_strided(int buffer, const Address& at, const Part& part) {
  const DType dtype = func_.buffer(buffer).dtype;
  const i64 size = size_of(dtype), last = (part.width - 1) * at.lane + 1 - part.width;
  Value* first = uniform_pointer(buffer, at, part.begin);
  Type* vector = llvm::FixedVectorType::get(memory_type(dtype), static_cast<unsigned>(part.width));
  Value* result = nullptr;
  for (i64 piece = 0; piece < at.lane; piece++) {
    const i64 begin = std::min(piece * part.width, last);
    Value* pointer = b.CreateConstGEP1_64(b.getInt8Ty(), first, static_cast<u64>(begin * size));
    Value* loaded = b.CreateAlignedLoad(vector, pointer, llvm::Align(static_cast<u64>(size)));
    llvm::SmallVector<int, 16> lanes;
    for (int lane = 0; lane < part.width; lane++) {
      const i64 from = lane * at.lane - begin;
      const bool here = from >= 0 && from < part.width;
      lanes.push_back(piece == 0 ? (here ? static_cast<int>(from) : -1)
                      : here     ? part.width + static_cast<int>(from)
                                 : lane);
    }
    result = b.CreateShuffleVector(piece == 0 ? loaded : result, loaded, lanes);
  }
  return result;
}

Val Emitter::load(int buffer, const Address& at) {
  const DType dtype = func_.buffer(buffer).dtype;
  const i64 size = size_of(dtype);
  const llvm::Align align(static_cast<u64>(size));
  Type* type = memory_type(dtype);
  const bool uniform = at.lane == 0 && at.scattered.empty();
  if (uniform && mask_.empty()) {
    return {false, {from_memory(dtype, b.CreateAlignedLoad(type, uniform_pointer(buffer, at, 0), align))}};
  }
  const bool packed = at.scattered.empty() && (at.lane == 1 || at.lane == -1);
  Val result{true, {}};
  if (packed && mask_.empty()) {
    for (const Part& part : lanes_->parts) result.parts.push_back(from_memory(dtype, load_part(buffer, at, part)));
    return result;
  }
  const bool strided = at.scattered.empty() && at.lane >= 2 && at.lane <= 4 && mask_.empty();
  const Parts from = at.lane == 1 && packed ? Parts() : pointers(buffer, at);
  for (size_t p = 0; p < lanes_->parts.size(); p++) {
    const Part& part = lanes_->parts[p];
    if (strided && part.active == part.width) {
      result.parts.push_back(from_memory(dtype, load_strided(buffer, at, part)));
      continue;
    }
    Type* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(part.width));
    Value* mask = active_mask(part);
    if (!mask_.empty()) mask = b.CreateAnd(mask, b.CreateFreeze(mask_[p]));  // lanes that are not there may be poison
    Value* none = llvm::Constant::getNullValue(vector);
    Value* raw = from.empty() ? b.CreateMaskedLoad(vector, uniform_pointer(buffer, at, part.begin), align, mask, none)
                              : b.CreateMaskedGather(vector, from[p], align, mask, none);
    result.parts.push_back(from_memory(dtype, raw));
  }
  return result;
}

// Into the nearest cache. The address may lie outside of the buffer: the pointers promise nothing (no inbounds).
void Emitter::prefetch(const loop::Prefetch& fetch, std::vector<llvm::Instruction*>& issued) {
  Address at;
  add_linear(fetch.at, 1, at);
  std::ranges::stable_sort(at.terms, {}, &Address::Term::order);
  Value* first = uniform_pointer(fetch.buffer, at, 0);
  for (i64 line = 0; line < fetch.lines; line++) {
    Value* pointer = b.CreateConstGEP1_64(b.getInt8Ty(), first, static_cast<u64>(line * loop::kLineBytes));
    issued.push_back(b.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                                       {pointer, b.getInt32(0), b.getInt32(3), b.getInt32(1)}));
  }
}

void Emitter::store_varying(int buffer, const Address& at, const Val& value) {
  const DType dtype = func_.buffer(buffer).dtype;
  const i64 size = size_of(dtype);
  if (at.lane == 1 && at.scattered.empty()) {
    for (size_t p = 0; p < lanes_->parts.size(); p++) {
      const Part& part = lanes_->parts[p];
      store_packed(to_memory(dtype, value.parts[p]), uniform_pointer(buffer, at, part.begin), size, part, at.own_row);
    }
    return;
  }
  const Parts to = pointers(buffer, at);
  for (size_t p = 0; p < lanes_->parts.size(); p++) {
    b.CreateMaskedScatter(to_memory(dtype, value.parts[p]), to[p], llvm::Align(static_cast<u64>(size)),
                          active_mask(lanes_->parts[p]));
  }
}

}  // namespace mcc::codegen
