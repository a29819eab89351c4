// Rules write sketches. A Builder holds the sketch so far, and a State on which each step, at its preferred choice, has
// been run: so rules look up names and facts in the program as it stands. Loop and block names never depend on the
// choice of a knob.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "schedule/rules/analysis.h"
#include "schedule/sketches.h"
#include "schedule/steps.h"

namespace mcc::schedule {

// The algorithms that a sketch may use.
struct Variant {
  const char* name = "";
  bool pack = true;               // constants may be packed
  bool reduction_blocks = false;  // long reductions are made in blocks
  bool separable = false;         // depthwise convolutions are made in row blocks of the product that reads them
  bool strips = false;            // pools reduce the rows of their windows first
  bool parts = false;             // long reductions to few outputs are made in parts
  bool copy_rows = false;         // what a tile of rows reads is copied for all its columns
  bool skip = false;              // products with the border of the input are left out
  double worth = kWorthAnotherAlgorithm;  // to become the default (sketches.h)
  i64 winograd = 0;                       // outputs along an edge of Winograd's tiles; 0: direct convolutions
  Role role = Role::usual;
};

// A knob in the making.
struct Choice {
  std::vector<i64> options;
  std::vector<std::vector<Step>> alternatives;
  int best = 0;  // the last good one

  void add(i64 option, std::vector<Step> steps, bool good = false);
};

struct Builder {
  Sketch sketch;
  std::vector<int> preferred;                       // one choice for each knob
  std::vector<bool> settled;                        // for each knob: the rule knows better than the analytic model
  std::vector<std::pair<size_t, size_t>> together;  // knobs to be tried in pairs, too
  State state;
  Target target;
  Variant variant;
  bool special = false;        // what only this variant does was done: separable, strips, skip
  bool only_searched = false;  // a rule leaves it to the search whether its sketch is any good
  std::set<std::string> done;  // blocks that have their schedule

