// Operators whose number of results depends on data: NonZero, Unique, and NonMaxSuppression (nms.cc). A graph has
// static shapes, so each gives as many results as there can be and, as its last output, how many are real; the frontend
// keeps track of that number (frontend/counted.cc).
//
//   NonZero(x)                  indices i64[rank, n], number i64[]; n is the number of elements
//   Unique(rows[n, m]) sorted   first, inverse, counts i64[n], number i64[]: of the different rows, where each occurs
//                               first and how often, and of each row, which of the different ones it is
//
// Beyond the number all results are zero. Nothing sorts: a running sum tells each non-zero element its place, and of
// each row the number of different rows before it is its place. NaN equals NaN here, and comes after all numbers.
#include "ops/select.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mcc::ops {

namespace {

using namespace loop;

// --- NonZero ---------------------------------------------------------------------------------------------------------

std::vector<TensorType> infer_non_zero(const Node&, Types in) {
  return {{DType::i64, {rank(in[0]), elements(in[0].shape)}}, {DType::i64, {}}};
}

Expr not_zero(const Expr& x) { return x.dtype == DType::boolean ? x : binary(ExprOp::ne, x, constant(x.dtype, 0)); }

// The index along dimension d of the element with this row-major number.
Expr coordinate(const Shape& shape, size_t d, const Expr& flat) {
  return floormod(floordiv(flat, row_major_strides(shape)[d]), shape[d]);
}

Vars coordinates(const Shape& shape, const Expr& flat) {
  Vars index;
  for (size_t d = 0; d < shape.size(); d++) index.push_back(coordinate(shape, d, flat));
  return index;
}

Func lower_non_zero(const Node&, Types in, Types) {
  const Shape& shape = in[0].shape;
  const i64 n = elements(shape);
  FuncBuilder b("nonzero");
  const int x = b.input("x", in[0].dtype, shape);
  const int indices = b.output("indices", DType::i64, {rank(in[0]), n}), number = b.output("number", DType::i64, {});
  if (n == 0) {
    b.block("number", {}, number, [](const Vars&) { return const_int(0); });
    return b.take();
  }
  const int upto = b.temp("upto", DType::i64, {n});        // non-zero elements up to this one
  const int order = b.temp("order", DType::i64, {n + 1});  // their numbers in order; the last slot takes all others
  const auto hit = [&](const Expr& i) { return not_zero(b.load(x, coordinates(shape, i))); };
  b.block("upto", {n}, upto, [&](const Vars& v) {
    return select(v[0] < const_int(1), const_int(0), b.load(upto, {v[0] - 1})) +
           select(hit(v[0]), const_int(1), const_int(0));
  });
  b.block_at(
      "order", {n}, order,
      [&](const Vars& v) { return Vars{select(hit(v[0]), b.load(upto, {v[0]}) - 1, const_int(n))}; },
      [&](const Vars& v) { return v[0]; });
  b.block("number", {}, number, [&](const Vars&) { return b.load(upto, {const_int(n - 1)}); });
  for (size_t d = 0; d < shape.size(); d++)
    b.block_at(
        fmt::format("indices{}", d), {n}, indices,
        [&](const Vars& v) { return Vars{const_int(static_cast<i64>(d)), v[0]}; },
        [&](const Vars& v) {
          return select(v[0] < b.load(upto, {const_int(n - 1)}), coordinate(shape, d, b.load(order, {v[0]})),
                        const_int(0));
        });
  return b.take();
}

void non_zero(const Node&, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const i64 n = in[0]->size();
  i64 number = 0;
  for_each_index(in[0]->type.shape, [&](const Index& index, i64 flat) {
    if (in[0]->get(flat) == 0) return;
    for (size_t d = 0; d < index.size(); d++) out[0].set_int(static_cast<i64>(d) * n + number, index[d]);
    number++;
  });
  if (out.size() > 1) out[1].set_int(0, number);
}

// --- Unique ----------------------------------------------------------------------------------------------------------

constexpr i64 kMaxPairs = i64{1} << 26;  // of rows of several elements, whose comparisons are kept

std::vector<TensorType> infer_unique(const Node&, Types in) {
  require_rank(in[0], 2, "the list of rows");
  const i64 n = in[0].shape[0];
  if (in[0].shape[1] > 1 && n > kMaxPairs / std::max<i64>(n, 1)) fail("{} rows are too many to compare", n);
  const TensorType list{DType::i64, {n}};
  return {list, list, list, {DType::i64, {}}};
}

// Comparisons of rows while the program is built.
struct Rows {
  const FuncBuilder& b;
  int x;
  i64 m;
  int differ;  // temp [n, n] with the first column in which two rows differ, m where none; -1 for rows of one element

