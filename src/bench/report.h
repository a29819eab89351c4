// What mcc-bench found, and its forms: table, JSON and a plot. Times are of one run of the model; a side's minimum and
// median are over all passes, so that a slow spell of the machine does not fall on one side alone.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/base.h"

namespace mcc {

// One program that ran the model: mcc or a peer.
struct Side {
  std::string name;
  std::vector<double> min_ms{}, median_ms{};  // one for each pass
  double load_ms = 0, first_ms = 0;           // of the best pass; 0: not told

  double best() const;                     // the least minimum
  double middle() const;                   // the median of the medians
  void add(const nlohmann::json& report);  // a pass: min_ms, median_ms, and load_ms, first_ms when told
};

struct KernelTime {
  std::string name;
  double min_ms = 0, median_ms = 0;
  i64 flops = 0, bytes = 0;
};

// The stand-alone program's resident memory, and what it cannot do without.
struct Resident {
  i64 peak_kib = 0, needed_kib = 0;  // needed: weights, arena, inputs and outputs
};

struct BenchRow {
  std::string model;
  int threads = 1;
  std::vector<Side> sides;  // mcc first
  std::vector<KernelTime> kernels;
  std::optional<Resident> resident;

  const Side* best_peer() const;  // the one with the least minimum, or nullptr
};

// What one thread of the machine can do; 0: not measured.
struct MachineLimits {
  double fma_gflops = 0, read_gbs = 0;
};

struct BenchReport {
  MachineLimits limits;
  int passes = 0;
  double seconds = 0;
  std::vector<BenchRow> rows;
};

// Geometric mean of mcc / best peer over the rows with that many threads, by minimum and by median.
struct MeanRatio {
  int models = 0;
  double by_min = 0, by_median = 0;
};
MeanRatio mean_ratio(const BenchReport& report, int threads);

// The table in three parts, so that rows can be shown as they come.
std::string table_head(const BenchReport& report);
std::string table_row(const BenchRow& row, const MachineLimits& limits);
std::string table_foot(const BenchReport& report);

nlohmann::ordered_json to_json(const BenchReport& report);
std::string to_svg(const BenchReport& report);  // a line for each row, a dot for each side, relative to the best peer

}  // namespace mcc
