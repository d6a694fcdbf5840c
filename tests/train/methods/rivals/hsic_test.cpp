// HSIC: the estimator over quadruples that it is the mean of, the released code's other way, and what independence gives.
#include "debias/train/methods/rivals/hsic.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/finite_differences.h"

namespace debias {
namespace hsic_test {

at::Tensor rows(int64_t n, int64_t dimensions, int64_t seed) {
  at::manual_seed(seed);
  return at::randn({n, dimensions}, at::kDouble);
}

double kernel(const at::Tensor& of, int64_t i, int64_t j, double sigma) {
  return std::exp(-(of[i] - of[j]).square().sum().item<double>() / (2 * sigma * sigma));
}

// The mean over ordered quadruples of different rows of k(i, j) [l(i, j) + l(q, r) - 2 l(i, q)] (Song et al. 2012).
double over_quadruples(const at::Tensor& x, const at::Tensor& y, double sigma_x, double sigma_y) {
  double sum = 0;
  int64_t count = 0;
  const int64_t n = x.size(0);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t q = 0; q < n; ++q) {
        for (int64_t r = 0; r < n; ++r) {
          if (i == j || i == q || i == r || j == q || j == r || q == r) continue;
          sum += kernel(x, i, j, sigma_x) * (kernel(y, i, j, sigma_y) + kernel(y, q, r, sigma_y) - 2 * kernel(y, i, q, sigma_y));
          ++count;
        }
      }
    }
  }
  return sum / static_cast<double>(count);
}

TEST(Hsic, IsTheMeanOverQuadruples) {
  for (const int64_t n : {4, 5, 9}) {
    const at::Tensor x = rows(n, 3, n), y = at::cat({x.slice(1, 0, 1), rows(n, 1, 3)}, 1);
    EXPECT_NEAR(unbiased_hsic(x, y, 1, 0.7).item<double>(), over_quadruples(x, y, 1, 0.7), 1e-13) << n;
  }
}

// The released code takes 1 from every entry of a kernel matrix in place of its diagonal: a constant, which the estimator does not see.
TEST(Hsic, IsThatOfTheReleasedCode) {
  const at::Tensor x = rows(8, 3, 1), y = rows(8, 2, 2);
  const auto shifted = [](const at::Tensor& of) {
    at::Tensor k = at::zeros({8, 8}, at::kDouble);
    for (int64_t i = 0; i < 8; ++i) {
      for (int64_t j = 0; j < 8; ++j) k[i][j] = kernel(of, i, j, 1) - 1;
    }
    return k;
  };
  const at::Tensor k = shifted(x), l = shifted(y);
  const at::Tensor sum = k.mm(l).trace() + k.sum() * l.sum() / (7.0 * 6.0) - 2 * k.sum(0).dot(l.sum(0)) / 6.0;
  EXPECT_NEAR(unbiased_hsic(x, y, 1, 1).item<double>(), (sum / (8.0 * 5.0)).item<double>(), 1e-14);
}

TEST(Hsic, IsLargeForFeaturesThatFollowEachOtherAndNearZeroForOthers) {
  const at::Tensor x = rows(200, 2, 1);
  const double same = unbiased_hsic(x, 3 * x, 1, 3).item<double>(), other = unbiased_hsic(x, rows(200, 2, 2), 1, 1).item<double>();
  EXPECT_GT(same, 0.03);
  EXPECT_LT(std::abs(other), same / 20);
}

TEST(Hsic, GradientIsThatOfFiniteDifferencesInBoth) {
  const at::Tensor x = rows(6, 3, 1), y = rows(6, 2, 2);
  const at::Tensor a = x.clone().requires_grad_(true), b = y.clone().requires_grad_(true);
  unbiased_hsic(a, b, 1, 2).backward();
  const auto of_x = [&](const at::Tensor& moved) { return unbiased_hsic(moved, y, 1, 2).item<double>(); };
  const auto of_y = [&](const at::Tensor& moved) { return unbiased_hsic(x, moved, 1, 2).item<double>(); };
  EXPECT_LT(largest_difference(a.grad(), numeric_gradient(of_x, x)), 1e-9);
  EXPECT_LT(largest_difference(b.grad(), numeric_gradient(of_y, y)), 1e-9);
}

TEST(Hsic, IsZeroWithAGradientOfZeroForLessThanFourRows) {
  const at::Tensor x = rows(3, 2, 1).requires_grad_(true);
  const at::Tensor found = unbiased_hsic(x, rows(3, 2, 2), 1, 1);
  found.backward();
  EXPECT_EQ(found.item<double>(), 0);
  EXPECT_EQ(x.grad().abs().max().item<double>(), 0);
}

TEST(Hsic, RadiusIsTheMedianDistanceOfDifferentRows) {
  const at::Tensor line = at::tensor({0.0, 1.0, 5.0}, at::kDouble).view({3, 1});  // distances 1, 4 and 5
  EXPECT_NEAR(median_distance(line), 4, 1e-12);
  EXPECT_EQ(median_distance(at::zeros({5, 2})), 1);
  EXPECT_EQ(median_distance(at::zeros({1, 2})), 1);
}

}  // namespace hsic_test
}  // namespace debias
