// BiasCon where it is SupCon, in single precision, and at its edges.
#include "debias/losses/bias_pairs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/losses/over_classes.h"
#include "tests/losses/known_batch.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/objective_checks.h"
#include "tests/support/refusals.h"

namespace debias {
namespace biascon_test {

using Options = BiasConOptions;

TEST(BiasCon, OfOneViewAndOwnBiasesItIsSupCon) {
  const at::Tensor z = random_embeddings(8, 1, 4, 2), labels = integers({0, 1, 0, 1, 2, 2, 2, 3}), own = at::arange(8);
  const double expected = value(supcon(z, labels, SupConOptions{.temperature = 0.07}));
  EXPECT_NEAR(value(biascon(z, labels, own)), expected, 1e-12);
  EXPECT_NEAR(value(biascon(z, labels, at::full({8}, -1, at::kLong))), expected, 1e-12);  // unknown biases differ from each other
  EXPECT_NEAR(value(biascon(z, labels, own, Options{.base_temperature = 0.7})), expected / 10, 1e-12);
}

TEST(BiasCon, OneConflictingSampleAmongManyKeepsSinglePrecision) {
  // Sums of 800 similarities near 200 cancel but for one; their rounding in single precision would be of order 0.01.
  const at::Tensor rows = random_embeddings(800, 1, 16, 2) + 0.5, z = (rows / rows.norm(2, -1, true)).to(at::kFloat);
  const at::Tensor labels = at::zeros({800}, at::kLong), bias = at::zeros({800}, at::kLong);
  bias[7] = 1;
  const auto options = Options{.temperature = 0.005};
  const at::Tensor exact = biascon(z.to(at::kDouble), labels, bias, options).per_anchor;
  EXPECT_LT(largest_difference(biascon(z, labels, bias, options).per_anchor, exact), 3e-4);
}

void expect_edge(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias, double expected, const std::string& what) {
  debias::expect_edge(z, expected, what,
                      [&](const at::Tensor& rows) { return biascon(rows, labels, bias, Options{.temperature = 0.005}); });
}

TEST(BiasCon, EdgesAreFiniteAndRight) {
  const at::Tensor row = random_embeddings(1, 1, 6, 2), same = row.expand({4, 2, 6});
  expect_edge(same, classes(), biases(), std::log(7), "identical rows");
  expect_edge(at::zeros({4, 2, 6}), classes(), biases(), std::log(7), "zero rows");
  expect_edge(at::cat({row, row, -row, -row}).expand({4, 2, 6}), classes(), biases(), std::log(3), "antipodal classes");
  expect_edge(at::cat({row, -row, row, -row}).expand({4, 2, 6}), classes(), biases(), 400 + std::log(3), "antipodal biases");
  expect_edge(same, classes(), integers({0, 0, 1, 1}), 0, "bias that tells the class");
  expect_edge(same, integers({0, 1, 2, 3}), biases(), 0, "no positives");
  expect_edge(same, integers({-1, -1, -1, -1}), biases(), 0, "unknown labels");
  expect_edge(row, integers({0}), integers({0}), 0, "one row");
}

TEST(BiasCon, MissingLabelsAndBiasAreRefused) {
  EXPECT_TRUE(usage_error_of([] { biascon(two_views(), {}, biases()); }).starts_with("biascon: "));
  EXPECT_TRUE(usage_error_of([] { biascon(two_views(), classes(), {}); }).starts_with("biascon: "));
  EXPECT_THROW(biascon(two_views(), classes(), integers({0, 1})), Error);
}

}  // namespace biascon_test
}  // namespace debias
