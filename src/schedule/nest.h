// What a scheduled Func does, statement by statement, in numbers: the loops around each store, its arithmetic, and each
// memory access as strides over those loops. The analytic model and the cost model's features are computed from this
// and nothing else.
#pragma once
#include <vector>

#include "loop/loop.h"
#include "target/target.h"

namespace mcc {

struct NestLoop {
  i64 extent = 1;
  loop::LoopKind kind = loop::LoopKind::serial;
  double present = 1;  // share of its iterations that run the store (Ifs on its variable): the first, or the last ones
};

struct NestAccess {
  int buffer = 0;
  loop::Scope scope = loop::Scope::temp;
  i64 element_bytes = 4;
  bool is_store = false;
  bool affine = true;                        // else the strides are unknown: treated as random access
  std::vector<i64> stride;                   // elements, for each enclosing loop
  std::vector<std::vector<i64>> dim_stride;  // for each dimension and enclosing loop
  std::vector<i64> dim_extent;               // the buffer's shape
};

struct NestStore {
  const loop::Store* store = nullptr;
  std::vector<NestLoop> loops;  // outermost first
  double weight = 1;            // share of the iterations that run it (Ifs)
  // Of one iteration; specials: exp, sqrt, ...
  double adds = 0, muls = 0, fmas = 0, divs = 0, specials = 0, int_ops = 0, selects = 0;
  bool accumulates = false;
  std::vector<NestAccess> accesses;  // loads of the value, and the store itself last

  double iterations() const;  // of the store, scalar, weight included
  int vector_loop() const;    // index in loops, or -1
  // First loop of the run of unrolled and vectorized loops that ends innermost: what lies inside is straight-line code.
  int straight_from() const;
};

std::vector<NestStore> analyze_nests(const loop::Func& func);

// Bytes, in whole 64-byte lines, that an access touches while the loops from `from` inwards run once.
double footprint_bytes(const NestAccess& access, const std::vector<NestLoop>& loops, int from);

}  // namespace mcc
