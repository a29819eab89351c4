// Register tiles: which (rows x vectors of columns) blocks of accumulators fit the register file, and what each costs
// for given extents.
//
// One step of the reduction on a tile of r rows and v vectors takes, in cycles, the largest of: r*v FMAs at the rate
// the target starts them; the latency of one FMA (each accumulator is used once a step); its loads. Ragged extents are
// summed over main part and tails, as the generator emits them, so 14 rows prefer tiles of 7 or 5 over 6. Each tile
// also pays for zeroing and writing back.
#include <algorithm>
#include <cmath>

#include "schedule/rules/rules.h"

namespace mcc::schedule {

namespace {

constexpr i64 kUnsharedRows = 8;  // depthwise and pools: more rows share nothing, they only make code

struct Parts {
  i64 full = 0, rest = 0;
};
Parts parts(i64 extent, i64 tile) { return {extent / tile, extent % tile}; }

double tile_cycles(const TileProblem& p, const Target& target, double rows, double vectors) {
  const double fmas = rows * vectors / target.fma_per_cycle;
  const double loads =
      (p.loads_both * rows * vectors + p.loads_column * vectors + p.loads_row * rows) / target.loads_per_cycle;
  const double latency = target.fma_latency;
  const double step = std::pow(std::pow(fmas, 4) + std::pow(latency, 4) + std::pow(loads, 4), 0.25);
  const double around = 12 + 3 * rows * vectors;  // start values, write-back, loop control
  return step * static_cast<double>(p.reduction) + around;
}

double total_cycles(const TileProblem& p, const Target& target, i64 lanes, const RegisterTile& tile) {
  double sum = 0;
  const Parts y = parts(p.rows2, tile.rows2), x = parts(p.rows, tile.rows), n = parts(p.columns, tile.vectors * lanes);
  // Partial vectors cost extra instructions.
  const double ragged = n.rest % lanes != 0 && !target.masked_memory ? 0.5 : 0;
  const auto over_columns = [&](double rows, double times) {
    sum += times * static_cast<double>(n.full) * tile_cycles(p, target, rows, static_cast<double>(tile.vectors));
    if (n.rest > 0) sum += times * tile_cycles(p, target, rows, static_cast<double>(ceil_div(n.rest, lanes)) + ragged);
  };
  const auto over_rows = [&](i64 rows2, i64 times) {
    over_columns(static_cast<double>(rows2 * tile.rows), static_cast<double>(times * x.full));
    if (x.rest > 0) over_columns(static_cast<double>(rows2 * x.rest), static_cast<double>(times));
  };
  over_rows(tile.rows2, y.full);
  if (y.rest > 0) over_rows(y.rest, 1);
  return sum;
}

}  // namespace

std::vector<RegisterTile> register_tiles(const TileProblem& p, const Target& target, i64 lanes) {
  std::vector<RegisterTile> tiles;
  const bool shared = p.loads_both == 0 || p.loads_row > 0;
  const i64 most_vectors = std::min<i64>(ceil_div(p.columns, lanes), p.rows * p.rows2 == 1 ? 8 : 4);
  for (i64 vectors = 1; vectors <= most_vectors; vectors++) {
    for (i64 rows2 = 1; rows2 <= std::min<i64>(p.rows2, 4); rows2++) {
      for (i64 rows = 1; rows <= std::min<i64>(p.rows, target.vector_registers); rows++) {
        if (rows2 > 1 && rows != p.rows && rows > 4) continue;
        const i64 used = rows * rows2 * vectors + std::max(1, p.loads_column) * vectors + 1;
        if (used > target.vector_registers || (!shared && rows * rows2 * vectors > 2 * kUnsharedRows)) continue;
        RegisterTile tile{rows2, rows, vectors, 0};
        tile.cycles = total_cycles(p, target, lanes, tile) * (used == target.vector_registers ? 1.03 : 1);
        tiles.push_back(tile);
      }
    }
  }
  if (tiles.empty()) tiles.push_back({1, 1, 1, 0});
  const auto better = [](const RegisterTile& a, const RegisterTile& b) {
    if (std::abs(a.cycles - b.cycles) > 0.005 * std::min(a.cycles, b.cycles)) return a.cycles < b.cycles;
    return a.rows * a.rows2 * a.vectors < b.rows * b.rows2 * b.vectors;
  };
  std::stable_sort(tiles.begin(), tiles.end(), [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  const double limit = tiles[0].cycles * 1.6;
  while (tiles.size() > 1 && (tiles.back().cycles > limit || tiles.size() > 24)) tiles.pop_back();
  for (size_t i = 1; i < tiles.size(); i++) {  // among equals the smaller tile: less code
    if (better(tiles[i], tiles[0])) std::swap(tiles[0], tiles[i]);
  }
  return tiles;
}

}  // namespace mcc::schedule
