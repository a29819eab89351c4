#include "schedule/nest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "loop/loop_ops.h"

namespace mcc {
namespace {

using loop::Expr;
using loop::ExprOp;

constexpr double kLine = 64;
constexpr i64 kMostCounted = 100000;  // values of a sum times values of its next variable

// Walks statements with the loops around them; variables are known by their position in that list.
class Walker {
 public:
  explicit Walker(const loop::Func& func) : func_(func), position_(func.vars.size(), -1) {}

  void walk(const std::vector<loop::Stmt>& body, double weight) {
    for (const loop::Stmt& stmt : body) {
      if (const auto* inner = std::get_if<loop::Loop>(&stmt.node)) {
        const int saved = position_[at(inner->var)];
        position_[at(inner->var)] = static_cast<int>(loops_.size());
        loops_.push_back({inner->extent, inner->kind, 1});
        walk(inner->body, weight);
        loops_.pop_back();
        position_[at(inner->var)] = saved;
      } else if (const auto* branch = std::get_if<loop::If>(&stmt.node)) {
        const double share = probability(branch->condition);
        walk_case(*branch, branch->then_body, weight, share);
        const size_t before = reached_.size();
        if (auto bound = upper_bound(branch->condition)) reached_.push_back(std::move(*bound));
        walk_case(*branch, branch->else_body, weight, 1 - share);
        reached_.resize(before);
      } else {
        add(std::get<loop::Store>(stmt.node), weight);
      }
    }
  }

  std::vector<NestStore> take() { return std::move(nests_); }

 private:
  void walk_case(const loop::If& branch, const std::vector<loop::Stmt>& body, double weight, double share) {
    const Expr& condition = branch.condition;
    const bool counts = condition.op == ExprOp::lt && condition.args[0].op == ExprOp::var;
    const int place = counts ? position_[at(condition.args[0].i)] : -1;
    const double before = place >= 0 ? loops_[at(place)].present : 1;
    if (place >= 0) loops_[at(place)].present *= share;
    walk(body, weight * share);
    if (place >= 0) loops_[at(place)].present = before;
  }

  // sum of variables, each times its factor < limit
  struct Bound {
    std::vector<std::pair<int, i64>> terms;
    i64 limit = 0;
  };

  static std::optional<Bound> upper_bound(const Expr& condition) {
    if (condition.op != ExprOp::lt || condition.args[0].dtype != DType::i64) return std::nullopt;
    const auto left = loop::to_affine(condition.args[0]), right = loop::to_affine(condition.args[1]);
    if (!left || !right) return std::nullopt;
    loop::Affine sum = loop::minus(*left, *right);
    return Bound{std::move(sum.terms), -sum.constant};
  }

  // How often it holds, counted over all values of the variables for which those around it do not hold.
  double share_below(const Bound& bound) const {
    std::map<i64, double> sums{{0, 1}};  // value of the sum: how often it occurs
    for (const auto& [var, factor] : bound.terms) {
      const int place = position_[at(var)];
      if (place < 0 || static_cast<i64>(sums.size()) * loops_[at(place)].extent > kMostCounted) return 0.5;
      std::map<i64, double> longer;
      for (const auto& [sum, times] : sums) {
        for (i64 i = 0; i < loops_[at(place)].extent; i++) longer[sum + i * factor] += times;
      }
      sums = std::move(longer);
    }
    i64 least = std::numeric_limits<i64>::min();
    for (const Bound& other : reached_) {
      if (other.terms == bound.terms) least = std::max(least, other.limit);
    }
    double all = 0, below = 0;
    for (const auto& [sum, times] : sums) {
      if (sum < least) continue;
      all += times;
      if (sum < bound.limit) below += times;
    }
    return all > 0 ? below / all : 0;
  }

  // How often `sum of variables < constant`, `var == constant`, or one of several such holds; anything else is taken
  // for a coin.
  double probability(const Expr& condition) const {
    if (condition.op == ExprOp::logical_or)
      return std::min(1.0, probability(condition.args[0]) + probability(condition.args[1]));
    if (const auto bound = upper_bound(condition)) return share_below(*bound);
    const bool counts = condition.op == ExprOp::eq && condition.args[0].op == ExprOp::var;
    if (counts && condition.args[1].op == ExprOp::constant) {
      const int place = position_[at(condition.args[0].i)];
      if (place >= 0) return 1 / static_cast<double>(std::max<i64>(1, loops_[at(place)].extent));
    }
    return 0.5;
  }

  // A number once the unrolled loops are written out: it takes no instructions.
  bool known(const Expr& e) const {
    if (e.op == ExprOp::load) return false;
    if (e.op == ExprOp::var) {
      const int place = position_[at(e.i)];
      return place >= 0 && loops_[at(place)].kind == loop::LoopKind::unroll;
    }
    return std::all_of(e.args.begin(), e.args.end(), [&](const Expr& arg) { return known(arg); });
  }

  // The share of the cases in which a term of a sum is there at all: selects of -0.0 leave it out.
  double presence(const Expr& e) const {
    if (e.op != ExprOp::select || !known(e.args[0])) return 1;
    const double first = probability(e.args[0]);
    if (e.args[1].op == ExprOp::constant) return 1 - first;
    return e.args[2].op == ExprOp::constant ? first : 1;
  }

