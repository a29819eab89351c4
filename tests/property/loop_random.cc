// Makers of random expressions and programs (loop_random.h).
#include "property/loop_random.h"

#include <limits>

#include "loop/build.h"

namespace mcc::loop::testing {

std::span<const DType> all_types() {
  static constexpr DType types[] = {DType::f32, DType::f64, DType::f16,    DType::bf16, DType::i8,
                                    DType::i16, DType::i32, DType::i64,    DType::u8,   DType::u16,
                                    DType::u32, DType::u64, DType::boolean};
  return types;
}

std::vector<DType> expr_types() {
  std::vector<DType> types;
  for (const DType t : all_types()) {
    const int times = t == DType::i64 ? 9 : t == DType::boolean ? 6 : 1;
    for (int i = 0; i < times; i++) types.push_back(t);
  }
  return types;
}

std::vector<DType> int_types() {
  std::vector<DType> types;
  for (const DType t : all_types()) {
    if (is_int(t)) types.push_back(t);
  }
  return types;
}

std::vector<DType> value_types() { return {all_types().begin(), all_types().end() - 1}; }

void Env::choose_vars(Rng& rng) {
  for (size_t v = 0; v < vars.size(); v++) {
    const i64 width = ranges[v].max - ranges[v].min;
    const i64 at = rng.below(4);
    vars[v] = at == 0 ? ranges[v].min : at == 1 ? ranges[v].max : ranges[v].min + rng.below(width + 1);
  }
}

Env random_env(Rng& rng) {
  Env env;
  for (Range& r : env.ranges) {
    r.min = rng.below(3) == 0 ? rng.below(21) - 10 : 0;
    r.max = r.min + rng.below(rng.below(3) == 0 ? 2 : 30);
  }
  env.choose_vars(rng);
  for (const DType dtype : all_types()) {
    std::array<Scalar, 8> values;
    for (Scalar& value : values) {
      const bool wild = rng.below(4) == 0;
      if (is_float(dtype)) {
        static constexpr double special[] = {0.0, -0.0, std::numeric_limits<double>::infinity(),
                                             std::numeric_limits<double>::quiet_NaN()};
        value.f = wild ? special[rng.below(4)] : round_to(dtype, static_cast<double>(rng.below(33) - 16) / 4);
      } else {
        value.i = wrap(dtype, wild ? static_cast<i64>(rng.next()) : rng.below(21) - 10);
      }
    }
    env.memory.push_back(values);
  }
  return env;
}

Func sample_func() {
  Func func;
  func.vars = {"i", "j", "k", "l"};
  for (const DType dtype : all_types()) {
    func.buffers.push_back(Buffer{fmt::format("m_{}", mcc::name(dtype)), dtype, {8}, Scope::input, {}});
  }
  return func;
}

Expr ExprMaker::node(ExprOp op, DType dtype, std::vector<Expr> args) { return Expr{op, dtype, 0, 0, std::move(args)}; }

Expr ExprMaker::leaf(DType dtype) {
  if (dtype == DType::i64 && rng.below(3) != 0) return var(static_cast<int>(rng.below(4)));
  if (rng.below(2) == 0) {
    if (rng.below(16) == 0 && is_int(dtype)) return const_int(static_cast<i64>(rng.next()), dtype);
    return dtype == DType::boolean ? const_int(rng.below(2), dtype)
                                   : constant(dtype, static_cast<double>(rng.below(19) - 6));
  }
  size_t buffer = 0;
  while (all_types()[buffer] != dtype) buffer++;
  Expr load{ExprOp::load, dtype, static_cast<i64>(buffer), 0, {}};
  Expr index = rng.below(2) == 0 ? const_int(rng.below(8)) : floormod(make(DType::i64, 1), 8);
  load.args.push_back(std::move(index));
  return load;
}

Expr ExprMaker::make(DType dtype, int depth) {
  if (depth == 0 || rng.below(8) == 0) return leaf(dtype);
  if (rng.below(10) == 0)
    return node(ExprOp::select, dtype, {boolean(depth - 1), make(dtype, depth - 1), make(dtype, depth - 1)});
  if (rng.below(10) == 0) return node(ExprOp::cast, dtype, {make(rng.pick(expr_types()), depth - 1)});
  return dtype == DType::boolean ? boolean(depth) : number(dtype, depth);
}

Expr ExprMaker::boolean(int depth) {
  if (depth == 0) return leaf(DType::boolean);
  static constexpr ExprOp compare[] = {ExprOp::lt, ExprOp::le, ExprOp::eq, ExprOp::ne};
  if (rng.below(3) != 0) {
    const DType dtype = rng.below(2) == 0 ? DType::i64 : rng.pick(value_types());
    return node(compare[rng.below(4)], DType::boolean, {make(dtype, depth - 1), make(dtype, depth - 1)});
  }
  if (rng.below(4) == 0) return node(ExprOp::logical_not, DType::boolean, {boolean(depth - 1)});
  const ExprOp op = rng.below(2) == 0 ? ExprOp::logical_and : ExprOp::logical_or;
  return node(op, DType::boolean, {boolean(depth - 1), boolean(depth - 1)});
}

Expr ExprMaker::number(DType dtype, int depth) {
  static constexpr ExprOp both[] = {ExprOp::add, ExprOp::add, ExprOp::sub, ExprOp::mul,
                                    ExprOp::min, ExprOp::max, ExprOp::div, ExprOp::mod};
  static constexpr ExprOp ints[] = {ExprOp::floordiv, ExprOp::floormod, ExprOp::floordiv,
                                    ExprOp::floormod, ExprOp::bit_and,  ExprOp::bit_or,
                                    ExprOp::bit_xor,  ExprOp::shl,      ExprOp::shr};
  static constexpr ExprOp one[] = {ExprOp::neg, ExprOp::abs, ExprOp::sign, ExprOp::floor, ExprOp::trunc};
  if (rng.below(6) == 0) return node(one[rng.below(5)], dtype, {make(dtype, depth - 1)});
  const bool int_only = is_int(dtype) && rng.below(3) == 0;
  const ExprOp op = int_only ? ints[rng.below(9)] : both[rng.below(8)];
  // divisions by constants and products with constants are what index arithmetic is made of
  const bool by_constant = is_int(dtype) && op != ExprOp::add && op != ExprOp::sub && rng.below(4) != 0;
  return node(op, dtype,
              {make(dtype, depth - 1), by_constant ? const_int(rng.below(9) - 1, dtype) : make(dtype, depth - 1)});
}

Scalar evaluate_tree(const Expr& e, const Env& env) {
  if (e.op == ExprOp::constant) return {e.i, e.f};
  if (e.op == ExprOp::var) return {env.vars[static_cast<size_t>(e.i)], 0};
  if (e.op == ExprOp::load)
    return env.memory[static_cast<size_t>(e.i)].at(static_cast<size_t>(evaluate_tree(e.args[0], env).i));
  const Scalar first = evaluate_tree(e.args[0], env);
  if (e.op == ExprOp::select) return evaluate_tree(e.args[first.i != 0 ? 1 : 2], env);
  if (e.op == ExprOp::cast) return convert(e.args[0].dtype, e.dtype, first);
  if (e.args.size() == 1) return evaluate(e.op, e.args[0].dtype, first);
  return evaluate(e.op, e.args[0].dtype, first, evaluate_tree(e.args[1], env));
}

Expr instantiate_plainly(const Expr& pattern, std::span<const Expr* const> bindings, DType dtype) {
  if (pattern.op == ExprOp::var) return *bindings[static_cast<size_t>(pattern.i)];
  if (pattern.op == ExprOp::constant) return pattern.dtype == DType::boolean ? pattern : const_int(pattern.i, dtype);
  Expr filled = pattern;
  for (Expr& arg : filled.args) arg = instantiate_plainly(arg, bindings, dtype);
  const DType operand = filled.args.back().dtype;
  filled.dtype = filled.op == ExprOp::select ? operand : result_type(filled.op, operand);
  return filled;
}

// --- programs --------------------------------------------------------------------------------------------------------

namespace {

class FuncMaker {
 public:
  explicit FuncMaker(Rng& rng) : rng_(rng), b_("random") {}
  Func make();

