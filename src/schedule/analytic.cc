// A roofline for each statement. Arithmetic: vector operations over the units' throughput, at least the latency chain
// of the accumulators. Issue: loads that straight-line code cannot keep in registers, stores, all operations over the
// width of the core. Traffic: for each cache, the outermost loop whose footprint fits decides how often what lies
// outside is fetched again. Statements add up.
#include "schedule/analytic.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "schedule/nest.h"

namespace mcc {
namespace {

constexpr double kIssueWidth = 4;   // operations a core starts in a cycle
constexpr double kSpecialOps = 14;  // vector operations of an exp, tanh, ...
constexpr double kDivCycles = 5;
constexpr double kLoopCycles = 1.5;       // counter, compare, branch
constexpr double kParallelStartS = 6e-6;  // waking the pool
constexpr double kOverlapLoss = 0.3;  // of the shorter of arithmetic and traffic: it does not hide behind the longer
// The same for memory against all else, even with constants fetched ahead: fitted by eye to 14x14x256 and 7x7x512
// convolutions, direct and by Winograd's algorithm, inside resnet50 on one thread. Not with several threads: there the
// descent over the knobs then ended with a slower division of 128x768x768 products among the threads.
constexpr double kMemoryLoss = 0.6;
// What several threads read from memory a second, relative to one: a vector times a matrix of 64 MiB on two.
constexpr double kMemoryThreads = 1.4;
// What one core has written and another reads, and takes back when it writes the next time: measured at 25 GB/s (two
// processors far from each other) to 68, and 24 ns for each line taken back (bench/dispatch.c): 30 left 14x14x256 ->
// 512 at 1.18 of oneDNN's time there; with 10, and less so with 15, layers of 28x28 pixels got uneven shares.
constexpr double kOthersBytesPerS = 15e9;
constexpr double kSpillOps = 2;  // a store and a load for each accumulator too many

struct Body {             // the straight-line body of a statement
  double vectors = 1;     // vector instructions one iteration of the vector loop takes
  double copies = 1;      // unrolled instances
  double lanes_used = 1;  // scalar iterations in one straight-line body
};

// How many times an access of the straight-line body must be issued: once for each distinct address.
double issues(const NestAccess& access, const NestStore& nest, const Target& target) {
  if (access.scope == loop::Scope::reg) return 0;
  double n = 1;
  for (size_t l = at(nest.straight_from()); l < nest.loops.size(); l++) {
    const NestLoop& loop = nest.loops[l];
    const i64 stride = access.stride[l];
    if (access.affine && stride == 0) continue;
    const double lanes = static_cast<double>(std::max<i64>(1, target.lanes(access.element_bytes)));
    const bool contiguous = loop.kind == loop::LoopKind::vectorize && access.affine && stride == 1;
    n *= contiguous ? std::ceil(static_cast<double>(loop.extent) / lanes) : static_cast<double>(loop.extent);
  }
  return n;
}

Body straight_body(const NestStore& nest, const Target& target) {
  Body body;
  const double lanes = static_cast<double>(std::max<i64>(1, target.lanes(nest.accesses.back().element_bytes)));
  for (size_t l = at(nest.straight_from()); l < nest.loops.size(); l++) {
    const double extent = static_cast<double>(nest.loops[l].extent);
    body.lanes_used *= extent;
    (nest.loops[l].kind == loop::LoopKind::vectorize ? body.vectors : body.copies) *=
        nest.loops[l].kind == loop::LoopKind::vectorize ? std::ceil(extent / lanes) : extent;
  }
  return body;
}

// Cycles of one run of the straight-line body.
double body_cycles(const NestStore& nest, const Target& target) {
  const Body body = straight_body(nest, target);
  const double instances = body.vectors * body.copies;
  const double arithmetic =
      nest.fmas + nest.adds + nest.muls + nest.selects + nest.int_ops * 0.5 + nest.specials * kSpecialOps;
  double compute = instances * (arithmetic / target.fma_per_cycle + nest.divs * kDivCycles);
  double loads = 0, stores = 0, accumulators = 0;
  for (const NestAccess& access : nest.accesses) (access.is_store ? stores : loads) += issues(access, nest, target);
  const NestAccess& out = nest.accesses.back();
  if (nest.accumulates) {
    accumulators = body.vectors;
    for (size_t l = at(nest.straight_from()); l < nest.loops.size(); l++) {
      if (nest.loops[l].kind == loop::LoopKind::unroll && out.stride[l] != 0)
        accumulators *= static_cast<double>(nest.loops[l].extent);
    }
    const double chain = instances / accumulators * target.fma_latency;  // dependent accumulations
    compute = std::max(compute, chain);
    if (out.scope != loop::Scope::reg) loads += stores;
  }
  const double operands = target.broadcast_operand ? 2 : 3;
  const double spills =
      std::max(0.0, accumulators + operands - static_cast<double>(target.vector_registers)) * kSpillOps;
  const double ops = instances * arithmetic + loads + stores + spills;
  return std::max({compute, (loads + spills) / target.loads_per_cycle, stores, ops / kIssueWidth});
}

// What a statement reads of a large constant; 0 for all else.
double cold_bytes(const NestAccess& access, const NestStore& nest, const Target& target) {
  if (access.scope != loop::Scope::constant) return 0;
  const double bytes = footprint_bytes(access, nest.loops, 0);
  return bytes < static_cast<double>(target.cold_bytes) ? 0 : bytes;
}

// Bytes fetched into a cache of the given size over the whole statement.
double traffic_bytes(const NestStore& nest, double cache_bytes, const Target& target) {
  const int depth = static_cast<int>(nest.loops.size());
  std::vector<double> inside(static_cast<size_t>(depth) + 1, 0);
  for (int from = 0; from <= depth; from++) {
    for (const NestAccess& access : nest.accesses) {
      if (access.scope != loop::Scope::reg) inside[at(from)] += footprint_bytes(access, nest.loops, from);
    }
  }
  int fits = depth;
  while (fits > 0 && inside[at(fits - 1)] <= cache_bytes * 0.8) fits--;
  double bytes = 0;
  for (const NestAccess& access : nest.accesses) {
    if (access.scope == loop::Scope::reg) continue;
    // What fits as a whole was there before, but for large constants: those come from memory in each run.
    if (fits == 0 && cold_bytes(access, nest, target) == 0) continue;
    double times = nest.weight;
    bool still_there = true;  // the loop right outside keeps what does not move with it
    for (int l = fits - 1; l >= 0; l--) {
      const bool moves = !access.affine || access.stride[at(l)] != 0;
      if (still_there && !moves) continue;
      still_there = false;
      times *= static_cast<double>(nest.loops[at(l)].extent);
    }
    bytes += times * footprint_bytes(access, nest.loops, fits);
  }
  return bytes;
}

double loop_overhead_cycles(const NestStore& nest) {
  double cycles = 0, times = nest.weight;
  for (int l = 0; l < nest.straight_from(); l++) {
    times *= static_cast<double>(nest.loops[at(l)].extent);
    if (nest.loops[at(l)].kind != loop::LoopKind::unroll) cycles += times * kLoopCycles;
  }
  return cycles;
}

// Speed-up by threads of the parallel loops around a statement: whole chunks only. A ragged parallel loop runs the
// statement in a part of its iterations; when it is the outermost one, threads other than the last have nothing else.
double parallel_share(const NestStore& nest, const Target& target) {
  double n = 1, chunks = 1;
  bool ragged_outside = false;
  for (const NestLoop& loop : nest.loops) {
    if (loop.kind != loop::LoopKind::parallel || loop.extent == 1) continue;
    ragged_outside = ragged_outside || (chunks == 1 && loop.present < 1);
    chunks *= static_cast<double>(loop.extent);
    n *= static_cast<double>(loop.extent) * loop.present;
  }
  if (n <= 1) return 1;
  return n / (ragged_outside ? std::min(n, std::ceil(chunks / target.cores)) : std::ceil(n / target.cores));
}

// What of these bytes was not read yet, when `so_far` of the buffer were: the tails of a block read what its main part
// reads.
double not_read_yet(const NestAccess& access, double bytes, double& so_far) {
  double whole = static_cast<double>(access.element_bytes);
  for (const i64 extent : access.dim_extent) whole *= static_cast<double>(extent);
  const double fresh = std::clamp(whole - so_far, 0.0, bytes);
  so_far += fresh;
  return fresh;
}

// Bytes of large constants among the statement's traffic that statements before it have fetched. `fetched`: bytes of
// each buffer so far.
double fetched_before(const NestStore& nest, const Target& target, std::map<int, double>& fetched) {
  double again = 0;
  for (const NestAccess& access : nest.accesses) {
    const double bytes = nest.weight * cold_bytes(access, nest, target);
    if (bytes > 0) again += bytes - not_read_yet(access, bytes, fetched[access.buffer]);
  }
  return again;
}

// Seconds in which threads wait for what all of them read: large constants, that each fetches from memory, and results
// of earlier loops, of which each has made a part. Threads take contiguous parts of the parallel loops, so the
// outermost one of these decides. `read`: bytes of each buffer so far.
double read_by_all_s(const NestStore& nest, const Target& target, std::map<int, double>& read) {
  double threads = 1, again = 0, of_others = 0;
  size_t outermost = nest.loops.size();
  for (size_t l = nest.loops.size(); l-- > 0;) {
    if (nest.loops[l].kind != loop::LoopKind::parallel || nest.loops[l].extent == 1) continue;
    threads = std::min<double>(target.cores, threads * static_cast<double>(nest.loops[l].extent));
    outermost = l;
  }
  if (outermost == nest.loops.size()) return 0;
  for (const NestAccess& access : nest.accesses) {
    const bool own = access.scope == loop::Scope::reg || access.scope == loop::Scope::local || access.is_store;
    if (own || !access.affine || access.stride[outermost] != 0) continue;
    const double bytes = nest.weight * footprint_bytes(access, nest.loops, 0);
    const double fresh = not_read_yet(access, bytes, read[access.buffer]);
    if (access.scope != loop::Scope::constant) of_others += (1 - 1 / threads) * fresh;
    if (cold_bytes(access, nest, target) > 0) again += (threads - 1) * fresh;
  }
  return again / (target.memory_gbs * 1e9) + of_others / kOthersBytesPerS;
}

}  // namespace

AnalyticTerms analytic_terms(const NestStore& nest, const Target& target) {
  const double hz = target.ghz * 1e9;
  const double bodies = nest.iterations() / std::max(1.0, straight_body(nest, target).lanes_used);
  const double last_cache = static_cast<double>(std::max(target.l2_bytes, target.l3_bytes));
  AnalyticTerms terms;
  terms.core = bodies * body_cycles(nest, target) / hz;
  terms.l2 = traffic_bytes(nest, static_cast<double>(target.l1_bytes), target) / target.l2_bytes_per_cycle / hz;
  terms.l3 = traffic_bytes(nest, static_cast<double>(target.l2_bytes), target) / target.l3_bytes_per_cycle / hz;
  terms.memory = traffic_bytes(nest, last_cache, target) / (target.memory_gbs * 1e9);
  terms.loops = loop_overhead_cycles(nest) / hz;
  terms.share = parallel_share(nest, target);
  return terms;
}

double peak_flops(const Target& target, i64 element_bytes) {
  return target.ghz * 1e9 * target.fma_per_cycle * 2 * static_cast<double>(target.lanes(element_bytes)) * target.cores;
}

double analytic_seconds(const loop::Func& scheduled, const Target& target) {
  double seconds = 0;
  bool parallel = false;
  const double loss = target.cores > 1 ? 0 : kMemoryLoss;
  std::map<int, double> fetched, read_by_all;
  for (const NestStore& nest : analyze_nests(scheduled)) {
    const AnalyticTerms t = analytic_terms(nest, target);
    const double core = std::max({t.core, t.l2, t.l3}) + kOverlapLoss * std::min(t.core, t.l2 + t.l3) + t.loops;
    const double alone = std::max(0.0, t.memory - fetched_before(nest, target, fetched) / (target.memory_gbs * 1e9));
    const double memory = alone / std::min(t.share, kMemoryThreads);
    seconds += std::max(core / t.share, memory) + loss * std::min(core / t.share, memory) +
               read_by_all_s(nest, target, read_by_all);
    parallel |= t.share > 1;
  }
  return seconds + (parallel && target.cores > 1 ? kParallelStartS : 0);
}

}  // namespace mcc
