// mcc-bench without the clock: the description of models for peers, and the forms of a report.
#include <gtest/gtest.h>

#include "bench/report.h"
#include "bench/steps.h"
#include "graph/print.h"

namespace mcc {
namespace {

Graph parse(const char* text) { return parse_graph(text); }

TEST(PeerSteps, EpilogueJoinsTheConvolution) {
  const auto steps = peer_steps(parse(R"(graph {
  input %x: f32[1,4,6,6]
  input %r: f32[1,8,3,3]
  const %w: f32[8,4,3,3] = hash:1
  const %b: f32[8] = hash:1
  %c: f32[1,8,3,3] = Conv(%x, %w, %b) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}
  %s: f32[1,8,3,3] = Add(%c, %r)
  %y: f32[1,8,3,3] = Relu(%s)
  output %y
})"));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0]["op"], "conv");
  EXPECT_EQ(steps[0]["in"], (std::vector<i64>{1, 4, 6, 6}));
  EXPECT_EQ(steps[0]["strides"], (std::vector<i64>{2, 2}));
  EXPECT_EQ(steps[0]["bias"], true);
  EXPECT_EQ(steps[0]["residual"], true);
  EXPECT_EQ(steps[0]["activation"], "relu");
}

TEST(PeerSteps, AProductWithAWeightHasNoBatch) {
  const auto steps = peer_steps(parse(R"(graph {
  input %x: f32[2,5,7]
  const %w: f32[7,3] = hash:1
  %m: f32[2,5,3] = MatMul(%x, %w)
  %y: f32[2,5,3] = Softmax(%m) {axis=2}
  output %y
})"));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0]["batch"], 1);
  EXPECT_EQ(steps[0]["m"], 10);
  EXPECT_EQ(steps[0]["n"], 3);
  EXPECT_EQ(steps[0]["k"], 7);
  EXPECT_EQ(steps[0]["constant"], true);
  EXPECT_EQ(steps[1]["rows"], 10);
  EXPECT_EQ(steps[1]["columns"], 3);
}

TEST(PeerSteps, WhatPeersDoNotKnowHasNoSteps) {
  EXPECT_TRUE(peer_steps(parse(R"(graph {
  input %x: f32[4]
  %y: f32[4] = Sin(%x)
  output %y
})"))
                  .empty());
}

BenchReport sample() {
  BenchReport report{{100, 10}, 2, 0.1, {}};
  for (const double factor : {0.5, 2.0}) {
    BenchRow row{"a<b", 1, {{"mcc"}, {"slow"}, {"fast"}}, {}, {}};
    for (const double noise : {1.5, 1.0}) {
      row.sides[0].add({{"min_ms", factor * noise}, {"median_ms", factor * 2}, {"load_ms", noise}});
      row.sides[1].add({{"min_ms", 4 * noise}, {"median_ms", 8}});
      row.sides[2].add({{"min_ms", noise}, {"median_ms", 1}});
    }
    report.rows.push_back(row);
  }
  report.rows[0].kernels.push_back({"conv", 0.5, 0.6, 25'000'000, 1'000'000});
  return report;
}

TEST(BenchReport, RatiosAreToTheBestPeer) {
  const BenchReport report = sample();
  EXPECT_EQ(report.rows[0].best_peer()->name, "fast");
  EXPECT_EQ(report.rows[0].sides[0].load_ms, 1.0) << "of the pass with the least minimum";
  const MeanRatio mean = mean_ratio(report, 1);
  EXPECT_EQ(mean.models, 2);
  EXPECT_DOUBLE_EQ(mean.by_min, 1.0);
  EXPECT_DOUBLE_EQ(mean.by_median, 2.0);
  EXPECT_EQ(mean_ratio(report, 2).models, 0);
}

TEST(BenchReport, TableAndJsonTellTheSame) {
  const BenchReport report = sample();
  const std::string row = table_row(report.rows[0], report.limits);
  EXPECT_NE(row.find("ratio 0.500 (1.000)"), std::string::npos) << row;
  EXPECT_NE(row.find("50.0    50%    20%"), std::string::npos) << row;
  const auto json = to_json(report);
  EXPECT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0]["best_peer"], "fast");
  EXPECT_DOUBLE_EQ(json["rows"][0]["ratio_min"], 0.5);
  EXPECT_DOUBLE_EQ(json["rows"][0]["kernels"][0]["gflops"], 50.0);
  EXPECT_DOUBLE_EQ(json["geometric_means"][0]["ratio_min"], 1.0);
}

TEST(BenchReport, PlotHasADotForEachSide) {
  const std::string svg = to_svg(sample());
  EXPECT_NE(svg.find("a&lt;b (1)"), std::string::npos);
  size_t dots = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) dots++;
  EXPECT_EQ(dots, 3u + 2 * 3u) << "the legend and two rows";
}

}  // namespace
}  // namespace mcc
