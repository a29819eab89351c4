// Random programs with random loop marks: machine code and C source must give what the interpreter gives, for every
// dtype. Values are small integers, so that floats are exact in any order.
#include <gtest/gtest.h>

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "unit/codegen_run.h"

namespace mcc {
namespace {

using loop::Expr;
using loop::ExprOp;
using loop::Func;
using loop::Loop;
using loop::LoopKind;
using loop::Scope;
using loop::Store;
using loop::StoreOp;

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,  DType::i16,    DType::i32,
                             DType::i64, DType::u8,  DType::u16, DType::u32,  DType::u64, DType::boolean};

class Generator {
 public:
  explicit Generator(Rng rng) : rng_(rng), dtype_(kDTypes[rng_.below(std::size(kDTypes))]) {}

  // A few nests over inputs, temporaries and the output, in order.
  Func make() {
    func_.name = "random";
    for (int i = 0; i < 2; i++) add_buffer(fmt::format("x{}", i), dtype_, random_shape(), Scope::input);
    add_buffer("ids", DType::i32, {7}, Scope::input);
    add_buffer("other", kDTypes[rng_.below(std::size(kDTypes))], random_shape(), Scope::input);
    add_buffer("y", dtype_, random_shape(), Scope::output);
    if (rng_.below(2) == 0) {
      const int t = add_buffer("t", dtype_, random_shape(), rng_.below(2) == 0 ? Scope::temp : Scope::local);
      nest(t);
      readable_ = {0, 1, t};
    }
    rng_.below(3) == 0 ? reduction(4) : nest(4);
    return std::move(func_);
  }
  DType dtype() const { return dtype_; }

 private:
  Shape random_shape() {
    Shape shape;
    for (i64 d = rng_.below(3); d >= 0; d--) shape.push_back(1 + rng_.below(d == 0 ? 37 : 6));
    return shape;
  }
  int add_buffer(const std::string& name, DType dtype, const Shape& shape, Scope scope) {
    func_.buffers.push_back({name, dtype, shape, scope, {}});
    return static_cast<int>(func_.buffers.size()) - 1;
  }
  const loop::Buffer& buffer(int b) const { return func_.buffers[static_cast<size_t>(b)]; }

  int open_loop(i64 extent) {
    func_.vars.push_back(fmt::format("i{}", func_.vars.size()));
    const int var = static_cast<int>(func_.vars.size()) - 1;
    open_.push_back(var);
    extents_.push_back(extent);
    return var;
  }
  std::optional<loop::Range> range(int var) const { return loop::Range{0, extents_[static_cast<size_t>(var)] - 1}; }

  LoopKind random_kind(bool outermost, bool& vector) {
    const i64 pick = rng_.below(6);
    if (pick < 2 && !vector) {
      vector = true;
      return LoopKind::vectorize;
    }
    if (pick == 2) return LoopKind::unroll;
    return pick == 3 && outermost ? LoopKind::parallel : LoopKind::serial;
  }

  // Lines of some parameter, often beyond its end: they must not matter.
  std::vector<loop::Prefetch> some_ahead(LoopKind kind, int var) {
    if (kind != LoopKind::serial || rng_.below(3) != 0) return {};
    const std::vector<int> params = loop::params(func_);
    const int buffer = params[static_cast<size_t>(rng_.below(static_cast<i64>(params.size())))];
    return {{buffer, loop::var(var) * (rng_.below(40) - 20) + (rng_.below(1 << 20) - (1 << 19)), 1 + rng_.below(4)}};
  }

  loop::Stmt wrap(std::vector<loop::Stmt> body, const std::vector<int>& vars, bool may_run_parallel, bool vector) {
    for (size_t v = vars.size(); v-- > 0;) {
      const LoopKind kind = random_kind(may_run_parallel && v < 2, vector);
      body = {
          {Loop{vars[v], extents_[static_cast<size_t>(vars[v])], kind, std::move(body), some_ahead(kind, vars[v])}}};
    }
    return std::move(body[0]);
  }

