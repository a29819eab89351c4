// What the parts of the generator share: loops (generate.cc), bounds of a producer's part (bounds.cc),
// borders (within.cc) and the statements at the leaves (leaf.cc).
//
// While loops are emitted, each stage has an environment: every axis is at `base` (affine in the emitted loop
// variables) with `extent` elements left to enumerate inside. At the leaf all extents are 1 and the bases are the axes'
// values.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "schedule/state.h"

namespace mcc::schedule {

struct AxisEnv {
  Affine base;
  i64 extent = 0;
};
using Env = std::vector<AxisEnv>;  // one for each axis of a stage

struct Access {
  int buffer = 0;
  std::vector<std::optional<Affine>> index;  // over axis and region variables of State; nothing where it is not affine
};

struct StageInfo {
  Env env;
  std::vector<Access> value_loads, init_loads;  // in pre-order of the expression
  bool plain_value = true, plain_init = true;   // variables occur only inside affine indices
  std::vector<StoreDim> store;
  std::vector<std::vector<int>> attached;  // for each loop: the stages computed at it
  std::vector<int> loop_vars;              // in the generated Func; -1: not yet used
  size_t init_at = 0;                      // the loop before which the start value is stored
  std::vector<size_t> within_at;           // the loop before which each Within is decided
};

// A part of a buffer.
struct Box {
  std::vector<Affine> base;
  std::vector<i64> extent;
};

// Where accesses of a State buffer go at the moment.
struct Placed {
  int buffer = -1;           // in the generated Func; -1: not computed yet
  std::vector<Affine> base;  // subtracted from indices; empty: nothing is
};

struct Emitter {
  const State& state;
  loop::Func out;
  std::vector<StageInfo> stages;
  std::vector<Placed> placed;              // for each State buffer
  std::vector<std::vector<int>> variants;  // for each State buffer computed at a loop: its buffers in the Func
  std::vector<std::vector<int>> readers;   // for each State buffer
  std::map<int, int> outer_vars;           // variables of regions: State -> Func
  std::vector<i64> var_extent;             // of the Func's variables, in the copy of the loop being emitted
  std::vector<bool> var_unrolled;          // the variable's loop is unrolled or vectorized
  int parallel_depth = 0;
  int private_buffers = 0;  // local and reg buffers in use at the moment
  Reason why;               // the first thing found illegal

  void illegal(Reason reason) {
    if (why.empty()) why = std::move(reason);
  }
  const Stage& stage(int id) const { return state.stage(id); }
  StageInfo& info(int id) { return stages[at(id)]; }
};

// --- bounds.cc ---
std::vector<Access> collect_loads(const Stage& stage, const loop::Expr& value, bool& plain);
// The part of `producer`'s buffer that the rest of the current iteration of `host` reads.
Box needed(Emitter& e, int producer, int host);
Env env_of(Emitter& e, int stage, const Box& box);  // the axes that compute this part
loop::Range bounds_of(const Emitter& e, const Affine& affine);

// --- leaf.cc ---
loop::Stmt leaf_store(Emitter& e, int stage);
loop::Stmt leaf_init(Emitter& e, int stage);
loop::Stmt copy_opaque(Emitter& e, const loop::Stmt& stmt);

// --- within.cc ---
size_t within_place(const Stage& stage, const Within& within, size_t init_at);
// Calls `inside` for each case of what is left of the stage's axes, under Ifs that choose.
void emit_within(Emitter& e, int stage, const Within& within,
                 const std::function<void(std::vector<loop::Stmt>&)>& inside, std::vector<loop::Stmt>& out);

// --- generate.cc ---
int new_var(Emitter& e, const std::string& name, i64 extent, loop::LoopKind kind);

}  // namespace mcc::schedule
