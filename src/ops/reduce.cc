// Reductions over axes (attributes axes, non-negative and explicit; keepdims).
//
// A row of the table says what is accumulated: a term of the element, how terms are joined, and what is done with the
// total.
//   ReduceL2 = sqrt(sum of x * x)
// Sums are kept in f32 for f16 and bf16, and in f64 for integers where the result is a root or a logarithm; a mean of
// integers is the truncated quotient of their i64 sum. ReduceLogSumExp subtracts the maximum first, so that it never
// overflows. ArgMax, ArgMin and CumSum are in reduce_arg.cc.
#include "ops/reduce.h"
#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mcc::ops {

std::vector<bool> reduced_axes(const Node& node, i64 rank) {
  std::vector<bool> reduced(at(rank), false);
  for (i64 axis : node.attrs.get_ints("axes")) reduced[at(normalize_axis(axis, rank))] = true;
  return reduced;
}

Shape reduced_shape(const Shape& in, const std::vector<bool>& reduced, bool keep) {
  Shape out;
  for (size_t d = 0; d < in.size(); d++) {
    if (!reduced[d])
      out.push_back(in[d]);
    else if (keep)
      out.push_back(1);
  }
  return out;
}

Shape reduction_extents(const Shape& in, const std::vector<bool>& reduced) {
  Shape extents;
  for (size_t d = 0; d < in.size(); d++)
    if (reduced[d]) extents.push_back(in[d]);
  return extents;
}

Vars reduce_source(const std::vector<bool>& reduced, bool keep, const Vars& s, const Vars& r) {
  Vars index;
  size_t spatial = 0, reduction = 0;
  for (bool gone : reduced) {
    index.push_back(gone ? r[reduction++] : s[spatial]);
    if (!gone || keep) spatial++;
  }
  return index;
}

namespace {

using namespace loop;

enum class Accumulate : u8 { as_is, wide, real };  // in compute_type; integers in i64; integers in f64

struct Reduction {
  std::string_view name;
  StoreOp op;
  Accumulate in;
  Expr (*term)(Expr x);
  Expr (*finish)(Expr total, i64 count);  // null: the total is the result
  double (*join)(double total, double x);
  double (*finish_double)(double total, double count);
};

Expr same(Expr x) { return x; }
Expr absolute(Expr x) { return is_unsigned(x.dtype) ? x : unary(ExprOp::abs, std::move(x)); }
Expr square(Expr x) { return x * x; }
Expr root(Expr total, i64) { return unary(ExprOp::sqrt, std::move(total)); }
Expr logarithm(Expr total, i64) { return unary(ExprOp::log, std::move(total)); }
Expr quotient(Expr total, i64 count) {
  Expr divisor = constant(total.dtype, static_cast<double>(count));
  return std::move(total) / std::move(divisor);
}

double add(double total, double x) { return total + x; }
double multiply(double total, double x) { return total * x; }
double larger(double total, double x) { return std::isnan(total) || total > x ? total : x; }
double smaller(double total, double x) { return std::isnan(total) || total < x ? total : x; }
double add_absolute(double total, double x) { return total + std::fabs(x); }
double add_square(double total, double x) { return total + x * x; }
double total_itself(double total, double) { return total; }
double divide(double total, double count) { return total / count; }
double root_of(double total, double) { return std::sqrt(total); }
double log_of(double total, double) { return std::log(total); }

constexpr Reduction kReductions[] = {
    {"ReduceL1", StoreOp::add, Accumulate::as_is, absolute, nullptr, add_absolute, total_itself},
    {"ReduceL2", StoreOp::add, Accumulate::real, square, root, add_square, root_of},
    {"ReduceLogSum", StoreOp::add, Accumulate::real, same, logarithm, add, log_of},
    {"ReduceMax", StoreOp::max, Accumulate::as_is, same, nullptr, larger, total_itself},
    {"ReduceMean", StoreOp::add, Accumulate::wide, same, quotient, add, divide},
    {"ReduceMin", StoreOp::min, Accumulate::as_is, same, nullptr, smaller, total_itself},
    {"ReduceProd", StoreOp::mul, Accumulate::as_is, same, nullptr, multiply, total_itself},
    {"ReduceSum", StoreOp::add, Accumulate::as_is, same, nullptr, add, total_itself},
    {"ReduceSumSquare", StoreOp::add, Accumulate::as_is, square, nullptr, add_square, total_itself},
};

const Reduction& row_of(const Node& node) {
  for (const Reduction& row : kReductions)
    if (row.name == node.op) return row;
  fail("{} is not a reduction", node.op);
}

std::vector<TensorType> infer(const Node& node, Types in) {
  bool extreme = node.op == "ReduceMax" || node.op == "ReduceMin";
  if (in[0].dtype == DType::boolean && !extreme) fail("takes numbers, not bool");
  bool keep = node.attrs.get_int("keepdims", 1) != 0;
  return {{in[0].dtype, reduced_shape(in[0].shape, reduced_axes(node, rank(in[0])), keep)}};
}

// What lowerings of a reduction share: the loops and where they read.
struct Nest {
  std::vector<bool> reduced;
  bool keep;
  Shape spatial, reduction;

