#include "schedule/nest.h"

#include <algorithm>
#include <cmath>

#include "loop/ir.h"

namespace mcc {
namespace {

using loop::Expr;
using loop::ExprOp;

constexpr double kLine = 64;

// Walks statements with the loops around them; variables are known by their position in that list.
class Walker {
 public:
  explicit Walker(const loop::Func& func) : func_(func), position_(func.vars.size(), -1) {}

  void walk(const std::vector<loop::Stmt>& body, double weight) {
    for (const loop::Stmt& stmt : body) {
      if (const auto* inner = std::get_if<loop::Loop>(&stmt.node)) {
        const int saved = position_[static_cast<size_t>(inner->var)];
        position_[static_cast<size_t>(inner->var)] = static_cast<int>(loops_.size());
        loops_.push_back({inner->extent, inner->kind});
        walk(inner->body, weight);
        loops_.pop_back();
        position_[static_cast<size_t>(inner->var)] = saved;
      } else if (const auto* branch = std::get_if<loop::If>(&stmt.node)) {
        const double share = probability(branch->condition);
        walk(branch->then_body, weight * share);
        walk(branch->else_body, weight * (1 - share));
      } else {
        add(std::get<loop::Store>(stmt.node), weight);
      }
    }
  }

  std::vector<NestStore> take() { return std::move(nests_); }

 private:
  // How often `var < constant` holds; anything else is taken for a coin.
  double probability(const Expr& condition) const {
    if (condition.op == ExprOp::lt && condition.args[0].op == ExprOp::var && condition.args[1].op == ExprOp::constant) {
      const int at = position_[static_cast<size_t>(condition.args[0].i)];
      if (at >= 0)
        return std::clamp(
            static_cast<double>(condition.args[1].i) / static_cast<double>(loops_[static_cast<size_t>(at)].extent), 0.0,
            1.0);
    }
    return 0.5;
  }

  NestAccess access(int buffer, const std::vector<Expr>& index, bool is_store) const {
    const loop::Buffer& b = func_.buffers[static_cast<size_t>(buffer)];
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
        const int at = position_[static_cast<size_t>(var)];
        if (at < 0) continue;
        a.dim_stride[d][static_cast<size_t>(at)] = coefficient;
        a.stride[static_cast<size_t>(at)] += coefficient * strides[d];
      }
    }
    return a;
  }

  void count(const Expr& e, NestStore& nest) const {
    if (e.op == ExprOp::load) {
      nest.accesses.push_back(access(static_cast<int>(e.i), e.args, false));
      for (const Expr& index : e.args) {
        if (!loop::to_affine(index)) count(index, nest);  // an index that is itself loaded
      }
      return;
    }
    for (const Expr& arg : e.args) count(arg, nest);
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
      case ExprOp::max: (is_float(e.dtype) ? nest.adds : nest.int_ops) += 1; break;
      case ExprOp::mul: (is_float(e.dtype) ? nest.muls : nest.int_ops) += 1; break;
      case ExprOp::div: (is_float(e.dtype) ? nest.divs : nest.int_ops) += 1; break;
      case ExprOp::select: nest.selects += 1; break;
      case ExprOp::sqrt: nest.divs += 1; break;
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
      case ExprOp::sigmoid: nest.specials += 1; break;
      default: nest.int_ops += 1;
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
    nest.adds -= nest.fmas, nest.muls -= nest.fmas;
    nest.accesses.push_back(access(store.buffer, store.index, true));
    nests_.push_back(std::move(nest));
  }

  const loop::Func& func_;
  std::vector<int> position_;  // of each variable in loops_, -1 outside
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
  int at = static_cast<int>(loops.size());
  while (at > 0 && (loops[static_cast<size_t>(at - 1)].kind == loop::LoopKind::unroll ||
                    loops[static_cast<size_t>(at - 1)].kind == loop::LoopKind::vectorize))
    at--;
  return at;
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
    for (size_t l = static_cast<size_t>(from); l < loops.size(); l++)
      extent += static_cast<double>(std::abs(access.dim_stride[d][l]) * (loops[l].extent - 1));
    total *= std::min(extent, static_cast<double>(std::max<i64>(access.dim_extent[d], 1)));
    if (d + 1 == access.dim_stride.size()) total = std::ceil(total / kLine) * kLine;
  }
  return std::max(total, kLine);
}

}  // namespace mcc
