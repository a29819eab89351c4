// Features of a scheduled Func, from its nests (schedule/nest.h). Three groups: the whole program; its heaviest
// statement in detail; the rest summed. Magnitudes enter as log2(1 + x), so that trees split on ratios. A feature is a
// row of the list in compute(); change kFeatureVersion when a row changes.
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
    else if (v < 0 || a.stride[static_cast<size_t>(v)] == 0)
      s.broadcast++;
    else if (a.stride[static_cast<size_t>(v)] == 1)
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
  const int at = nest.straight_from() - 1 - k;
  return at >= 0 ? static_cast<double>(nest.loops[static_cast<size_t>(at)].extent) : 1;
}

// 1 when the k-th loop outwards from the straight-line body sums up (the store does not move with it), else 0.
double outward_reduces(const NestStore& nest, int k) {
  const int at = nest.straight_from() - 1 - k;
  return at >= 0 && nest.accesses.back().stride[static_cast<size_t>(at)] == 0 ? 1 : 0;
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
      const i64 stride = a.stride[static_cast<size_t>(l)] * a.element_bytes;
      if (l != v && stride != 0 && stride % 4096 == 0)
        worst = std::max(worst, static_cast<double>(nest.loops[static_cast<size_t>(l)].extent));
    }
  }
  return worst;
}

double seconds_of(const AnalyticTerms& t) {
  return std::max({t.core, t.l2, t.l3}) / t.share + t.memory + t.loops / t.share;
}

std::vector<Feature> compute(const loop::Func& func, const Target& target, double floor) {
  const auto times = [&](double seconds) { return std::max(-10.0, std::log2((seconds + 1e-12) / floor)); };
  const std::vector<NestStore> nests = analyze_nests(func);
  static const NestStore kNone = [] {
    NestStore n;
    n.accesses.resize(1);
    return n;
  }();
  const NestStore* main = &kNone;
  double work = 0, heaviest = -1, iterations = 0, scratch = 0;
  AnalyticTerms sum;
  std::vector<double> statements;  // seconds of each
  double copies = 0;               // seconds of those that only move data
  for (const NestStore& nest : nests) {
    const AnalyticTerms t = analytic_terms(nest, target);
    sum.core += t.core / t.share, sum.l2 += t.l2 / t.share, sum.l3 += t.l3 / t.share, sum.memory += t.memory,
        sum.loops += t.loops / t.share;
    statements.push_back(seconds_of(t));
    if (arithmetic(nest) == 0) copies += statements.back();
    const double mine = nest.iterations() * (arithmetic(nest) + 0.01);
    work += mine, iterations += nest.iterations();
    if (mine > heaviest) heaviest = mine, main = &nest;
  }
  for (const loop::Buffer& b : func.buffers) {
    if (b.scope == loop::Scope::temp || b.scope == loop::Scope::local)
      scratch += static_cast<double>(bytes({b.dtype, b.shape}));
  }
  std::sort(statements.rbegin(), statements.rend());
  statements.resize(std::max<size_t>(statements.size(), 3));
  const AnalyticTerms terms = main == &kNone ? AnalyticTerms{} : analytic_terms(*main, target);
  const AccessSummary kinds = summarize(*main);
  const double lanes = static_cast<double>(target.lanes(main->accesses.back().element_bytes));
  const double vector = extent_product(*main, loop::LoopKind::vectorize);
  const double unrolled = extent_product(*main, loop::LoopKind::unroll);
  const double vectors = std::ceil(vector / lanes);
  double accumulators = vectors;
  for (size_t l = 0; l < main->loops.size(); l++) {
    if (main->loops[l].kind == loop::LoopKind::unroll && main->accesses.back().stride[l] != 0)
      accumulators *= static_cast<double>(main->loops[l].extent);
  }
  const double parallel = extent_product(*main, loop::LoopKind::parallel);
  const int straight = main->straight_from();
  return {
      {"analytic_seconds", times(analytic_seconds(func, target))},
      {"sum_core", times(sum.core)},
      {"sum_l2", times(sum.l2)},
      {"sum_l3", times(sum.l3)},
      {"sum_memory", times(sum.memory)},
      {"sum_loops", times(sum.loops)},
      {"statements", static_cast<double>(nests.size())},
      {"slowest_statement", times(statements[0])},
      {"second_statement", times(statements[1])},
      {"third_statement", times(statements[2])},
      {"copies", times(copies)},
      {"work", lg(work)},
      {"iterations", lg(iterations)},
      {"scratch_bytes", lg(scratch)},
      {"main_share_of_work", work > 0 ? heaviest / work : 0},
      {"main_core", times(terms.core)},
      {"main_l2", times(terms.l2)},
      {"main_l3", times(terms.l3)},
      {"main_memory", times(terms.memory)},
      {"main_loops", times(terms.loops)},
      {"main_core_over_l2", terms.core / (terms.core + terms.l2 + 1e-12)},
      {"main_core_over_l3", terms.core / (terms.core + terms.l3 + 1e-12)},
      {"threads_share", terms.share},
      {"parallel_extent", lg(parallel)},
      {"parallel_waste", parallel > 1 ? std::ceil(parallel / target.cores) * target.cores / parallel : 1},
      {"vector_extent", lg(vector)},
      {"vectors", vectors},
      {"vector_use", vector / (vectors * lanes)},
      {"unrolled", lg(unrolled)},
      {"accumulators", accumulators},
      {"register_share", (accumulators + vectors) / static_cast<double>(target.vector_registers)},
      {"body_operations", lg(unrolled * vectors)},
      {"fmas", main->fmas},
      {"specials", main->specials},
      {"divides", main->divs},
      {"selects", main->selects},
      {"int_operations", main->int_ops},
      {"loads_broadcast", kinds.broadcast},
      {"loads_contiguous", kinds.contiguous},
      {"loads_strided", kinds.strided},
      {"loads_random", kinds.random},
      {"accesses_reg", kinds.reg},
      {"depth", static_cast<double>(main->loops.size())},
      {"depth_outside_body", static_cast<double>(straight)},
      {"extent_out_0", lg(outward_extent(*main, 0))},
      {"extent_out_1", lg(outward_extent(*main, 1))},
      {"extent_out_2", lg(outward_extent(*main, 2))},
      {"extent_out_3", lg(outward_extent(*main, 3))},
      {"extent_out_4", lg(outward_extent(*main, 4))},
      {"extent_out_5", lg(outward_extent(*main, 5))},
      {"reduces_out_0", outward_reduces(*main, 0)},
      {"reduces_out_1", outward_reduces(*main, 1)},
      {"reduces_out_2", outward_reduces(*main, 2)},
      {"reduces_out_3", outward_reduces(*main, 3)},
      {"unrolled_reduction", lg(unrolled_reduction(*main))},
      {"page_strides", lg(page_strides(*main))},
      {"footprint_0", lg(total_footprint(*main, straight))},
      {"footprint_1", lg(total_footprint(*main, std::max(0, straight - 1)))},
      {"footprint_2", lg(total_footprint(*main, std::max(0, straight - 2)))},
      {"footprint_3", lg(total_footprint(*main, std::max(0, straight - 3)))},
      {"footprint_4", lg(total_footprint(*main, std::max(0, straight - 4)))},
      {"footprint_all", lg(total_footprint(*main, 0))},
      {"cores", static_cast<double>(target.cores)},
  };
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
