#include "debias/results/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <utility>

namespace debias {
namespace student_t_test {

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

// scipy 1.16: 2 * t.sf(t, df).
TEST(StudentsT, HasTheTwoSidedProbabilitiesOfScipy) {
  EXPECT_NEAR(student_t_two_sided(1, 1), 0.5, 1e-12);
  EXPECT_NEAR(student_t_two_sided(-2.5, 2), 0.12961172022151082, 1e-12);
  EXPECT_NEAR(student_t_two_sided(1.3, 7.25), 0.23340363384338914, 1e-12);
  EXPECT_NEAR(student_t_two_sided(40, 3), 3.4380680789158506e-05, 1e-15);
  EXPECT_NEAR(student_t_two_sided(0.001, 4.5), 0.9992449065121516, 1e-12);
  EXPECT_EQ(student_t_two_sided(0, 3), 1);
  EXPECT_THROW(student_t_two_sided(1, 0), std::invalid_argument);
}

}  // namespace student_t_test

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

TEST(ProportionIntervals, SayNothingWhereNothingWasEvaluated) {
  EXPECT_EQ(wilson_interval({std::nan(""), 0}), (std::pair<double, double>{0, 1}));
}

// Newcombe 1998 on paired data, table II, method 10: 36, 12, 2, 0 has [0.0569, 0.3404].
TEST(PairedProportionIntervals, AreNewcombesExamples) {
  const auto [low, high] = difference_interval(PairedCounts{36, 12, 2, 0});
  EXPECT_NEAR(low, 0.0569, 5e-5);
  EXPECT_NEAR(high, 0.3404, 5e-5);
  const auto [low_of_alike, high_of_alike] = difference_interval(PairedCounts{20, 0, 0, 30});
  EXPECT_NEAR(low_of_alike, -high_of_alike, 1e-12);
  EXPECT_NEAR(high_of_alike, 0.04038033158297433, 1e-10);  // by statsmodels' Wilson intervals
  EXPECT_NEAR(difference_interval(PairedCounts{24, 9, 3, 14}).first, -0.017070653602757113, 1e-10);
}

// Pairs that agree make the interval narrower than that of different images.
TEST(PairedProportionIntervals, AreNarrowerWherePairsAgree) {
  const PairedCounts counts{400, 60, 20, 320};
  const auto paired = difference_interval(counts), unpaired = difference_interval({0.575, 800}, {0.525, 800});
  EXPECT_LT(paired.second - paired.first, 0.6 * (unpaired.second - unpaired.first));
}

// scipy: binomtest(min, n).pvalue; statsmodels: proportions_ztest.
TEST(EqualSharesTests, HaveThePValuesOfScipyAndStatsmodels) {
  EXPECT_NEAR(equal_shares_p(PairedCounts{36, 12, 2, 0}), 0.012939453125, 1e-12);
  EXPECT_NEAR(equal_shares_p(PairedCounts{30, 2, 6, 12}), 0.2890625, 1e-12);
  EXPECT_EQ(equal_shares_p(PairedCounts{54, 0, 0, 0}), 1);
  EXPECT_NEAR(equal_shares_p(PairedCounts{36, 5.5, 0, 2}), 2 * std::pow(0.5, 5.5), 1e-12);  // between whole counts, too
  EXPECT_EQ(equal_shares_p(PairedCounts{10, 5, 5, 10}), 1);
  EXPECT_NEAR(equal_shares_p({56.0 / 70, 70}, {48.0 / 80, 80}), 0.00804508136819656, 1e-12);
  EXPECT_EQ(equal_shares_p({1, 10}, {1, 20}), 1);
}

}  // namespace proportion_interval_test
}  // namespace debias