  // y[vars] = expression, possibly in a permuted loop order or from the end.
  void nest(int to) {
    open_.clear();
    std::vector<int> vars;
    std::vector<Expr> index;
    for (const i64 extent : buffer(to).shape) {
      vars.push_back(open_loop(extent));
      const Expr v = loop::var(vars.back());
      index.push_back(rng_.below(5) == 0 ? loop::const_int(extent - 1) - v : v);
    }
    Store store{to, index, expression(3, buffer(to).dtype), StoreOp::assign, "nest"};
    if (rng_.below(2) == 0) rng_.shuffle(vars);
    func_.body.push_back(wrap({{store}}, vars, true, false));
    if (rng_.below(3) == 0) accumulate_again(to);
  }

  // Loops over all elements of a buffer, and the index they run through.
  std::pair<std::vector<int>, std::vector<Expr>> open_all(int to) {
    open_.clear();
    std::vector<int> vars;
    std::vector<Expr> index;
    for (const i64 extent : buffer(to).shape) {
      vars.push_back(open_loop(extent));
      index.push_back(loop::var(vars.back()));
    }
    return {vars, index};
  }

  void accumulate_again(int to) {
    auto [vars, index] = open_all(to);
    const StoreOp op = dtype_ == DType::boolean ? StoreOp::logical_or
                       : rng_.below(2) == 0     ? StoreOp::add
                                                : StoreOp::max;
    func_.body.push_back(wrap({{Store{to, index, expression(1, buffer(to).dtype), op, "again"}}}, vars, true, false));
  }

  // Outer loops around { acc init; loops { acc op= value }; y = acc }, with acc in any private scope.
  void reduction(int to) {
    auto [vars, index] = open_all(to);
    const bool inner_axis = rng_.below(2) == 0;  // acc spans the innermost axis
    std::vector<Expr> at = {loop::const_int(0)};
    std::vector<int> around = vars, inside;
    if (inner_axis) {
      at = {index.back()};
      inside = {vars.back()};
      around.pop_back();
    }
    const Shape shape = {inner_axis ? buffer(to).shape.back() : 1};
    const Scope scope = rng_.below(2) == 0 ? Scope::local : Scope::reg;
    const int acc = add_buffer("acc", dtype_, shape, scope);
    const StoreOp op = dtype_ == DType::boolean ? StoreOp::logical_and
                       : rng_.below(3) == 0     ? StoreOp::min
                                                : StoreOp::add;
    bool vector = false;
    const auto unrolled_if_reg = [&](std::vector<loop::Stmt> body, std::vector<int> over) {
      for (size_t v = over.size(); v-- > 0;) {
        const bool vectorize = !vector && rng_.below(2) == 0;
        body = {{Loop{over[v], extents_[static_cast<size_t>(over[v])],
                      vectorize ? LoopKind::vectorize : LoopKind::unroll, body}}};
      }
      return body;
    };
    const bool outer_vector = !around.empty() && rng_.below(4) == 0;
    vector = outer_vector;
    std::vector<loop::Stmt> body =
        unrolled_if_reg({{Store{acc, at, loop::identity(op, dtype_), StoreOp::assign, "sum.init"}}}, inside);
    const std::vector<int> before = open_;
    const int k = open_loop(1 + rng_.below(20));
    std::vector<loop::Stmt> sum = unrolled_if_reg({{Store{acc, at, expression(1, dtype_), op, "sum"}}}, inside);
    const bool reduce_lanes = inside.empty() && !vector && rng_.below(2) == 0;
    const LoopKind kind = reduce_lanes ? LoopKind::vectorize : LoopKind::serial;
    body.push_back({Loop{k, extents_[static_cast<size_t>(k)], kind, sum, some_ahead(kind, k)}});
    if (reduce_lanes && rng_.below(2) == 0) {  // a vector inside a serial reduction
      std::vector<loop::Stmt> lanes = {body.back()};
      const int outer = open_loop(1 + rng_.below(4));
      body.back() = {Loop{outer, extents_[static_cast<size_t>(outer)], LoopKind::serial, std::move(lanes)}};
    }
    open_ = before;
    const Expr total = loop::load(buffer(acc), acc, at);
    for (loop::Stmt& s : unrolled_if_reg({{Store{to, index, total, StoreOp::assign, "out"}}}, inside))
      body.push_back(std::move(s));
    for (size_t v = around.size(); v-- > 0;) {
      const bool innermost = v + 1 == around.size();
      const LoopKind kind = innermost && outer_vector      ? LoopKind::vectorize
                            : v == 0 && rng_.below(2) == 0 ? LoopKind::parallel
                                                           : LoopKind::serial;
      body = {{Loop{around[v], extents_[static_cast<size_t>(around[v])], kind, std::move(body)}}};
    }
    for (loop::Stmt& s : body) func_.body.push_back(std::move(s));
  }

