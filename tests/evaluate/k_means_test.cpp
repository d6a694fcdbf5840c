#include "debias/evaluate/k_means.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "debias/core/philox.h"
#include "tests/support/refusals.h"

namespace debias {
namespace k_means_test {

// `per_blob` points about each of (0, 0), (10, 0) and (0, 10), one blob after the other.
at::Tensor blobs(int64_t per_blob, double spread) {
  const double at_x[] = {0, 10, 0}, at_y[] = {0, 0, 10};
  Random random({.seed = 5});
  std::vector<double> values;
  for (size_t blob = 0; blob < 3; ++blob) {
    for (int64_t i = 0; i < per_blob; ++i) {
      values.push_back(at_x[blob] + spread * random.normal());
      values.push_back(at_y[blob] + spread * random.normal());
    }
  }
  return at::tensor(values, at::kDouble).view({3 * per_blob, 2});
}

// The least sum over all assignments, by trying each.
double least_spread(const std::vector<double>& points, int64_t K) {
  double least = std::numeric_limits<double>::infinity();
  int64_t all = 1;
  for (size_t i = 0; i < points.size(); ++i) all *= K;
  for (int64_t code = 0; code < all; ++code) {
    std::vector<double> sum(K), count(K);
    int64_t rest = code;
    for (const double point : points) {
      sum[rest % K] += point;
      ++count[rest % K];
      rest /= K;
    }
    rest = code;
    double spread = 0;
    for (const double point : points) {
      const double away = point - sum[rest % K] / count[rest % K];
      spread += away * away;
      rest /= K;
    }
    least = std::min(least, spread);
  }
  return least;
}

TEST(KMeans, FindsBlobsThatLieApart) {
  const Clusters found = k_means(blobs(21, 0.5), 3, 1, "test");
  std::set<int64_t> clusters;
  for (size_t blob = 0; blob < 3; ++blob) {
    const std::set<int64_t> own(found.of_row.begin() + 21 * blob, found.of_row.begin() + 21 * (blob + 1));
    EXPECT_EQ(own.size(), 1u) << blob;
    clusters.insert(own.begin(), own.end());
  }
  EXPECT_EQ(clusters.size(), 3u);
  EXPECT_NEAR(found.centres.select(1, 0).max().item<double>(), 10, 0.5);
}

TEST(KMeans, ReachesTheLeastSumOverAllAssignments) {
  const std::vector<double> points = {0, 0.4, 1.1, 3, 3.1, 4.5, 9, 9.3};
  const at::Tensor rows = at::tensor(points, at::kDouble).view({8, 1});
  for (const int64_t K : {1, 2, 3}) {
    EXPECT_NEAR(k_means(rows, K, 7, "test").spread, least_spread(points, K), 1e-12) << K;
  }
}

TEST(KMeans, TheSameSeedGivesTheSameClusters) {
  const at::Tensor rows = blobs(30, 4);
  EXPECT_EQ(k_means(rows, 5, 3, "test").of_row, k_means(rows, 5, 3, "test").of_row);
}

TEST(KMeans, TakesAsManyClustersAsRowsAndEqualRows) {
  EXPECT_NEAR(k_means(at::tensor({1.0, 5.0, 9.0}, at::kDouble).view({3, 1}), 3, 1, "test").spread, 0, 1e-12);
  const Clusters equal = k_means(at::ones({6, 2}, at::kDouble), 3, 1, "test");
  EXPECT_EQ(equal.of_row.size(), 6u);
  EXPECT_TRUE(at::isfinite(equal.centres).all().item<bool>());
  EXPECT_EQ(usage_error_of([] { k_means(at::ones({2, 1}), 3, 1, "embed"); }), "embed: 3 clusters of 2 images: give a number from 1 to 2");
  EXPECT_EQ(usage_error_of([] { k_means(at::ones({2, 1}), 0, 1, "embed"); }), "embed: 0 clusters of 2 images: give a number from 1 to 2");
}

TEST(KMeans, ClarityIsOneOnACentreAndZeroHalfWay) {
  const at::Tensor centres = at::tensor({0.0, 4.0, 20.0}, at::kDouble).view({3, 1});
  const auto found = nearest_centres(at::tensor({0.0F, 2.0F, 5.0F}).view({3, 1}), centres);
  EXPECT_EQ(found[0].centre, 0);
  EXPECT_EQ(found[2].centre, 1);
  EXPECT_NEAR(found[0].clarity, 1, 1e-12);
  EXPECT_NEAR(found[1].clarity, 0, 1e-12);
  EXPECT_NEAR(found[2].clarity, 1 - 1.0 / 5, 1e-12);
  EXPECT_EQ(nearest_centres(at::ones({1, 1}), centres.narrow(0, 0, 1))[0].clarity, 1);
}

TEST(KMeans, NearestCentresAgreeWithANaiveSearchBeyondOneBlock) {
  const at::Tensor rows = blobs(3000, 5), centres = blobs(2, 3);  // 9,000 rows
  const auto found = nearest_centres(rows, centres);
  const auto* row = rows.const_data_ptr<double>();
  const auto* centre = centres.const_data_ptr<double>();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    int64_t nearest = 0;
    const auto away = [&](int64_t k) { return std::hypot(row[2 * i] - centre[2 * k], row[2 * i + 1] - centre[2 * k + 1]); };
    for (int64_t k = 1; k < centres.size(0); ++k) nearest = away(k) < away(nearest) ? k : nearest;
    ASSERT_NEAR(away(found[static_cast<size_t>(i)].centre), away(nearest), 1e-9) << i;
  }
}

}  // namespace k_means_test
}  // namespace debias
