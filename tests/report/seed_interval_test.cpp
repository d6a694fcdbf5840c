#include "debias/report/seed_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace debias {
namespace seed_interval_test {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Of the tables in textbooks (Student 1908 and since); 2.5 degrees lie between those of 2 and 3.
TEST(StudentsT, HasTheQuantilesOfTheTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.7062047, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.3026527, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 3), 3.1824463, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.7764451, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.95, 10), 1.8124611, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 1e6), 1.9599664, 1e-5);
  EXPECT_EQ(student_t_quantile(0.5, 3), 0);
  EXPECT_NEAR(student_t_quantile(0.025, 2), -4.3026527, 1e-6);
  EXPECT_GT(student_t_quantile(0.975, 2.5), student_t_quantile(0.975, 3));
  EXPECT_LT(student_t_quantile(0.975, 2.5), student_t_quantile(0.975, 2));
  EXPECT_THROW(student_t_quantile(1, 3), std::invalid_argument);
  EXPECT_THROW(student_t_quantile(0.9, 0), std::invalid_argument);
}

// With one degree of freedom the distribution is Cauchy's, whose quantile is a tangent.
TEST(StudentsT, WithOneDegreeIsCauchys) {
  for (const double p : {0.6, 0.75, 0.9, 0.999}) EXPECT_NEAR(student_t_quantile(p, 1), std::tan(M_PI * (p - 0.5)), 1e-9 / (1 - p));
}

TEST(SeedIntervals, OfThreeSeedsByHand) {
  const SeedInterval interval = seed_interval({0.50, 0.52, 0.57});  // deviations -0.03, -0.01, 0.04: s^2 = 0.0026 / 2
  EXPECT_NEAR(interval.mean, 0.53, 1e-12);
  EXPECT_NEAR(interval.half_width, 4.3026527 * std::sqrt(0.0013 / 3), 1e-8);
  EXPECT_EQ(interval.n, 3);
}

TEST(SeedIntervals, OneSeedHasNoWidthAndUndefinedValuesDoNotCount) {
  EXPECT_TRUE(std::isnan(seed_interval({0.5}).half_width));
  EXPECT_EQ(seed_interval({0.5}).mean, 0.5);
  EXPECT_TRUE(std::isnan(seed_interval({}).mean));
  const SeedInterval interval = seed_interval({0.5, kNone, 0.7});
  EXPECT_EQ(interval.n, 2);
  EXPECT_NEAR(interval.mean, 0.6, 1e-12);
}

TEST(SeedDifferences, OfPairsAreSmallWhereSeedsMoveBothSides) {
  const std::vector<double> a = {0.61, 0.71, 0.82}, b = {0.50, 0.60, 0.70};
  const SeedInterval paired = paired_difference(a, b), welch = welch_difference(a, b);
  EXPECT_NEAR(paired.mean, 0.34 / 3, 1e-12);
  EXPECT_NEAR(welch.mean, paired.mean, 1e-12);
  EXPECT_GT(paired.low(), 0);  // s = 0.00577
  EXPECT_LT(welch.low(), 0);   // s = 0.1 on each side
  EXPECT_THROW(paired_difference(a, {0.5}), std::invalid_argument);
}

// 0.6 - 0.2 and 0.63 - 0.23 differ in the last bit: that is no spread.
TEST(SeedIntervals, RoundingIsNoSpread) {
  EXPECT_EQ(paired_difference({0.6, 0.63, 0.9}, {0.2, 0.23, 0.5}).half_width, 0);
  EXPECT_EQ(seed_interval({0.7, 0.1 * 7, 0.7}).half_width, 0);
  EXPECT_GT(seed_interval({0.7, 0.7 + 1e-6, 0.7}).half_width, 0);
}

// Welch's own formula by hand: variances 0.01 and 0.04 of three and two values.
TEST(SeedDifferences, OfOtherSeedsHaveWelchsDegrees) {
  const SeedInterval interval = welch_difference({0.1, 0.2, 0.3}, {0.4, 0.4 + std::sqrt(0.08)});
  const double both = 0.01 / 3 + 0.04 / 2;
  const double degrees = both * both / (0.01 / 3 * 0.01 / 3 / 2 + 0.02 * 0.02 / 1);
  EXPECT_NEAR(interval.half_width, student_t_quantile(0.975, degrees) * std::sqrt(both), 1e-9);
  EXPECT_EQ(interval.n, 2);
  EXPECT_TRUE(std::isnan(welch_difference({0.1, 0.2}, {0.3}).half_width));
  EXPECT_EQ(welch_difference({0.1, 0.1}, {0.3, 0.3}).half_width, 0);
}

}  // namespace seed_interval_test
}  // namespace debias