  // Some integer function of the open variables.
  Expr raw_index() {
    Expr e = loop::const_int(rng_.below(4));
    for (const int var : open_) {
      const Expr v = loop::var(var);
      switch (rng_.below(6)) {
        case 0: e = e + v; break;
        case 1: e = e + v * 2; break;
        case 2: e = e - v; break;
        case 3: e = e + loop::floordiv(v, 2); break;
        default: break;
      }
    }
    if (!open_.empty() && rng_.below(2) == 0) e = loop::var(open_.back());
    if (rng_.below(8) == 0) {
      e = loop::cast(DType::i64, loop::load(buffer(2), 2, {loop::floormod(e, 7)}));
    }
    return e;
  }

  Expr load(int from) {
    std::vector<Expr> index;
    std::optional<Expr> guard;
    for (const i64 extent : buffer(from).shape) {
      Expr e = raw_index();
      const std::optional<loop::Range> r = loop::bounds(e, [&](int var) { return range(var); });
      if (!r || r->min < 0 || r->max >= extent) {
        if (r && rng_.below(2) == 0) {
          const Expr inside = loop::binary(ExprOp::logical_and, loop::binary(ExprOp::le, loop::const_int(0), e),
                                           e < loop::const_int(extent));
          guard = guard ? *guard && inside : inside;
        } else {
          e = loop::floormod(e, extent);
        }
      }
      index.push_back(e);
    }
    const Expr value = loop::load(buffer(from), from, index);
    return guard ? loop::select(*guard, value, small_constant(value.dtype)) : value;
  }

  Expr small_constant(DType dtype) {
    return loop::constant(
        dtype, dtype == DType::boolean ? static_cast<double>(rng_.below(2)) : static_cast<double>(rng_.below(4)));
  }

  Expr condition(int depth, DType dtype) {
    if (dtype == DType::boolean) return expression(depth, dtype);
    constexpr ExprOp ops[] = {ExprOp::lt, ExprOp::le, ExprOp::eq, ExprOp::ne};
    return loop::binary(ops[rng_.below(4)], expression(depth, dtype), expression(depth, dtype));
  }

  Expr expression(int depth, DType dtype) {
    if (depth == 0 || rng_.below(6) == 0) {
      if (rng_.below(8) == 0) return small_constant(dtype);
      if (rng_.below(8) == 0 && !open_.empty()) return loop::cast(dtype, loop::var(rng_.pick(open_)));
      return dtype == dtype_ ? load(rng_.pick(readable_)) : loop::cast(dtype, load(rng_.pick(readable_)));
    }
    const auto sub = [&] { return expression(depth - 1, dtype); };
    const i64 pick = rng_.below(10);
    if (pick == 0) return loop::select(condition(depth - 1, dtype), sub(), sub());
    if (pick == 1) return loop::cast(dtype, load(3));
    if (dtype == DType::boolean) {
      if (pick == 2) return loop::unary(ExprOp::logical_not, sub());
      if (pick == 3) return condition(depth - 1, DType::i32);
      return loop::binary(pick < 7 ? ExprOp::logical_and : ExprOp::logical_or, sub(), sub());
    }
    constexpr ExprOp common[] = {ExprOp::add, ExprOp::sub, ExprOp::mul, ExprOp::min, ExprOp::max};
    if (pick < 6) return loop::binary(common[rng_.below(5)], sub(), sub());
    if (is_float(dtype)) {
      constexpr ExprOp functions[] = {ExprOp::neg,        ExprOp::abs,   ExprOp::floor, ExprOp::ceil,
                                      ExprOp::round_even, ExprOp::trunc, ExprOp::sign};
      return loop::unary(functions[rng_.below(7)], sub());
    }
    if (pick == 6) return loop::unary(rng_.below(2) == 0 ? ExprOp::abs : ExprOp::bit_not, sub());
    constexpr ExprOp integer[] = {ExprOp::div,    ExprOp::mod,     ExprOp::floordiv, ExprOp::floormod, ExprOp::bit_and,
                                  ExprOp::bit_or, ExprOp::bit_xor, ExprOp::shl,      ExprOp::shr,      ExprOp::pow};
    return loop::binary(integer[rng_.below(10)], sub(), sub());
  }

