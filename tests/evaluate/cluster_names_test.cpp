#include "debias/evaluate/cluster_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/data/sample_table.h"

namespace debias {
namespace cluster_names_test {

using testing::ElementsAre;

TEST(ClusterNames, AreThoseOfTheClassesThatTheyGoWith) {
  EXPECT_THAT(cluster_names({1, 1, 1, 0, 0, 0}, {0, 0, 1, 1, 1, 0}, {"cat", "dog"}, 2), ElementsAre("like_dog", "like_cat"));
}

TEST(ClusterNames, ASecondOneOfAClassIsNumberedTheLargerFirst) {
  EXPECT_THAT(cluster_names({0, 1, 1, 2, 2, 2}, {0, 0, 0, 0, 0, 0}, {"cat", "dog"}, 3),
              ElementsAre("like_cat_3", "like_cat_2", "like_cat"));
}

TEST(ClusterNames, OfEqualCountsTheLowerClassAndUnknownLabelsDoNotCount) {
  EXPECT_THAT(cluster_names({0, 0, 0, 0}, {kUnknown, kUnknown, 1, 0}, {"cat", "dog"}, 1), ElementsAre("like_cat"));
  EXPECT_THAT(cluster_names({0, 0, 0}, {kUnknown, kUnknown, 1}, {}, 1), ElementsAre("like_1"));
}

TEST(ClusterNames, WithoutLabelsTheyAreNumbered) {
  EXPECT_THAT(cluster_names({0, 1, 1}, {kUnknown, kUnknown, kUnknown}, {}, 3), ElementsAre("value_2", "value_1", "value_3"));
}

TEST(ClusterNames, AreDifferentWhateverTheClassesAreCalled) {
  EXPECT_THAT(cluster_names({0, 0, 0, 1, 1, 2}, {0, 0, 0, 0, 0, 1}, {"a", "a_2"}, 3), ElementsAre("like_a", "like_a_2", "like_a_2_2"));
}

}  // namespace cluster_names_test
}  // namespace debias
