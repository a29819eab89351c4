// See report.h: ratios, the table and JSON.
#include "bench/report.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace mcc {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double giga_per_s(i64 count, double ms) { return ms > 0 ? static_cast<double>(count) / ms * 1e-6 : 0; }

std::set<int> thread_counts(const BenchReport& report) {
  std::set<int> counts;
  for (const BenchRow& row : report.rows) counts.insert(row.threads);
  return counts;
}

std::string kernel_table(const BenchRow& row, const MachineLimits& limits) {
  std::string text = fmt::format("    {:<44} {:>9} {:>9} {:>8} {:>6} {:>6}\n", "kernel", "min ms", "median", "GFLOP/s",
                                 "FMA", "memory");
  for (const KernelTime& k : row.kernels) {
    const double gflops = giga_per_s(k.flops, k.min_ms), gbs = giga_per_s(k.bytes, k.min_ms);
    const auto share = [](double value, double limit) {
      return limit > 0 ? fmt::format("{:.0f}%", 100 * value / limit) : std::string("-");
    };
    text += fmt::format("    {:<44} {:9.4f} {:9.4f} {:8.1f} {:>6} {:>6}\n", k.name, k.min_ms, k.median_ms, gflops,
                        share(gflops, limits.fma_gflops * row.threads), share(gbs, limits.read_gbs));
  }
  return text;
}

std::string row_line(const BenchRow& row) {
  std::string text = fmt::format("{:<38} {:>3}", row.model, row.threads);
  for (const Side& side : row.sides) text += fmt::format("  {} {:.4f} ({:.4f})", side.name, side.best(), side.middle());
  if (const Side* peer = row.best_peer()) {
    text += fmt::format("  ratio {:.3f} ({:.3f})", row.sides[0].best() / peer->best(),
                        row.sides[0].middle() / peer->middle());
    if (row.resident && peer->load_ms > 0)
      text += fmt::format("  load+first {:.2f} ms, {} {:.2f} ms", row.sides[0].load_ms + row.sides[0].first_ms,
                          peer->name, peer->load_ms + peer->first_ms);
  }
  if (row.resident)
    text += fmt::format("  resident {} KiB, needed {} KiB", row.resident->peak_kib, row.resident->needed_kib);
  return text + "\n";
}

nlohmann::ordered_json row_json(const BenchRow& row) {
  nlohmann::ordered_json sides = nlohmann::ordered_json::array(), json;
  for (const Side& side : row.sides) {
    sides.push_back({{"name", side.name}, {"min_ms", side.best()}, {"median_ms", side.middle()}});
    if (side.load_ms > 0) {
      sides.back()["load_ms"] = side.load_ms;
      sides.back()["first_ms"] = side.first_ms;
    }
  }
  json = {{"model", row.model}, {"threads", row.threads}, {"sides", sides}};
  if (const Side* peer = row.best_peer()) {
    json["best_peer"] = peer->name;
    json["ratio_min"] = row.sides[0].best() / peer->best();
    json["ratio_median"] = row.sides[0].middle() / peer->middle();
  }
  for (const KernelTime& k : row.kernels)
    json["kernels"].push_back({{"name", k.name},
                               {"min_ms", k.min_ms},
                               {"median_ms", k.median_ms},
                               {"flops", k.flops},
                               {"bytes", k.bytes},
                               {"gflops", giga_per_s(k.flops, k.min_ms)},
                               {"gbs", giga_per_s(k.bytes, k.min_ms)}});
  if (row.resident) json["resident"] = {{"peak_kib", row.resident->peak_kib}, {"needed_kib", row.resident->needed_kib}};
  return json;
}

}  // namespace

double Side::best() const { return min_ms.empty() ? 0 : *std::min_element(min_ms.begin(), min_ms.end()); }
double Side::middle() const { return median(median_ms); }

void Side::add(const nlohmann::json& report) {
  const double ms = report.at("min_ms");
  if (min_ms.empty() || ms < best()) {
    load_ms = report.value("load_ms", 0.0);
    first_ms = report.value("first_ms", 0.0);
  }
  min_ms.push_back(ms);
  median_ms.push_back(report.at("median_ms"));
}

const Side* BenchRow::best_peer() const {
  const Side* best = nullptr;
  for (size_t i = 1; i < sides.size(); i++) {
    if (!best || sides[i].best() < best->best()) best = &sides[i];
  }
  return best;
}

MeanRatio mean_ratio(const BenchReport& report, int threads) {
  MeanRatio mean;
  double log_min = 0, log_median = 0;
  for (const BenchRow& row : report.rows) {
    const Side* peer = row.best_peer();
    if (row.threads != threads || !peer) continue;
    mean.models++;
    log_min += std::log(row.sides[0].best() / peer->best());
    log_median += std::log(row.sides[0].middle() / peer->middle());
  }
  if (mean.models > 0) {
    mean.by_min = std::exp(log_min / mean.models);
    mean.by_median = std::exp(log_median / mean.models);
  }
  return mean;
}

std::string table_head(const BenchReport& report) {
  std::string text;
  if (report.limits.fma_gflops > 0)
    text += fmt::format("one thread: {:.1f} GFLOP/s multiply-add peak, {:.1f} GB/s read from memory\n",
                        report.limits.fma_gflops, report.limits.read_gbs);
  return text +
         fmt::format("milliseconds: minimum (median) of {} passes; ratio: mcc to the best peer\n", report.passes);
}

std::string table_row(const BenchRow& row, const MachineLimits& limits) {
  return row_line(row) + (row.kernels.empty() ? "" : kernel_table(row, limits));
}

std::string table_foot(const BenchReport& report) {
  std::string text;
  for (const int threads : thread_counts(report)) {
    const MeanRatio mean = mean_ratio(report, threads);
    if (mean.models > 0)
      text += fmt::format("geometric mean over {} models, {} thread(s): {:.3f} ({:.3f})\n", mean.models, threads,
                          mean.by_min, mean.by_median);
  }
  return text;
}

nlohmann::ordered_json to_json(const BenchReport& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array(), means = nlohmann::ordered_json::array();
  for (const BenchRow& row : report.rows) rows.push_back(row_json(row));
  for (const int threads : thread_counts(report)) {
    const MeanRatio mean = mean_ratio(report, threads);
    if (mean.models > 0)
      means.push_back({{"threads", threads},
                       {"models", mean.models},
                       {"ratio_min", mean.by_min},
                       {"ratio_median", mean.by_median}});
  }
  return {{"fma_gflops", report.limits.fma_gflops},
          {"read_gbs", report.limits.read_gbs},
          {"passes", report.passes},
          {"seconds", report.seconds},
          {"rows", rows},
          {"geometric_means", means}};
}

}  // namespace mcc
