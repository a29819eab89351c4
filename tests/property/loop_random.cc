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

}  // namespace mcc::loop::testing