  Rng rng_;
  DType dtype_;
  Func func_;
  std::vector<int> open_;
  std::vector<i64> extents_;  // by variable
  std::vector<int> readable_ = {0, 1};
};

// Sums of 16-bit floats round differently in another order.
double tolerance(DType dtype) { return dtype == DType::f16 ? 4e-3 : dtype == DType::bf16 ? 3e-2 : 0; }

void expect_equal(const Func& func, const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                  const std::string& how) {
  for (size_t p = 0; p < want.size(); p++) {
    const DType dtype = want[p].type.dtype;
    if (is_float(dtype)) {
      const Comparison c = compare(got[p], want[p]);
      ASSERT_EQ(c.mismatched_special, 0) << how << "\n" << loop::print(func);
      ASSERT_LE(c.relative(), tolerance(dtype)) << how << "\n" << loop::print(func);
      continue;
    }
    for (i64 i = 0; i < want[p].size(); i++) {
      ASSERT_EQ(got[p].get_int(i), want[p].get_int(i)) << how << ", element " << i << " of parameter " << p << "\n"
                                                       << loop::print(func);
    }
  }
}

std::vector<Target> machines() {
  std::vector<Target> result = {host()};
  for (const i64 bytes : {16, 32}) {
    Target narrow = host();
    narrow.vector_bytes = std::min(narrow.vector_bytes, bytes);
    narrow.masked_memory = false;
    result.push_back(narrow);
  }
  return result;
}

class CodegenRandom : public testing::TestWithParam<int> {};

TEST_P(CodegenRandom, EqualsTheInterpreter) {
  constexpr int kBatch = 24;
  const Rng seed(static_cast<u64>(GetParam()) + 1);
  std::vector<Func> funcs;
  for (int i = 0; i < kBatch; i++) {
    funcs.push_back(Generator(seed.fork(static_cast<u64>(i))).make());
    ASSERT_EQ(loop::verify(funcs.back()), "") << loop::print(funcs.back());
  }
  std::vector<KernelSource> kernels;
  for (int i = 0; i < kBatch; i++) kernels.push_back({&funcs[static_cast<size_t>(i)], fmt::format("k{}", i)});
  const std::vector<Target> targets = machines();
  const Target& target = targets[static_cast<size_t>(GetParam()) % targets.size()];
  compile_llvm_ir(kernels, target);
  CodegenOptions options;
  options.opt_level = GetParam() % 4 == 3 ? 1 : 2;
  const test::Library machine_code(kernels, target, options), c_code(print_c(kernels));
  Rng rng = seed.fork(1000);
  int interesting = 0;  // programs whose output is not one number everywhere
  for (int i = 0; i < kBatch; i++) {
    const Func& func = funcs[static_cast<size_t>(i)];
    std::vector<Tensor> want = test::random_params(func, rng);
    for (i64 e = 0; e < 7; e++) want[2].set_int(e, (e * 5) % 7);
    std::vector<Tensor> got = test::clone(want), from_c = test::clone(want);
    const std::vector<Tensor*> want_pointers = test::pointers(want);
    loop::interpret(func, want_pointers);
    for (i64 e = 1; e < want[4].size(); e++) {
      if (want[4].get(e) != want[4].get(0)) {
        interesting++;
        break;
      }
    }
    machine_code.run(kernels[static_cast<size_t>(i)].symbol, func, test::pointers(got));
    expect_equal(func, got, want,
                 fmt::format("machine code of kernel {}, vectors of {} bytes", i, target.vector_bytes));
    c_code.run(kernels[static_cast<size_t>(i)].symbol, func, test::pointers(from_c));
    expect_equal(func, from_c, want, fmt::format("C source of kernel {}", i));
  }
  EXPECT_GE(interesting, kBatch / 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CodegenRandom, testing::Range(0, 8));

}  // namespace
}  // namespace mcc
