// A Func between algorithm form and scheduled form: what steps edit and what the generator turns into loops again.
//
// State cuts the Func into stages, one for each block. A stage is one Store over *axes* (its loops in algorithm form)
// and the *loops* that will enumerate them. A reduction's "<block>.init" is no stage of its own: it is the stage's
// `init` value. Each loop walks one axis in steps of `chunk` (the product of the factors split off inside it), so a
// loop needs no extent: the generator derives it from what is left of the axis at that point, and that is how ragged
// extents and parts of a producer cost nothing extra. Invariant: of two loops of one axis, the outer one has the larger
// chunk.
//
// Loops that hold several nests (recurrences) are regions: fixed, around the stages inside. Nests that are not in
// algorithm form (scans, scatters, branches) are opaque stages: kept as they are.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "loop/loop_ops.h"

namespace mcc::schedule {

using loop::Affine;

using Reason = std::string;  // why something is illegal; "" when it is not

struct Axis {
  std::string name;
  int var = 0;  // stands for the axis in the stage's expressions
  i64 extent = 0;
  bool reduction = false;
};

struct LoopSpec {
  std::string name;
  int axis = 0;
  // A second axis that this loop walks in step (rfactor: the part of a reduction axis that became spatial).
  int lane = -1;
  i64 chunk = 1;  // elements of the axis in one iteration
  loop::LoopKind kind = loop::LoopKind::serial;
};

// A constant whose lines are asked for before the stage reads them (ahead.cc).
struct Ahead {
  int buffer = 0;
  std::vector<i64> bytes;  // how far ahead; 0: the next part
};

// Terms of a reduction that count: those for which `index` lies in min .. max. The others are never computed.
struct Within {
  static constexpr loop::Range kNone{-(i64{1} << 60), i64{1} << 60};  // where there is no bound
  Affine index;  // over the variables of axes: reduced ones and at most one other, with positive coefficients
  i64 min = kNone.min, max = kNone.max;
  int axis = -1;  // that other one
};

struct Stage {
  std::string block;
  int region = -1;  // innermost enclosing region
  std::vector<Axis> axes;
  std::vector<LoopSpec> loops;  // outermost first
  loop::Store store;            // over the axes' variables
  std::optional<loop::Expr> init;
  std::vector<Within> within;

  enum class Place : u8 { root, at, inlined };
  Place place = Place::root;
  int at_stage = -1;  // place at: the host stage and its loop
  std::string at_loop;
  loop::Scope scope = loop::Scope::local;  // of its buffer when placed at a loop
  std::vector<Ahead> ahead;

  std::optional<loop::Stmt> opaque;  // set: everything above but block and region is meaningless
  std::vector<int> opaque_reads, opaque_writes;
};

struct Region {
  int parent = -1;
  int var = 0;
  i64 extent = 0;
  loop::LoopKind kind = loop::LoopKind::serial;
};

struct State {
  std::string name;
  std::vector<std::string> vars;
  std::vector<loop::Buffer> buffers;
  std::vector<Region> regions;
  std::vector<Stage> stages;  // in program order

  const Stage& stage(int id) const { return stages[at(id)]; }
  Stage& stage(int id) { return stages[at(id)]; }
  const loop::Buffer& buffer(i64 id) const { return buffers[at(id)]; }
  loop::Buffer& buffer(i64 id) { return buffers[at(id)]; }
};

State make_state(const loop::Func& func);

// --- look-ups --------------------------------------------------------------------------------------------------------
int find_stage(const State& state, const std::string& block);  // -1 if none
int find_loop(const Stage& stage, const std::string& name);    // index in loops; -1
int find_axis(const Stage& stage, int var);                    // index in axes; -1
int find_buffer(const State& state, const std::string& name);  // -1
bool is_reduction(const Stage& stage);                         // has a reduction axis
bool is_reduction_loop(const Stage& stage, const LoopSpec& loop);
loop::Range span_over(const State& state, const Stage& stage,
                      const Affine& index);  // what the stage's loops make of it
bool reads(const Stage& stage, int buffer);
bool writes(const Stage& stage, int buffer);
// Whether what the stage reads of the buffer depends on a condition and the rest may not be the kernel's: a parameter
// can be a part of a larger value (docs/GRAPH.md, Views). What is read for all values of the axes must not be copied.
bool reads_part_of_parameter(const State& state, const Stage& stage, int buffer);
bool has_layout(const loop::Buffer& buffer);               // a constant whose order of elements a step has chosen
std::vector<int> readers(const State& state, int buffer);  // stages that are not inlined
bool sole_writer(const State& state, int stage);
// Why a step may not take the stage's loops apart: another stage is computed inside them. "" when none is.
Reason hosts_others(const State& state, int stage, std::string_view what);
// One dimension of a store's index: an axis plus a constant, or (axis -1) just a constant; or tiles: axis * tile +
// inner + offset, where inner is an axis of extent `tile`.
struct StoreDim {
  int axis = -1;
  i64 offset = 0;
  int inner = -1;
  i64 tile = 1;
};
std::vector<StoreDim> store_dims(const Stage& stage);
// Each axis of a producer (its variable) where one load of its buffer reads: what the load's index says of it.
std::map<int, loop::Expr> axes_at(const Stage& producer, const std::vector<StoreDim>& dims, const loop::Expr& load);
bool writes_tiles(const Stage& stage);  // some dimension is of the second kind

// --- edits -----------------------------------------------------------------------------------------------------------
int new_buffer(State& state, std::string name, DType dtype, Shape shape);  // a temp; its index. Names stay different
// A variable of its own for an axis; several may have one name.
int new_var(State& state, const std::string& name);
// A new serial axis of the stage and the loop over it, innermost; returns its variable.
int add_axis(State& state, Stage& stage, const std::string& name, i64 extent, bool reduction = false);
int insert_stage(State& state, int before, Stage stage);  // returns its index; hosts of other stages are renumbered
// May the computation of stage `from` happen just before stage `to` instead? (Hazards on the buffers it reads and
// writes.)
Reason may_move(const State& state, int from, int to);
// Whether the block is a stage that a step may edit; else why not. `what` is the step's name.
Reason schedulable(const State& state, const std::string& block, std::string_view what);
// Whether it is also a reduction over this loop, all loops as they were made, no block computed in them and none made
// of it yet that has the name `block`.`what`.
Reason whole_reduction(const State& state, const std::string& block, const std::string& loop, std::string_view what);

}  // namespace mcc::schedule
