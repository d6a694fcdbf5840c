#include "debias/report/seed_interval.h"

#include "debias/results/statistics.h"
#include "tests/report/reports.h"

namespace debias {
namespace seed_interval_test {

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
  const SeedInterval interval = seed_interval({0.5, kNaN, 0.7});
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

// scipy's ttest_rel, ttest_ind(equal_var=False) and ttest_ind_from_stats(equal_var=False).
TEST(SeedDifferences, HaveThePValuesOfScipy) {
  const std::vector<double> a = {0.61, 0.71, 0.82}, b = {0.50, 0.62, 0.70};
  EXPECT_NEAR(paired_difference(a, b).p, 0.00676663160927865, 1e-12);
  const SeedInterval welch = welch_difference(a, b);
  EXPECT_NEAR(welch.p, 0.27308905948700746, 1e-12);
  EXPECT_NEAR(welch.low(), -0.12671375484641653, 1e-10);
  EXPECT_NEAR(welch.high(), 0.3400470881797497, 1e-10);
  EXPECT_NEAR(welch_of_summaries(SampleSummary{850, 20, 10}, SampleSummary{860, 4, 10}).p, 0.15296045416137877, 1e-12);
  EXPECT_NEAR(welch_of_summaries(SampleSummary{0.2582, 0.0033, 3}, SampleSummary{0.2312, 0.0107, 3}).p, 0.03886083874299323, 1e-12);
}

TEST(SeedDifferences, WithoutASpreadHaveNoTest) {
  EXPECT_TRUE(std::isnan(seed_interval({0.5}).p));
  EXPECT_TRUE(std::isnan(paired_difference({0.6, 0.7, 0.8}, {0.5, 0.6, 0.7}).p));
  EXPECT_TRUE(std::isnan(welch_of_summaries(SampleSummary{0.9, 0, 3}, SampleSummary{0.8, 0, 3}).p));
  EXPECT_TRUE(std::isnan(welch_of_summaries(SampleSummary{0.9, 0.1, 1}, SampleSummary{0.8, 0.1, 3}).p));
}

TEST(SeedDifferences, ArePairedFromThreeCommonSeedsOn) {
  const SeedValues a{{"1", "2", "3", "4"}, {0.61, 0.71, 0.82, 0.9}}, b{{"4", "3", "2"}, {0.8, 0.70, 0.62}};
  const SeedDifference three = seed_difference(a, b);
  EXPECT_TRUE(three.paired);
  EXPECT_NEAR(three.interval.mean, (0.09 + 0.12 + 0.1) / 3, 1e-12);  // by seed, whatever the order
  EXPECT_FALSE(seed_difference(a, {{"4", "3", "2"}, {0.8, kNaN, 0.62}}).paired);
  EXPECT_FALSE(seed_difference({{"1", "2"}, {0.6, 0.7}}, {{"1", "2"}, {0.5, 0.62}}).paired);
  const SeedDifference one = seed_difference(a, {{"3"}, {0.7}});
  EXPECT_TRUE(one.paired);
  EXPECT_NEAR(one.interval.mean, 0.12, 1e-12);
  EXPECT_TRUE(std::isnan(one.interval.half_width));
  EXPECT_THROW(seed_difference({{"1"}, {}}, b), std::invalid_argument);
}

}  // namespace seed_interval_test

namespace holm_test {

// statsmodels 0.14, multipletests(method="holm"); by hand: 6 * 0.004, 5 * 0.004 raised to it, 4 * 0.012, 3 * 0.03, 2 * 0.04 raised to 0.09.
TEST(HolmAdjustment, HasTheValuesOfStatsmodels) {
  const std::vector<double> adjusted = holm_adjusted({0.03, 0.004, 0.9, 0.012, 0.04, 0.004});
  const std::vector<double> expected = {0.09, 0.024, 0.9, 0.048, 0.09, 0.024};
  ASSERT_EQ(adjusted.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-15) << i;
}

TEST(HolmAdjustment, DoesNotCountComparisonsWithoutATest) {
  const std::vector<double> adjusted = holm_adjusted({NAN, 0.02, NAN, 0.7});
  EXPECT_TRUE(std::isnan(adjusted[0]) && std::isnan(adjusted[2]));
  EXPECT_DOUBLE_EQ(adjusted[1], 0.04);
  EXPECT_DOUBLE_EQ(adjusted[3], 0.7);
  EXPECT_TRUE(holm_adjusted({}).empty());
}

TEST(HolmAdjustment, StopsAtOne) { EXPECT_EQ(holm_adjusted({0.8, 0.6}), (std::vector<double>{1, 1})); }

}  // namespace holm_test
}  // namespace debias
