#include "debias/results/proportion_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace debias {
namespace proportion_interval_test {

// Newcombe 1998, table II: 56/70 against 48/80 has [0.0524, 0.3339] by method 10, and 9/10 against 3/10 [0.1705, 0.8090].
TEST(ProportionIntervals, AreNewcombesExamples) {
  const auto [low, high] = difference_interval({56.0 / 70, 70}, {48.0 / 80, 80});
  EXPECT_NEAR(low, 0.0524, 5e-5);
  EXPECT_NEAR(high, 0.3339, 5e-5);
  const auto [low_of_few, high_of_few] = difference_interval({0.9, 10}, {0.3, 10});
  EXPECT_NEAR(low_of_few, 0.1705, 5e-5);
  EXPECT_NEAR(high_of_few, 0.8090, 5e-5);
}

TEST(ProportionIntervals, HaveAWidthWhereAllImagesAreRight) {
  const auto [low, high] = wilson_interval({1, 10});
  EXPECT_NEAR(low, 0.7225, 5e-5);  // 10 / (10 + z^2)
  EXPECT_NEAR(high, 1, 1e-12);
  EXPECT_NEAR(wilson_interval({0, 10}).second, 0.2775, 5e-5);
}

TEST(ProportionIntervals, SayNothingWhereNothingWasJudged) {
  EXPECT_EQ(wilson_interval({std::nan(""), 0}), (std::pair<double, double>{0, 1}));
}

}  // namespace proportion_interval_test
}  // namespace debias
