// The tail of a sum of unequal coins, against known values and a plain convolution in long double.
#include "debias/fix/poisson_binomial.h"

#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/philox.h"

namespace debias {
namespace poisson_binomial_test {

using Wide = long double;

// All outcomes of both halves, then their products: another order than trial by trial.
std::vector<Wide> distribution(const std::vector<double>& probabilities, size_t begin, size_t end) {
  if (end - begin == 1) return {1 - Wide(probabilities[begin]), Wide(probabilities[begin])};
  const size_t middle = (begin + end) / 2;
  const std::vector<Wide> a = distribution(probabilities, begin, middle), b = distribution(probabilities, middle, end);
  std::vector<Wide> both(a.size() + b.size() - 1);
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) both[i + j] += a[i] * b[j];
  }
  return both;
}

Wide convolved_tail(const std::vector<double>& probabilities, int64_t successes) {
  const std::vector<Wide> all = distribution(probabilities, 0, probabilities.size());
  Wide sum = 0;
  for (size_t k = 0; k <= static_cast<size_t>(successes); ++k) sum += all[k];
  return sum;
}

TEST(PoissonBinomialTail, OfEqualTrialsIsTheBinomialTail) {
  EXPECT_DOUBLE_EQ(poisson_binomial_tail(std::vector<double>(10, 0.5), 3), 176.0 / 1024);  // 1 + 10 + 45 + 120
  EXPECT_NEAR(poisson_binomial_tail(std::vector<double>(4, 0.8), 1), 0.0272, 1e-15);
  EXPECT_NEAR(poisson_binomial_tail(std::vector<double>(20, 0.9), 15), 0.0431744955, 1e-9);
  double term = std::pow(0.01, 50), sum = term;  // C(50, k) 0.99^k 0.01^(50 - k), each from the one before
  for (int k = 0; k < 20; ++k) sum += term *= (50.0 - k) / (k + 1.0) * 99;
  EXPECT_NEAR(poisson_binomial_tail(std::vector<double>(50, 0.99), 20) / sum, 1, 1e-12);
  EXPECT_NEAR(sum, 3.880002895656905e-47, 1e-58);  // in fractions
}

TEST(PoissonBinomialTail, OfUnequalTrialsIsTheConvolution) {
  Random draw({.seed = 3});
  for (const int trials : {1, 2, 17, 300, 2000}) {
    std::vector<double> probabilities;
    for (int i = 0; i < trials; ++i) probabilities.push_back(i % 3 == 0 ? 0.995 : static_cast<double>(1 + draw.below(999)) / 1000);
    for (const int64_t successes : {trials / 3, trials / 2, 3 * trials / 4, trials - 1}) {
      const auto expected = static_cast<double>(convolved_tail(probabilities, successes));
      EXPECT_NEAR(poisson_binomial_tail(probabilities, successes), expected, 1e-11 * expected) << trials << " " << successes;
    }
  }
}

TEST(PoissonBinomialTail, CoversImpossibleAndCertainNumbers) {
  EXPECT_EQ(poisson_binomial_tail({0.3, 0.7}, -1), 0);
  EXPECT_EQ(poisson_binomial_tail({0.3, 0.7}, 2), 1);
  EXPECT_EQ(poisson_binomial_tail({1, 1, 0}, 1), 0);
  EXPECT_EQ(poisson_binomial_tail({1, 1, 0}, 2), 1);
  EXPECT_EQ(poisson_binomial_tail({}, 0), 1);
}

}  // namespace poisson_binomial_test
}  // namespace debias
