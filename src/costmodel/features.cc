// Features of a scheduled Func, from its nests (schedule/nest.h). Three groups: the whole program; its heaviest
// statement in detail; the rest summed. Magnitudes enter as log2(1 + x), so that trees split on ratios. A feature is a
// row of a list below, in the order of compute(); change kFeatureVersion when a row changes.
#include <algorithm>
#include <cmath>

#include "costmodel/cost_model.h"
#include "schedule/analytic.h"
#include "schedule/nest.h"

namespace mcc {
namespace {

struct Feature {
  std::string_view name;
  double value;
};

double lg(double x) { return std::log2(1 + std::max(0.0, x)); }

// A measure of the task's size in seconds: its arithmetic at the peak, and every buffer of the unscheduled program
// moved once at the speed of L2. Times are told relative to it, so that equal numbers mean the same in small and large
// tasks.
double floor_seconds(const Task& task) {
  const Target& t = task.target;
  double moved = 0;
  for (const loop::Buffer& b : task.func.buffers) moved += static_cast<double>(bytes({b.dtype, b.shape}));
  return static_cast<double>(task.flops) / peak_flops(t, 4) + moved / (t.l2_bytes_per_cycle * t.ghz * 1e9) + 1e-9;
}

double arithmetic(const NestStore& n) { return n.adds + n.muls + 2 * n.fmas + n.divs + n.specials + n.selects; }

// Product of the extents of the loops of one kind.
double extent_product(const NestStore& nest, loop::LoopKind kind) {
  double product = 1;
  for (const NestLoop& l : nest.loops) {
    if (l.kind == kind) product *= static_cast<double>(l.extent);
  }
  return product;
}

struct AccessSummary {
  double broadcast = 0, contiguous = 0, strided = 0, random = 0;  // loads of the straight-line body by kind
  double reg = 0;
};

AccessSummary summarize(const NestStore& nest) {
  AccessSummary s;
  const int v = nest.vector_loop();
  for (const NestAccess& a : nest.accesses) {
    if (a.scope == loop::Scope::reg)
      s.reg++;
    else if (!a.affine)
      s.random++;
    else if (v < 0 || a.stride[at(v)] == 0)
      s.broadcast++;
    else if (a.stride[at(v)] == 1)
      s.contiguous++;
    else
      s.strided++;
  }
  return s;
}

double total_footprint(const NestStore& nest, int from) {
  double bytes = 0;
  for (const NestAccess& a : nest.accesses) {
    if (a.scope != loop::Scope::reg) bytes += footprint_bytes(a, nest.loops, from);
  }
  return bytes;
}

// Extent of the k-th loop counted outwards from the straight-line body; 1 when there is none.
double outward_extent(const NestStore& nest, int k) {
  const int l = nest.straight_from() - 1 - k;
  return l >= 0 ? static_cast<double>(nest.loops[at(l)].extent) : 1;
}

// 1 when the k-th loop outwards from the straight-line body sums up (the store does not move with it), else 0.
double outward_reduces(const NestStore& nest, int k) {
  const int l = nest.straight_from() - 1 - k;
  return l >= 0 && nest.accesses.back().stride[at(l)] == 0 ? 1 : 0;
}

// Product of the unrolled loops that sum up: how long the chains of dependent additions in the body are.
double unrolled_reduction(const NestStore& nest) {
  double product = 1;
  for (size_t l = 0; l < nest.loops.size(); l++) {
    if (nest.loops[l].kind == loop::LoopKind::unroll && nest.accesses.back().stride[l] == 0)
      product *= static_cast<double>(nest.loops[l].extent);
  }
  return product;
}

// The longest of the four innermost loops, the vector aside, along which an access moves by whole pages: what lies so
// shares few sets of the caches and misses the TLB. 0: none does.
double page_strides(const NestStore& nest) {
  double worst = 0;
  const int v = nest.vector_loop();
  const int n = static_cast<int>(nest.loops.size());
  for (const NestAccess& a : nest.accesses) {
    if (!a.affine || a.scope == loop::Scope::reg) continue;
    for (int l = std::max(0, n - 4); l < n; l++) {
      const i64 stride = a.stride[at(l)] * a.element_bytes;
      if (l != v && stride != 0 && stride % 4096 == 0)
        worst = std::max(worst, static_cast<double>(nest.loops[at(l)].extent));
    }
  }
  return worst;
}

double seconds_of(const AnalyticTerms& t) {
  return std::max({t.core, t.l2, t.l3}) / t.share + t.memory + t.loops / t.share;
}

// What stands for the heaviest statement of a program without any.
const NestStore& no_statement() {
  static const NestStore none = [] {
    NestStore n;
    n.accesses.resize(1);
    return n;
  }();
  return none;
}

// The program as a whole.
struct Totals {
  AnalyticTerms terms;                 // summed, each divided among the threads
  std::vector<double> statements;      // seconds of each, longest first; at least three
  double copies = 0;                   // seconds of those that only move data
  double work = 0, heaviest = -1;      // arithmetic of all and of the heaviest
  double iterations = 0, scratch = 0;  // scratch: bytes of temporary buffers
  const NestStore* main = &no_statement();
};

Totals totals_of(const loop::Func& func, const std::vector<NestStore>& nests, const Target& target) {
  Totals all;
  for (const NestStore& nest : nests) {
    const AnalyticTerms t = analytic_terms(nest, target);
    all.terms.core += t.core / t.share;
    all.terms.l2 += t.l2 / t.share;
    all.terms.l3 += t.l3 / t.share;
    all.terms.memory += t.memory;
    all.terms.loops += t.loops / t.share;
    all.statements.push_back(seconds_of(t));
    if (arithmetic(nest) == 0) all.copies += all.statements.back();
    const double mine = nest.iterations() * (arithmetic(nest) + 0.01);
    all.work += mine;
    all.iterations += nest.iterations();
    if (mine > all.heaviest) {
      all.heaviest = mine;
      all.main = &nest;
    }
  }
  for (const loop::Buffer& b : func.buffers) {
    if (b.scope == loop::Scope::temp || b.scope == loop::Scope::local)
      all.scratch += static_cast<double>(bytes({b.dtype, b.shape}));
  }
  std::sort(all.statements.rbegin(), all.statements.rend());
  all.statements.resize(std::max<size_t>(all.statements.size(), 3));
  return all;
}

// Vectors of sums that the straight-line body keeps.
double accumulators_of(const NestStore& nest, double vectors) {
  double count = vectors;
  for (size_t l = 0; l < nest.loops.size(); l++) {
    if (nest.loops[l].kind == loop::LoopKind::unroll && nest.accesses.back().stride[l] != 0)
      count *= static_cast<double>(nest.loops[l].extent);
  }
  return count;
}

using Features = std::vector<Feature>;

// log2 of a time in units of the task's floor_seconds.
double times(double seconds, double floor) { return std::max(-10.0, std::log2((seconds + 1e-12) / floor)); }

Features total_features(const Totals& all, size_t statements, double floor) {
  return {
      {"sum_core", times(all.terms.core, floor)},
      {"sum_l2", times(all.terms.l2, floor)},
      {"sum_l3", times(all.terms.l3, floor)},
      {"sum_memory", times(all.terms.memory, floor)},
      {"sum_loops", times(all.terms.loops, floor)},
      {"statements", static_cast<double>(statements)},
      {"slowest_statement", times(all.statements[0], floor)},
      {"second_statement", times(all.statements[1], floor)},
      {"third_statement", times(all.statements[2], floor)},
      {"copies", times(all.copies, floor)},
      {"work", lg(all.work)},
      {"iterations", lg(all.iterations)},
      {"scratch_bytes", lg(all.scratch)},
      {"main_share_of_work", all.work > 0 ? all.heaviest / all.work : 0},
  };
}

Features time_features(const AnalyticTerms& terms, double floor) {
  return {
      {"main_core", times(terms.core, floor)},
      {"main_l2", times(terms.l2, floor)},
      {"main_l3", times(terms.l3, floor)},
      {"main_memory", times(terms.memory, floor)},
      {"main_loops", times(terms.loops, floor)},
      {"main_core_over_l2", terms.core / (terms.core + terms.l2 + 1e-12)},
      {"main_core_over_l3", terms.core / (terms.core + terms.l3 + 1e-12)},
      {"threads_share", terms.share},
  };
}

// Threads, vectors and registers of the heaviest statement.
Features body_features(const NestStore& main, const Target& target) {
  const double lanes = static_cast<double>(target.lanes(main.accesses.back().element_bytes));
  const double parallel = extent_product(main, loop::LoopKind::parallel);
  const double vector = extent_product(main, loop::LoopKind::vectorize);
  const double unrolled = extent_product(main, loop::LoopKind::unroll);
  const double vectors = std::ceil(vector / lanes);
  const double accumulators = accumulators_of(main, vectors);
  return {
      {"parallel_extent", lg(parallel)},
      {"parallel_waste", parallel > 1 ? std::ceil(parallel / target.cores) * target.cores / parallel : 1},
      {"vector_extent", lg(vector)},
      {"vectors", vectors},
      {"vector_use", vector / (vectors * lanes)},
      {"unrolled", lg(unrolled)},
      {"accumulators", accumulators},
      {"register_share", (accumulators + vectors) / static_cast<double>(target.vector_registers)},
      {"body_operations", lg(unrolled * vectors)},
  };
}

Features operation_features(const NestStore& main) {
  const AccessSummary kinds = summarize(main);
  return {
      {"fmas", main.fmas},
      {"specials", main.specials},
      {"divides", main.divs},
      {"selects", main.selects},
      {"int_operations", main.int_ops},
      {"loads_broadcast", kinds.broadcast},
      {"loads_contiguous", kinds.contiguous},
      {"loads_strided", kinds.strided},
      {"loads_random", kinds.random},
      {"accesses_reg", kinds.reg},
  };
}

// The loops around the body, and the bytes that each touches.
Features loop_features(const NestStore& main) {
  const int straight = main.straight_from();
  const auto footprint = [&](int outward) { return lg(total_footprint(main, std::max(0, straight - outward))); };
  return {
      {"depth", static_cast<double>(main.loops.size())},
      {"depth_outside_body", static_cast<double>(straight)},
      {"extent_out_0", lg(outward_extent(main, 0))},
      {"extent_out_1", lg(outward_extent(main, 1))},
      {"extent_out_2", lg(outward_extent(main, 2))},
      {"extent_out_3", lg(outward_extent(main, 3))},
      {"extent_out_4", lg(outward_extent(main, 4))},
      {"extent_out_5", lg(outward_extent(main, 5))},
      {"reduces_out_0", outward_reduces(main, 0)},
      {"reduces_out_1", outward_reduces(main, 1)},
      {"reduces_out_2", outward_reduces(main, 2)},
      {"reduces_out_3", outward_reduces(main, 3)},
      {"unrolled_reduction", lg(unrolled_reduction(main))},
      {"page_strides", lg(page_strides(main))},
      {"footprint_0", footprint(0)},
      {"footprint_1", footprint(1)},
      {"footprint_2", footprint(2)},
      {"footprint_3", footprint(3)},
      {"footprint_4", footprint(4)},
      {"footprint_all", lg(total_footprint(main, 0))},
  };
}

Features compute(const loop::Func& func, const Target& target, double floor) {
  const std::vector<NestStore> nests = analyze_nests(func);
  const Totals all = totals_of(func, nests, target);
  Features row;
  const auto add = [&](const Features& part) { row.insert(row.end(), part.begin(), part.end()); };
  add({{"analytic_seconds", times(analytic_seconds(func, target), floor)}});
  add(total_features(all, nests.size(), floor));
  add(time_features(nests.empty() ? AnalyticTerms{} : analytic_terms(*all.main, target), floor));
  add(body_features(*all.main, target));
  add(operation_features(*all.main));
  add(loop_features(*all.main));
  add({{"cores", static_cast<double>(target.cores)}});
  return row;
}

}  // namespace

std::vector<float> features(const Task& task, const loop::Func& scheduled) {
  std::vector<float> values;
  for (const Feature& f : compute(scheduled, task.target, floor_seconds(task)))
    values.push_back(static_cast<float>(f.value));
  return values;
}

std::span<const std::string_view> feature_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const Feature& f : compute(loop::Func{}, Target{}, 1)) list.push_back(f.name);
    return list;
  }();
  return names;
}

}  // namespace mcc
