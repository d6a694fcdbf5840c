// The posterior against the mixture it was drawn from, and the densities it is made of.
#include "debias/mining/mined_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <cmath>

#include "debias/core/philox.h"
#include "debias/runtime/unit_rows.h"
#include "tests/support/refusals.h"

namespace debias {
namespace false_negative_posterior_test {

constexpr double kTau = 0.1, kNegative = 0.1, kPositive = 0.5, kDeviation = 0.1;

double normal(double s, double mean) { return std::exp(-(s - mean) * (s - mean) / (2 * kDeviation * kDeviation)); }
double true_posterior(double s) { return kTau * normal(s, kPositive) / (kTau * normal(s, kPositive) + (1 - kTau) * normal(s, kNegative)); }

// Random pairs of a mixture of two normal densities, and pairs of the upper one.
struct Mixture {
  CosineCounts random, views;
  Mixture() {
    Random draw({.seed = 3});
    for (int i = 0; i < 400'000; ++i) random.add((draw.uniform() < kTau ? kPositive : kNegative) + kDeviation * draw.normal());
    for (int i = 0; i < 20'000; ++i) views.add(kPositive + kDeviation * draw.normal());
  }
};

TEST(FalseNegativePosterior, IsThatOfTheMixtureFromViewsAndWithoutThem) {
  const Mixture mixture;
  const auto by_views = FalseNegativePosterior::from_views(mixture.random, 400'000, mixture.views, kTau);
  const auto by_mixture = FalseNegativePosterior::from_mixture(mixture.random, 400'000, kTau);
  for (const double s : {0.0, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6}) {
    EXPECT_NEAR(by_views(s), true_posterior(s), 0.04) << s;
    EXPECT_NEAR(by_mixture(s), true_posterior(s), 0.05) << s;
  }
}

TEST(FalseNegativePosterior, NeverFallsAndStaysInTheUnitInterval) {
  const Mixture mixture;
  for (const auto& posterior : {FalseNegativePosterior::from_views(mixture.random, 1000, mixture.views, kTau),
                                FalseNegativePosterior::from_mixture(mixture.random, 1000, kTau)}) {
    double last = 0;
    for (double s = -1; s <= 1; s += 0.001) {
      EXPECT_GE(posterior(s), last) << s;
      EXPECT_LE(posterior(s), 1) << s;
      last = posterior(s);
    }
    EXPECT_GT(last, 0.95);
  }
}

TEST(FalseNegativePosterior, RejectsAPriorOutsideOfTheUnitIntervalAndFewViews) {
  const Mixture mixture;
  for (const double tau : {0.0, 1.0, std::nan("")}) {
    EXPECT_THAT(usage_error_of([&] { FalseNegativePosterior::from_mixture(mixture.random, 10, tau); }), testing::HasSubstr("tau_plus"));
  }
  CosineCounts few;
  for (int i = 0; i < 49; ++i) few.add(0.5);
  data_error_of([&] { FalseNegativePosterior::from_views(mixture.random, 10, few, kTau); });
}

TEST(Isotonic, PoolsNeighboursThatFall) {
  EXPECT_EQ(isotonic({1, 3, 2, 4}, {1, 1, 1, 1}), (std::vector<double>{1, 2.5, 2.5, 4}));
  EXPECT_EQ(isotonic({4, 1}, {1, 3}), (std::vector<double>{1.75, 1.75}));
  EXPECT_EQ(isotonic({0, 9, 1}, {1, 0, 1}), (std::vector<double>{0, 0, 1}));  // a value of no weight says nothing
  EXPECT_EQ(isotonic({5, 2}, {0, 1}), (std::vector<double>{2, 2}));
  EXPECT_TRUE(isotonic({}, {}).empty());
}

TEST(CosineCounts, CountsQuantilesAndDensityAgreeWithTheValues) {
  CosineCounts counts;
  for (int i = 0; i < 1000; ++i) counts.add(-0.5 + i / 1000.0);
  EXPECT_EQ(counts.total(), 1000);
  EXPECT_NEAR(counts.quantile(0.25), -0.25, 0.002);
  EXPECT_NEAR(counts.standard_deviation(), 1 / std::sqrt(12.0), 1e-3);
  double sum = 0;
  for (const double value : counts.density(1000)) sum += value;
  EXPECT_NEAR(sum, 1, 1e-9);
  counts.add(7);
  counts.add(-7);
  EXPECT_EQ(counts.count(0), 1);
  EXPECT_EQ(counts.count(CosineCounts::kBins - 1), 1);
}

TEST(RandomPairs, AreEveryPairButTheRowWithItselfWhereRowsAreFew) {
  const at::Tensor unit = unit_rows(at::sin(at::arange(0, 7 * 5, at::kFloat)).view({7, 5})).contiguous();
  const RandomPairs random = random_pairs(unit, 0.2, 1);
  EXPECT_EQ(random.cosines.total(), 7 * 6);
  for (int64_t a = 0; a < 7; ++a) {
    double sum = 0;
    for (int64_t b = 0; b < 7; ++b) {
      if (b != a) sum += std::exp((unit[a] * unit[b]).sum().item<double>() / 0.2);
    }
    EXPECT_NEAR(random.log_mean_exp[static_cast<size_t>(a)], std::log(sum / 6), 1e-5) << a;
  }
}

}  // namespace false_negative_posterior_test
}  // namespace debias