  Nest(const Node& node, const TensorType& in)
      : reduced(reduced_axes(node, rank(in))),
        keep(node.attrs.get_int("keepdims", 1) != 0),
        spatial(reduced_shape(in.shape, reduced, keep)),
        reduction(reduction_extents(in.shape, reduced)) {}

  i64 count() const { return elements(reduction); }
  Vars source(const Vars& s, const Vars& r) const { return reduce_source(reduced, keep, s, r); }
};

DType total_type(const Reduction& row, DType dtype) {
  if (row.in == Accumulate::real && is_int(dtype)) return DType::f64;
  if (row.in == Accumulate::wide && is_int(dtype)) return DType::i64;
  return compute_type(dtype);
}

// bool has no min and max of its own: all of them, or any.
StoreOp join_op(const Reduction& row, DType dtype) {
  if (dtype != DType::boolean) return row.op;
  return row.op == StoreOp::max ? StoreOp::logical_or : StoreOp::logical_and;
}

loop::Func lower(const Node& node, Types in, Types out) {
  const Reduction& row = row_of(node);
  std::string name = lower_case(node.op);
  Nest nest(node, in[0]);
  DType dtype = in[0].dtype, total = total_type(row, dtype);
  StoreOp op = join_op(row, dtype);
  bool finishes = row.finish || total != dtype;
  FuncBuilder b(name);
  int x = b.input("x", dtype, in[0].shape), y = b.output("y", dtype, out[0].shape);
  int sum = finishes ? b.temp("total", total, nest.spatial) : y;
  b.reduce(name, nest.spatial, nest.reduction, sum, op, identity(op, total),
           [&](const Vars& s, const Vars& r) { return row.term(loop::cast(total, b.load(x, nest.source(s, r)))); });
  if (finishes)
    b.block(name + ".end", nest.spatial, y, [&](const Vars& s) {
      Expr value = b.load(sum, s);
      return loop::cast(dtype, row.finish ? row.finish(value, nest.count()) : value);
    });
  return b.take();
}

double start_value(const Reduction& row) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (row.op == StoreOp::max) return -inf;
  if (row.op == StoreOp::min) return inf;
  return row.op == StoreOp::mul ? 1 : 0;
}

// Calls visit(output element, input element) for all input elements.
template <typename Visit>
void for_each_element(const Node& node, const TensorType& in, Visit visit) {
  Nest nest(node, in);
  Shape kept = reduced_shape(in.shape, nest.reduced, true);
  for_each_index(in.shape, [&](const Index& index, i64 flat) { visit(flat_broadcast(kept, index), flat); });
}

