// What the two halves of the tile rule share: tile.cc, the loops of the host, and tile_reduction.cc, those of the
// reduction inside.
#pragma once
#include <string>
#include <vector>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

struct Tile {
  std::string block;  // the reduction
  Host host;
  TileAxes axes;
  i64 lanes = 1;
  bool two_rows = false;               // the register tile also has rows of outer_row
  std::string row, outer_row, column;  // the host's loops; "" if none
  std::string blocked;                 // the host's loop that is cut into cache blocks
  std::string by_channels;             // the producer to make for a block of columns at a time (channels.cc)
  std::string feeder;                  // the stage that makes the rows of each cache block (separable.cc)
  RegisterTile preferred;
  bool in_blocks = false;  // the reduction is made in blocks, each for all rows of a column tile
};

// Order, unrolling and, where t.in_blocks, blocks of the reduction's own loops.
void choose_reduction(Builder& b, const Tile& t);

}  // namespace mcc::schedule