 private:
  i64 extent() { return rng_.below(12) == 0 ? 0 : rng_.below(3) == 0 ? 1 : 2 + rng_.below(3); }
  Shape shape(i64 rank);
  int source(const Shape& shape);
  int result(const Shape& shape, bool last);
  void elementwise(bool last);
  void reduction(bool last);
  void pad(bool last);
  Expr read(const Vars& vars, const Shape& extents);

  Rng& rng_;
  FuncBuilder b_;
  std::vector<std::pair<int, Shape>> buffers_;  // what may be read
  int names_ = 0;
};

Shape FuncMaker::shape(i64 rank) {
  Shape dims;
  for (i64 d = 0; d < rank; d++) dims.push_back(extent());
  return dims;
}

// A buffer of this shape, with some dimensions replaced by 1: an old one when there is one.
int FuncMaker::source(const Shape& shape) {
  for (const auto& [id, have] : buffers_) {
    if (have == shape && rng_.below(2) == 0) return id;
  }
  const int id = b_.input(fmt::format("x{}", names_++), DType::f32, shape);
  buffers_.emplace_back(id, shape);
  return id;
}

int FuncMaker::result(const Shape& shape, bool last) {
  const std::string name = fmt::format("t{}", names_++);
  return last ? b_.output(name, DType::f32, shape) : b_.temp(name, DType::f32, shape);
}

// Reads a buffer that is broadcast to the extents, or one of whose dimensions are in another order.
Expr FuncMaker::read(const Vars& vars, const Shape& extents) {
  Shape from = extents;
  Vars index = vars;
  if (rng_.below(3) == 0) {
    for (size_t d = 0; d < from.size(); d++) {
      if (rng_.below(3) != 0) continue;
      from[d] = 1;
      index[d] = const_int(0);
    }
  }
  if (rng_.below(4) == 0 && from.size() >= 2) {
    const size_t at = static_cast<size_t>(rng_.below(static_cast<i64>(from.size()) - 1));
    std::swap(from[at], from[at + 1]);
    std::swap(index[at], index[at + 1]);
  }
  return b_.load(source(from), index);
}

void FuncMaker::elementwise(bool last) {
  const Shape extents = shape(rng_.below(5));
  const int y = result(extents, last);
  b_.block(fmt::format("b{}", names_++), extents, y, [&](const Vars& v) {
    Expr value = read(v, extents);
    if (rng_.below(2) == 0) value = std::move(value) + read(v, extents);
    return rng_.below(2) == 0 ? max(std::move(value), const_float(0)) : value;
  });
  if (!last) buffers_.emplace_back(y, extents);
}

void FuncMaker::reduction(bool last) {
  const Shape spatial = shape(rng_.below(4)), reduced = shape(1 + rng_.below(3));
  Shape all = spatial;
  all.insert(all.end(), reduced.begin(), reduced.end());
  const int y = result(spatial, last);
  std::vector<std::string> names;
  for (size_t i = 0; i < all.size(); i++) names.push_back(fmt::format("{}{}", i < spatial.size() ? "s" : "r", i));
  b_.axes(names).reduce(fmt::format("b{}", names_++), spatial, reduced, y, StoreOp::add, const_float(0),
                        [&](const Vars& s, const Vars& r) {
                          Vars v = s;
                          v.insert(v.end(), r.begin(), r.end());
                          Expr value = read(v, all);
                          // products of sums of products would be too large to be exact
                          return buffers_.size() < 2 ? std::move(value) * read(v, all) : value;
                        });
  if (!last) buffers_.emplace_back(y, spatial);
}

void FuncMaker::pad(bool last) {
  const Shape inner = {1 + rng_.below(3), 1 + rng_.below(4), 1 + rng_.below(3)};
  const Shape outer = {inner[0], inner[1] + 2, inner[2]};
  const int x = source(inner), y = result(outer, last);
  b_.block(fmt::format("b{}", names_++), outer, y, [&](const Vars& v) {
    const Expr inside = const_int(0) < v[1] && v[1] < const_int(inner[1] + 1);
    return select(inside, b_.load(x, {v[0], v[1] - 1, v[2]}), const_float(0));
  });
  if (!last) buffers_.emplace_back(y, outer);
}

Func FuncMaker::make() {
  const i64 blocks = 1 + rng_.below(4);
  for (i64 i = 0; i < blocks; i++) {
    const bool last = i + 1 == blocks;
    const i64 kind = rng_.below(5);
    if (kind < 2)
      elementwise(last);
    else if (kind < 4)
      reduction(last);
    else
      pad(last);
  }
  return b_.take();
}

}  // namespace

Func random_func(Rng& rng) { return FuncMaker(rng).make(); }

std::vector<Tensor> random_params(const Func& func, Rng& rng) {
  std::vector<Tensor> tensors;
  for (const int id : params(func)) {
    const Buffer& buffer = func.buffers[static_cast<size_t>(id)];
    Tensor& tensor = tensors.emplace_back(TensorType{buffer.dtype, buffer.shape});
    if (buffer.scope == Scope::output) continue;
    for (i64 i = 0; i < tensor.size(); i++) tensor.set(i, static_cast<double>(rng.below(7) - 3));
  }
  return tensors;
}

}  // namespace mcc::loop::testing
