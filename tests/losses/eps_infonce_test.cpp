// InfoNCE with a margin against InfoNCE, and at its edges.
#include "debias/losses/label_free.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "tests/losses/known_batch.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/objective_checks.h"

namespace debias {
namespace eps_infonce_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
EpsInfoNceOptions margin(double epsilon, double t = 0.1) { return EpsInfoNceOptions{.temperature = t, .epsilon = epsilon}; }

TEST(EpsInfoNce, WithoutAMarginItIsInfoNce) {
  for (int64_t views : {2, 3}) {
    const at::Tensor z = random_embeddings(7, views, 4, 1);
    const auto found = eps_infonce(z, margin(0, 0.5)), expected = infonce(z);
    EXPECT_NEAR(value(found), value(expected), 1e-12);
    EXPECT_LT(largest_difference(found.per_anchor, expected.per_anchor), 1e-12);
  }
  EXPECT_NEAR(value(eps_infonce(angles({{0, 41, 133, 205}, {12, 66, 118, 240}}), margin(0, 0.5))), 0.756893864, 6e-10);
}

TEST(EpsInfoNce, LiesBetweenInfoL1OAndInfoNceAndDecreasesInTheMargin) {
  const at::Tensor z = random_embeddings(7, 2, 4, 1);
  at::Tensor above = infonce(z, InfoNceOptions{.temperature = 0.1}).per_anchor;
  for (double epsilon : {0.1, 1.0, 5.0, 40.0, kInfinity}) {
    const at::Tensor loss = eps_infonce(z, margin(epsilon)).per_anchor;
    EXPECT_TRUE(loss.le(above).all().item<bool>()) << epsilon;
    EXPECT_TRUE(loss.ge(-epsilon).all().item<bool>()) << epsilon;
    above = loss;
  }
  EXPECT_EQ(value(eps_infonce(z, margin(1e300))), value(eps_infonce(z, margin(kInfinity))));
}

TEST(EpsInfoNce, BaseTemperatureRescales) {
  const at::Tensor z = random_embeddings(5, 2, 4, 1);
  EXPECT_NEAR(value(eps_infonce(z, EpsInfoNceOptions{.temperature = 0.1, .base_temperature = 0.07, .epsilon = 0.25})),
              value(eps_infonce(z)) * 0.1 / 0.07, 1e-12);
}

void expect_edge(const at::Tensor& z, double epsilon, double expected, const std::string& what) {
  debias::expect_edge(z, expected, what, [&](const at::Tensor& rows) { return eps_infonce(rows, margin(epsilon, 0.005)); });
}

TEST(EpsInfoNce, EdgesAreFiniteAndRight) {
  const at::Tensor row = random_embeddings(1, 1, 6, 2), opposite = at::cat({row, -row}).expand({2, 2, 6});
  expect_edge(row.expand({3, 2, 6}), 2, std::log(std::exp(-2) + 4), "identical rows");
  expect_edge(row.expand({3, 2, 6}), kInfinity, std::log(4), "identical rows");
  expect_edge(opposite, 2, -2, "antipodal samples");
  expect_edge(opposite, kInfinity, std::log(2) - 400, "antipodal samples");
  expect_edge(at::cat({row, -row}, 1).expand({2, 2, 6}), 2, 400, "positives at cosine -1");
  expect_edge(row.expand({1, 2, 6}), 2, -2, "no negatives");
  expect_edge(row.expand({1, 3, 6}), 0, 0, "no negatives");
  expect_edge(row.expand({1, 2, 6}), kInfinity, 0, "no negatives");
  expect_edge(at::zeros({3, 2, 6}), 0, std::log(5), "zero rows");
}

TEST(EpsInfoNce, BadOptionsAreRefused) {
  const at::Tensor z = random_embeddings(3, 2, 4, 1);
  EXPECT_THROW(eps_infonce(z, margin(-0.1)), Error);
  EXPECT_THROW(eps_infonce(z, margin(std::nan(""))), Error);
  EXPECT_THROW(eps_infonce(z.slice(1, 0, 1)), Error);
}

}  // namespace eps_infonce_test
}  // namespace debias