// Sums of integers wrap; everything else is exact enough in double.
void reduce_integers(const Node& node, const Tensor& in, Tensor& out) {
  bool product = node.op == "ReduceProd";
  for (i64 i = 0; product && i < out.size(); i++) out.set_int(i, 1);
  for_each_element(node, in.type, [&](i64 to, i64 from) {
    u64 x = static_cast<u64>(in.get_int(from)), total = static_cast<u64>(out.get_int(to));
    if (node.op == "ReduceL1" && in.get_int(from) < 0 && !is_unsigned(in.type.dtype)) x = -x;
    if (node.op == "ReduceSumSquare") x *= x;
    out.set_int(to, static_cast<i64>(product ? total * x : total + x));
  });
}

void reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Reduction& row = row_of(node);
  bool sums = row.in == Accumulate::as_is && (row.op == StoreOp::add || row.op == StoreOp::mul);
  if (is_int(in[0]->type.dtype) && sums) return reduce_integers(node, *in[0], out[0]);
  std::vector<double> totals(at(out[0].size()), start_value(row));
  for_each_element(node, in[0]->type,
                   [&](i64 to, i64 from) { totals[at(to)] = row.join(totals[at(to)], in[0]->get(from)); });
  double count = static_cast<double>(Nest(node, in[0]->type).count());
  for (i64 i = 0; i < out[0].size(); i++) set_saturated(out[0], i, row.finish_double(totals[at(i)], count));
}

// --- ReduceLogSumExp ------------------------------------------------------------------------------------------------

// What is subtracted before exp: the maximum, or 0 where it is infinite.
Expr shift_of(Expr largest) {
  Expr zero = constant(largest.dtype, 0);
  return select(unary(ExprOp::is_inf, largest), zero, largest);
}

Func lower_log_sum_exp(const Node& node, Types in, Types out) {
  Nest nest(node, in[0]);
  DType dtype = in[0].dtype, real = is_int(dtype) ? DType::f64 : compute_type(dtype);
  FuncBuilder b("reducelogsumexp");
  int x = b.input("x", dtype, in[0].shape), y = b.output("y", dtype, out[0].shape);
  int largest = b.temp("largest", real, nest.spatial), sum = b.temp("total", real, nest.spatial);
  auto element = [&](const Vars& s, const Vars& r) { return loop::cast(real, b.load(x, nest.source(s, r))); };
  b.reduce("max", nest.spatial, nest.reduction, largest, StoreOp::max, identity(StoreOp::max, real), element);
  b.reduce(
      "sum", nest.spatial, nest.reduction, sum, StoreOp::add, identity(StoreOp::add, real),
      [&](const Vars& s, const Vars& r) { return unary(ExprOp::exp, element(s, r) - shift_of(b.load(largest, s))); });
  b.block("log", nest.spatial, y, [&](const Vars& s) {
    return loop::cast(dtype, shift_of(b.load(largest, s)) + unary(ExprOp::log, b.load(sum, s)));
  });
  return b.take();
}

void log_sum_exp(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  std::vector<double> largest(at(out[0].size()), -std::numeric_limits<double>::infinity()), sums(largest.size(), 0);
  for_each_element(node, in[0]->type,
                   [&](i64 to, i64 from) { largest[at(to)] = larger(largest[at(to)], in[0]->get(from)); });
  for (double& value : largest) value = std::isinf(value) ? 0 : value;
  for_each_element(node, in[0]->type,
                   [&](i64 to, i64 from) { sums[at(to)] += std::exp(in[0]->get(from) - largest[at(to)]); });
  for (i64 i = 0; i < out[0].size(); i++) set_saturated(out[0], i, largest[at(i)] + std::log(sums[at(i)]));
}

}  // namespace

}  // namespace mcc::ops

namespace mcc {

std::span<const OpDef> reduce_ops() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> made(ops::arg_ops().begin(), ops::arg_ops().end());
    for (const ops::Reduction& row : ops::kReductions)
      made.push_back({row.name, FuseKind::anchor, 1, 1, ops::infer, ops::lower, ops::reference});
    made.push_back({"ReduceLogSumExp", FuseKind::anchor, 1, 1, ops::infer, ops::lower_log_sum_exp, ops::log_sum_exp});
    made.push_back(ops::count_ngrams_op());
    return made;
  }();
  return ops;
}

}  // namespace mcc
