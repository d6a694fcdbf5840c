#include "debias/data/group_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

namespace debias {
namespace group_counts_test {

using testing::ElementsAre;

TEST(GroupCounts, CountsSamplesOfKnownClassAndBiasLabel) {
  GroupCounts counts(2, 3);
  for (const auto& [label, bias, right] : {std::tuple{0, 1, true}, {0, 1, false}, {0, 2, true}, {1, 0, true}})
    counts.add(counts.group(label, bias), right);
  counts.add(counts.group(kUnknown, 1), true);
  counts.add(counts.group(1, kUnknown), true);
  EXPECT_THAT(counts.count, ElementsAre(0, 2, 1, 1, 0, 0));
  EXPECT_THAT(counts.correct, ElementsAre(0, 1, 1, 1, 0, 0));
  EXPECT_THAT(counts.of_classes(), ElementsAre(3, 1));
  EXPECT_THAT(counts.of_biases(), ElementsAre(1, 2, 1));
  EXPECT_DOUBLE_EQ(counts.accuracy(1), 0.5);
  EXPECT_TRUE(std::isnan(counts.accuracy(0)));
}

TEST(GroupCounts, TheMajorityIsTheLowestOfEquallyFrequentOnes) {
  const GroupCounts counts({{3, 5, 5}, {0, 0, 0}, {2, 1, 0}});
  EXPECT_THAT(counts.majorities(), ElementsAre(1, kUnknown, 0));
  EXPECT_EQ(counts.conflicting(), 8 + 1);
  EXPECT_THAT(GroupCounts(2, 0).majorities(), ElementsAre(kUnknown, kUnknown));
  EXPECT_EQ(GroupCounts(std::vector<std::vector<int64_t>>()).conflicting(), 0);
}

TEST(GroupCounts, UsualBiasLabelsAreTheMajorityAndOthersThatSpeakForTheClass) {
  // Two sites of each of two species: 45 + 42 of 100 at one's own.
  EXPECT_THAT(GroupCounts({{45, 42, 7, 6}, {4, 7, 45, 44}}).usual(), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  // 22 of 60 and 20 expected: within three deviations of 4.5.
  EXPECT_THAT(GroupCounts({{40, 22, 18}, {20, 38, 22}, {0, 0, 0}}).usual(), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre()));
  // The majority does not speak for the third class: it alone is usual.
  EXPECT_THAT(GroupCounts({{90, 10}, {90, 10}, {60, 40}}).usual(), ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(0)));
  EXPECT_THAT(GroupCounts(2, 0).usual(), ElementsAre(ElementsAre(), ElementsAre()));
}

TEST(GroupCounts, TheWorstAndTheMeanAreOverTheGroupsThatCount) {
  GroupCounts counts({{4, 2}, {1, 3}});
  counts.correct = {3, 1, 0, 3};
  const GroupAccuracies all = counts.accuracies({true, true, true, true}), some = counts.accuracies({true, true, false, true});
  EXPECT_DOUBLE_EQ(all.worst, 0);
  EXPECT_DOUBLE_EQ(all.mean, (0.75 + 0.5 + 0 + 1) / 4);
  EXPECT_EQ(some.groups, 3);
  EXPECT_DOUBLE_EQ(some.worst, 0.5);
  EXPECT_TRUE(std::isnan(counts.accuracies({false, false, false, false}).worst));
  EXPECT_TRUE(std::isnan(counts.accuracies({false, false, false, false}).mean));
}

TEST(GroupCounts, SmallGroupsArePooledInThePlaceOfTheFirst) {
  EXPECT_THAT(GroupCounts({{10, 3, 0}, {9, 12, 1}}).pools(10), ElementsAre(0, 1, kUnknown, 1, 2, 1));
  EXPECT_THAT(GroupCounts({{10, 0}, {10, 11}}).pools(10), ElementsAre(0, kUnknown, 1, 2));
}

}  // namespace group_counts_test
}  // namespace debias
