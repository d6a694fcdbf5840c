#include "debias/report/seed_interval.h"
#include "tests/report/reports.h"

namespace debias::holm_test {

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

}  // namespace debias::holm_test
