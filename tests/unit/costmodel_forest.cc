// The trees of the cost model as text: what is written reads back equal, what is damaged is refused with its line; and
// the ones that ship fit this program's features.
#include "costmodel/forest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "costmodel/cost_model.h"
#include "costmodel/training.h"

namespace mcc {
namespace {

const std::string kHead = fmt::format("mcc-forest 1 features {}\n", kFeatureVersion);

TEST(Forest, GoesDownOneBranchOfEachTree) {
  const Forest forest = forest_from_text(kHead + "1<2.5 2<1 =10 =20 =30\n=0.5\n");
  ASSERT_EQ(forest.trees.size(), 2);
  EXPECT_EQ(forest.score(std::vector<float>{0, 2, 0}), 10.5);
  EXPECT_EQ(forest.score(std::vector<float>{0, 2, 1}), 20.5);
  EXPECT_EQ(forest.score(std::vector<float>{0, 2.5, 0}), 30.5);
  EXPECT_EQ(forest.score(std::vector<float>{1, 2.5, 0}), 30.5 - kAnalyticWeight);
  EXPECT_EQ(forest_from_text(to_text(forest)), forest);
}

TEST(Forest, DamagedTextIsRefusedWithItsLine) {
  const std::pair<std::string, std::string> cases[] = {{"", "forest:1: does not start"},
                                                       {"mcc-forest 1 features 1\n", "forest:1: trained on features 1"},
                                                       {kHead + "1<2 =1\n", "forest:2: the tree ends in the middle"},
                                                       {kHead + "=1\n=1 =2\n", "forest:3: more nodes"},
                                                       {kHead + "999<2 =1 =2\n", "forest:2: there is no feature 999"},
                                                       {kHead + "1<x =1 =2\n", "forest:2: \"x\" is no number"},
                                                       {kHead + "1:2 =1 =2\n", "forest:2: \"1:2\" is neither"}};
  for (const auto& [text, message] : cases) {
    try {
      forest_from_text(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(message));
    }
  }
}

TEST(Forest, LearnsWhatTheAnalyticModelHasWrong) {
  RankGroup group;
  for (int i = 0; i < 64; i++) {
    const auto x = static_cast<float>(i % 8), y = static_cast<float>(i / 8);
    std::vector<float> row(feature_names().size());
    row[0] = x, row[3] = y;
    group.rows.push_back(row);
    group.seconds.push_back(1 + y - 0.1 * x);  // y counts, which the analytic model does not know
  }
  const auto accuracy = [&](const Forest& forest) {
    std::vector<double> scores;
    for (const std::vector<float>& row : group.rows) scores.push_back(forest.score(row));
    return rank_quality(scores, group.seconds, 10).pairwise_accuracy;
  };
  const Forest learned = train_forest(std::vector<RankGroup>{group}, {}, {});
  EXPECT_LT(accuracy({}), 0.6);
  EXPECT_GT(accuracy(learned), 0.9);
  EXPECT_EQ(forest_from_text(to_text(learned)), learned);
}

TEST(Forest, TheShippedOneIsForTheseFeatures) { EXPECT_FALSE(shipped_forest().trees.empty()); }

}  // namespace
}  // namespace mcc