  NestAccess access(int buffer, const std::vector<Expr>& index, bool is_store) const {
    const loop::Buffer& b = func_.buffer(buffer);
    NestAccess a{buffer, b.scope, size_of(b.dtype), is_store, true, std::vector<i64>(loops_.size(), 0), {}, b.shape};
    const Shape strides = row_major_strides(b.shape);
    for (size_t d = 0; d < index.size(); d++) {
      a.dim_stride.emplace_back(loops_.size(), 0);
      const auto affine = loop::to_affine(index[d]);
      if (!affine) {
        a.affine = false;
        continue;
      }
      for (const auto& [var, coefficient] : affine->terms) {
        const int place = position_[at(var)];
        if (place < 0) continue;
        a.dim_stride[d][at(place)] = coefficient;
        a.stride[at(place)] += coefficient * strides[d];
      }
    }
    return a;
  }

  // Adds what e takes, `share` times.
  void count(const Expr& e, NestStore& nest, double share = 1) const {
    if (e.op == ExprOp::load) {
      nest.accesses.push_back(access(static_cast<int>(e.i), e.args, false));
      for (const Expr& index : e.args) {
        if (!loop::to_affine(index)) count(index, nest, share);  // an index that is itself loaded
      }
      return;
    }
    if (known(e)) return;
    if (e.op == ExprOp::select && known(e.args[0])) {
      const double first = probability(e.args[0]);
      count(e.args[1], nest, share * first);
      return count(e.args[2], nest, share * (1 - first));
    }
    for (const Expr& arg : e.args) count(arg, nest, share);
    if (e.op == ExprOp::add) share *= std::min(presence(e.args[0]), presence(e.args[1]));
    switch (e.op) {
      case ExprOp::constant:
      case ExprOp::var:
      case ExprOp::load:
      case ExprOp::cast: break;
      case ExprOp::add:
      case ExprOp::sub:
      case ExprOp::neg:
      case ExprOp::abs:
      case ExprOp::min:
      case ExprOp::max: (is_float(e.dtype) ? nest.adds : nest.int_ops) += share; break;
      case ExprOp::mul: (is_float(e.dtype) ? nest.muls : nest.int_ops) += share; break;
      case ExprOp::div: (is_float(e.dtype) ? nest.divs : nest.int_ops) += share; break;
      case ExprOp::select: nest.selects += share; break;
      case ExprOp::sqrt: nest.divs += share; break;
      case ExprOp::pow:
      case ExprOp::exp:
      case ExprOp::log:
      case ExprOp::sin:
      case ExprOp::cos:
      case ExprOp::tan:
      case ExprOp::asin:
      case ExprOp::acos:
      case ExprOp::atan:
      case ExprOp::sinh:
      case ExprOp::cosh:
      case ExprOp::tanh:
      case ExprOp::asinh:
      case ExprOp::acosh:
      case ExprOp::atanh:
      case ExprOp::erf:
      case ExprOp::sigmoid: nest.specials += share; break;
      default: nest.int_ops += share;
    }
  }

  void add(const loop::Store& store, double weight) {
    NestStore nest;
    nest.store = &store;
    nest.loops = loops_;
    nest.weight = weight;
    nest.accumulates = store.op != loop::StoreOp::assign;
    count(store.value, nest);
    if (nest.accumulates) nest.adds += 1;
    nest.fmas = std::min(nest.adds, nest.muls);
    nest.adds -= nest.fmas;
    nest.muls -= nest.fmas;
    nest.accesses.push_back(access(store.buffer, store.index, true));
    nests_.push_back(std::move(nest));
  }

  const loop::Func& func_;
  std::vector<Bound> reached_;  // by the sums at present: the conditions around that do not hold
  std::vector<int> position_;   // of each variable in loops_, -1 outside
  std::vector<NestLoop> loops_;
  std::vector<NestStore> nests_;
};

}  // namespace

double NestStore::iterations() const {
  double n = weight;
  for (const NestLoop& l : loops) n *= static_cast<double>(l.extent);
  return n;
}

int NestStore::vector_loop() const {
  for (size_t i = 0; i < loops.size(); i++) {
    if (loops[i].kind == loop::LoopKind::vectorize) return static_cast<int>(i);
  }
  return -1;
}

int NestStore::straight_from() const {
  int from = static_cast<int>(loops.size());
  while (from > 0 &&
         (loops[at(from - 1)].kind == loop::LoopKind::unroll || loops[at(from - 1)].kind == loop::LoopKind::vectorize))
    from--;
  return from;
}

std::vector<NestStore> analyze_nests(const loop::Func& func) {
  Walker walker(func);
  walker.walk(func.body, 1);
  return walker.take();
}

double footprint_bytes(const NestAccess& access, const std::vector<NestLoop>& loops, int from) {
  double total = static_cast<double>(access.element_bytes);
  for (size_t d = access.dim_stride.size(); d-- > 0;) {
    double extent = 1;
    if (!access.affine) extent = static_cast<double>(access.dim_extent[d]);
    for (size_t l = at(from); l < loops.size(); l++)
      extent += static_cast<double>(std::abs(access.dim_stride[d][l]) * (loops[l].extent - 1));
    total *= std::min(extent, static_cast<double>(std::max<i64>(access.dim_extent[d], 1)));
    if (d + 1 == access.dim_stride.size()) total = std::ceil(total / kLine) * kLine;
  }
  return std::max(total, kLine);
}

}  // namespace mcc