  const Stage& stage(const std::string& block) const;
  // Adds steps that every candidate has. MCC_CHECKs that they are legal.
  void fixed(std::vector<Step> steps);
  // Adds a knob, and the steps it decides.
  void choice(const std::string& name, std::vector<i64> options, std::vector<std::vector<Step>> alternatives,
              int preferred, bool settled = false);
  void choice(const std::string& name, Choice choice, bool settled = false);
  void try_together(const std::string& knob, const std::string& other);  // if there are such knobs
};

// Whether the step is legal on the state as it stands.
bool legal(const State& state, const Step& step);

// Steps in short.
Step split_step(const std::string& block, const std::string& loop, std::vector<i64> factors);
Step mark_step(const std::string& block, const std::string& loop, const std::string& kind);
Step step_of(StepKind kind, const std::string& block, std::vector<std::string> words = {}, std::vector<i64> ints = {});

// The names of all groups, one after the other.
std::vector<std::string> in_order(const std::vector<std::vector<std::string>>& groups);

// --- inline.cc: producers that cost little, or are used once, go into their consumers.
void rule_inline(Builder& b);
// --- skip.cc: paddings whose zeros need not be multiplied with; before rule_inline.
void rule_skip(Builder& b);
// --- map.cc: a stage without reduction: one vectorised axis, parallel outer loops unless `place` decides where it is
// computed.
void rule_map(Builder& b, const std::string& block, bool parallel);
// --- tile.cc: a reduction with a spatial axis to vectorise: register tile, cache tiles, packing, epilogue. False: not
// of that kind. `feeder`: a stage with a schedule, whose part for each block of rows is made before that.
bool rule_tile(Builder& b, const std::string& block, const std::string& feeder = "");
// --- separable.cc: a depthwise convolution and the product that reads it. False: not of that kind.
bool rule_separable(Builder& b, const std::string& block);
// Blocks of the image's rows that the feeder makes at once: how many rows, an index into these, pixels in a row.
struct FedRows {
  std::vector<i64> sizes;
  int preferred = 0;
  i64 pixels = 1;
};
FedRows fed_rows(const Builder& b, const std::string& feeder, const std::string& product);
// --- strips.cc: a pool. False: not of that kind, or not worth it.
bool rule_strips(Builder& b, const std::string& block);
// --- winograd.cc: a 3x3 convolution in tiles of Variant::winograd outputs. False: not of that kind.
bool rule_winograd(Builder& b, const std::string& block);
// A strided operand that is used many times is copied first, the column axis innermost. Whether one was.
bool copy_strided(Builder& b, const std::string& block);
// --- tile_axes.cc
struct TileAxes {        // of the reduction; -1: none
  int column = -1;       // vectorised
  int row = -1;          // its values share the column operand's vectors; unrolled
  int outer_row = -1;    // next outer axis of the same kind: rows of an image
  double cost = 0;       // per multiplication, in vectors; near 1/lanes when all is well
  bool gathers = false;  // an operand that is not constant must be read with a stride
};
TileAxes tile_axes(const Builder& b, const Stage& stage);
// The pack steps that suit a register tile; none where constants are used in another way, too.
std::vector<Step> pack_steps(const Builder& b, const Stage& stage, const TileAxes& axes, i64 columns, i64 rows,
                             i64 outer_rows);
// The map stage that alone reads the reduction, element by element, with its loop for each axis of the reduction; or ""
// if none.
struct Host {
  std::string block;
  std::vector<std::string> loop_of;  // for each axis of the reduction; "" for reduction axes and unit ones
};
Host find_host(const State& state, const std::string& block);
// --- panel.cc
struct Panel {
  std::optional<Step> copy;  // of an operand known only at run time that a column tile would read in distant rows
  bool needed = false;       // its rows would not find room in a cache as they lie
};
Panel find_panel(const Builder& b, const Stage& stage, const TileAxes& axes);
// Makes the copy for each iteration of the host's loop over column tiles.
std::vector<Step> panel_steps(const Step& copy, const std::string& host, const std::string& loop, i64 vectors,
                              i64 lanes);
// --- rows.cc
struct RowPanel {  // an operand to copy for each tile of rows
  std::string buffer;
  std::vector<std::string> outer;      // axes of the reduction that it moves with: spatial ones,
  std::string row;                     // the tile's rows,
  std::vector<std::string> reduction;  // reduced ones; empty: there is no such operand
};
RowPanel find_row_panel(const Builder& b, const Stage& stage, const TileAxes& axes);
// Makes the copy in each iteration of the host's loop: row by row, or the rows side by side.
std::vector<Step> row_panel_steps(const RowPanel& panel, const std::string& block, const std::string& host,
                                  const std::string& loop, i64 lanes, bool rows_first);
// --- prefetch.cc: whether and how a large constant is fetched ahead. Its panels are walked for `tile_rows` rows at
// once.
void choose_prefetch(Builder& b, const std::string& block, i64 tile_rows, i64 panel_elements);
// --- parts.cc: a long reduction to few outputs is made in parts. The block to schedule next: that of the parts, or
// `block` itself where there are none.
std::string cut_reduction(Builder& b, const std::string& block);
// --- row.cc: reductions along the contiguous axis, and chains of them (softmax, normalisations) row by row. False: not
// of that kind.
bool rule_row(Builder& b, const std::string& block);
// Lanes and vectors of the reduction of `block`, kept apart to the end. The partial results live in registers inside
// the last loop.
void lanes_of_reduction(Builder& b, const std::string& block);
// --- attention.cc: a softmax between two products, block of rows by block of rows. False: there is none.
bool rule_attention(Builder& b);
// The stage that such a softmax reads; "" if there is none.
std::string attention_scores(const State& state);
// --- opaque.cc
void rule_opaque(Builder& b, const std::string& block);

// Whether work of `seconds` is worth a parallel loop.
bool worth_threads(double seconds, const Target& target);
// How many of the outermost loops with these trip counts to run in parallel for work of `seconds`: 0 when it does not
// pay.
int parallel_depth(const std::vector<i64>& counts, double seconds, const Target& target);

// --- register_tile.cc
struct RegisterTile {
  i64 rows2 = 1, rows = 1, vectors = 1;  // of the second row axis, of the row axis, vectors of lanes
  double cycles = 0;                     // estimate for the whole stage
};
struct TileProblem {
  i64 rows2 = 1, rows = 1, columns = 1;  // extents; rows2 1: no second row axis
  i64 reduction = 1;
  int loads_both = 0, loads_column = 0, loads_row = 0;  // operands that move with both, only columns, only rows
};
std::vector<RegisterTile> register_tiles(const TileProblem& problem, const Target& target, i64 lanes);  // best first

// --- channels.cc
// Stages without reduction that only this reduction reads.
std::vector<std::string> own_producers(const Builder& b, const std::string& block);
// The producer of a depthwise convolution's input; "" if it is not of that kind.
std::string channel_producer(const Builder& b, const Stage& stage, const TileAxes& axes);
// The tile for it: as many rows as leave registers for the window of inputs that neighbours share.
RegisterTile channel_tile(const Builder& b, const Stage& stage, const TileAxes& axes, const std::string& producer,
                          const std::vector<RegisterTile>& tiles);
// How many of the image's rows (an index into `sizes`) the producer makes at once for a block of columns.
int channel_rows(const Builder& b, const std::string& producer, i64 columns, i64 channels, i64 rows,
                 const std::vector<i64>& sizes);

}  // namespace mcc::schedule