  Expr at(const Expr& row, const Expr& column) const { return b.load(x, {row, column}); }
  static Expr is_nan(const Expr& a) { return unary(ExprOp::is_nan, a); }
  static Expr same(const Expr& a, const Expr& b) {
    const Expr equal = binary(ExprOp::eq, a, b);
    return is_float(a.dtype) ? equal || (is_nan(a) && is_nan(b)) : equal;
  }
  static Expr before(const Expr& a, const Expr& b) {
    if (a.dtype == DType::boolean) return b && unary(ExprOp::logical_not, a);
    return is_float(a.dtype) ? a < b || (is_nan(b) && unary(ExprOp::logical_not, is_nan(a))) : a < b;
  }
  Expr equal(const Expr& i, const Expr& j) const {
    if (m == 0) return const_int(1, DType::boolean);
    if (differ < 0) return same(at(i, const_int(0)), at(j, const_int(0)));
    return binary(ExprOp::eq, b.load(differ, {i, j}), const_int(m));
  }
  Expr less(const Expr& i, const Expr& j) const {
    if (m == 0) return const_int(0, DType::boolean);
    if (differ < 0) return before(at(i, const_int(0)), at(j, const_int(0)));
    const Expr column = min(b.load(differ, {i, j}), const_int(m - 1));
    return before(at(i, column), at(j, column));
  }
};

Expr one_if(const Expr& condition) { return select(condition, const_int(1), const_int(0)); }

Func lower_unique(const Node& node, Types in, Types out) {
  const i64 n = in[0].shape[0], m = in[0].shape[1];
  const bool sorted = node.attrs.get_int("sorted", 1) != 0;
  FuncBuilder b("unique");
  const int x = b.input("x", in[0].dtype, in[0].shape);
  std::vector<int> ys = add_outputs(b, out, {"first", "inverse", "counts", "number"});
  ys.resize(4, -1);
  Rows rows{b, x, m, -1};
  if (m > 1) {
    rows.differ = b.temp("differ", DType::i64, {n, n});
    b.reduce("differ", {n, n}, {m}, rows.differ, StoreOp::min, const_int(m), [&](const Vars& s, const Vars& r) {
      return select(Rows::same(rows.at(s[0], r[0]), rows.at(s[1], r[0])), const_int(m), r[0]);
    });
  }
  const int leader = b.temp("leader", DType::i64, {n});  // the first row that equals this one
  b.reduce("leader", {n}, {n}, leader, StoreOp::min, const_int(n),
           [&](const Vars& s, const Vars& r) { return select(rows.equal(s[0], r[0]), r[0], const_int(n)); });
  const int inverse = ys[1] >= 0 ? ys[1] : b.temp("inverse", DType::i64, {n});
  b.reduce("inverse", {n}, {n}, inverse, StoreOp::add, const_int(0), [&](const Vars& s, const Vars& r) {
    const Expr leads = binary(ExprOp::eq, b.load(leader, {r[0]}), r[0]);
    return one_if(leads && (sorted ? rows.less(r[0], s[0]) : r[0] < b.load(leader, {s[0]})));
  });
  if (ys[0] >= 0) {
    b.block("clear", {n}, ys[0], [](const Vars&) { return const_int(0); });
    b.block_at(
        "first", {n}, ys[0], [&](const Vars& v) { return Vars{safe_index(b.load(inverse, {v[0]}), n)}; },
        [&](const Vars& v) { return b.load(leader, {v[0]}); });
  }
  if (ys[2] >= 0)
    b.reduce("counts", {n}, {n}, ys[2], StoreOp::add, const_int(0),
             [&](const Vars& s, const Vars& r) { return one_if(binary(ExprOp::eq, b.load(inverse, {r[0]}), s[0])); });
  if (ys[3] >= 0)
    b.reduce("number", {}, {n}, ys[3], StoreOp::max, const_int(0),
             [&](const Vars&, const Vars& r) { return b.load(inverse, {r[0]}) + 1; });
  return b.take();
}

void unique(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor& x = *in[0];
  const i64 n = x.type.shape[0], m = x.type.shape[1];
  const auto less = [&](i64 a, i64 b) {  // beats() takes NaN for the largest
    for (i64 c = 0; c < m; c++) {
      if (beats(x, b * m + c, a * m + c, true)) return true;
      if (beats(x, a * m + c, b * m + c, true)) return false;
    }
    return false;
  };
  std::vector<i64> order(at(n)), leaders;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), less);
  std::vector<i64> leader_of(at(n));
  for (size_t i = 0; i < order.size(); i++) {
    if (i == 0 || less(order[i - 1], order[i])) leaders.push_back(order[i]);
    leader_of[at(order[i])] = leaders.back();
  }
  if (node.attrs.get_int("sorted", 1) == 0) std::sort(leaders.begin(), leaders.end());
  std::vector<i64> place(at(n)), counts(leaders.size(), 0);
  for (size_t k = 0; k < leaders.size(); k++) place[at(leaders[k])] = static_cast<i64>(k);
  for (i64 row = 0; row < n; row++) {
    const i64 k = place[at(leader_of[at(row)])];
    counts[at(k)]++;
    if (out.size() > 1) out[1].set_int(row, k);
  }
  for (size_t k = 0; k < leaders.size(); k++) {
    out[0].set_int(static_cast<i64>(k), leaders[k]);
    if (out.size() > 2) out[2].set_int(static_cast<i64>(k), counts[k]);
  }
  if (out.size() > 3) out[3].set_int(0, static_cast<i64>(leaders.size()));
}

const OpDef kOps[] = {
    {"NonZero", FuseKind::opaque, 1, 1, infer_non_zero, lower_non_zero, non_zero},
    {"Unique", FuseKind::opaque, 1, 1, infer_unique, lower_unique, unique},
};

}  // namespace

}  // namespace mcc::ops

namespace mcc {

std::span<const OpDef> select_ops() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> made(std::begin(ops::kOps), std::end(ops::kOps));
    made.push_back(ops::suppression_op());
    return made;
  }();
  return ops;
}

}  // namespace mcc
