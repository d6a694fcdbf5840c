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

// SoftCon against BiasCon (its case of one-hot features), for features that are nearly alike, and at its edges.
namespace softcon_test {

using Options = SoftConOptions;
at::Tensor one_hot(const std::vector<int64_t>& bias) { return at::one_hot(integers(bias)).to(at::kDouble); }
at::Tensor features(int64_t samples, int64_t seed) { return random_embeddings(samples, 1, 3, seed).squeeze(1) * 7; }

std::vector<double> naive(const at::Tensor& z, const std::vector<int64_t>& labels, const at::Tensor& g, double t) {
  const int64_t samples = z.size(0), n = samples * z.size(1);
  const at::Tensor rows = z.transpose(0, 1).reshape({n, z.size(2)}), all = at::mm(rows, rows.t()) / t;
  const auto s = all.accessor<double, 2>();
  const auto cosine = [&](int64_t i, int64_t j) { return (g[i].dot(g[j]) / (g[i].norm() * g[j].norm())).item<double>(); };
  std::vector<double> losses;
  for (int64_t a = 0; a < n; ++a) {
    double weight = 0, sum = 0, denominator = 0;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = a % samples, j = k % samples;
      if (k != a) denominator += std::exp(s[a][k]);
      if (i == j || labels[i] < 0 || labels[i] != labels[j]) continue;
      weight += 1 - cosine(i, j), sum += (1 - cosine(i, j)) * s[a][k];
    }
    losses.push_back(weight < 1e-9 ? 0 : std::log(denominator) - sum / weight);
  }
  return losses;
}

TEST(SoftCon, WithOneHotFeaturesItIsBiasCon) {
  EXPECT_NEAR(value(softcon(two_views(), classes(), one_hot({0, 1, 0, 1}))), 9.348632186, 6e-10);
  const at::Tensor z = random_embeddings(9, 2, 4, 2), labels = integers({0, 1, 0, 1, 0, 0, 2, 2, 0});
  const std::vector<int64_t> bias = {0, 1, 1, 1, 0, 2, 1, 0, 2};
  EXPECT_NEAR(value(softcon(z, labels, one_hot(bias))), value(biascon(z, labels, integers(bias))), 1e-12);
  EXPECT_NEAR(value(softcon(z, labels, one_hot(bias), Options{.base_temperature = 0.7})), value(biascon(z, labels, integers(bias))) / 10,
              1e-12);
}

TEST(SoftCon, LengthAndPrecisionOfFeaturesDoNotMatter) {
  const at::Tensor z = random_embeddings(6, 2, 4, 3), labels = integers({0, 1, 0, 0, 0, 1}), g = features(6, 1);
  const double expected = value(softcon(z, labels, g));
  EXPECT_NEAR(value(softcon(z, labels, g * at::arange(1, 7).unsqueeze(1))), expected, 1e-12);
  EXPECT_NEAR(value(softcon(z, labels, g.to(at::kFloat))), expected, 1e-5);
  const auto single = softcon(z.to(at::kFloat), labels, g);
  EXPECT_EQ(single.value.scalar_type(), at::kFloat);
  EXPECT_NEAR(value(single), expected, 1e-5 * expected);
}

TEST(SoftCon, FeaturesThatAreNearlyAlikeStillWeigh) {
  const at::Tensor z = random_embeddings(3, 1, 4, 3), labels = integers({0, 0, 0});
  const at::Tensor g = angles({{0, 0.01, 0.02}}).squeeze(1);  // weights of 1.5e-8 and 6.1e-8
  const auto expected = naive(z, {0, 0, 0}, g, 0.07);
  const at::Tensor found = softcon(z, labels, g).per_anchor;
  for (int64_t a = 0; a < 3; ++a) EXPECT_NEAR(found[a].item<double>(), expected[a], 1e-6);
}

void expect_edge(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& g, double expected, const std::string& what) {
  debias::expect_edge(z, expected, what, [&](const at::Tensor& rows) { return softcon(rows, labels, g, Options{.temperature = 0.005}); });
}

TEST(SoftCon, EdgesAreFiniteAndRight) {
  const at::Tensor row = random_embeddings(1, 1, 6, 2), same = row.expand({4, 2, 6}), g = features(4, 5);
  expect_edge(same, classes(), g, std::log(7), "identical rows");
  expect_edge(at::zeros({4, 2, 6}), classes(), g, std::log(7), "zero rows");
  expect_edge(at::cat({row, row, -row, -row}).expand({4, 2, 6}), classes(), g, std::log(3), "antipodal classes");
  expect_edge(at::cat({row, -row, row, -row}).expand({4, 2, 6}), classes(), g, 400 + std::log(3), "antipodal positives");
  expect_edge(same, classes(), g.slice(0, 0, 1).expand({4, 3}), 0, "features all alike");
  expect_edge(same, classes(), at::cat({g.slice(0, 0, 1), -g.slice(0, 0, 1), g.slice(0, 0, 2)}), std::log(7), "opposite features");
  expect_edge(same, integers({0, 1, 2, 3}), g, 0, "no positives");
  expect_edge(same, integers({-1, -1, -1, -1}), g, 0, "unknown labels");
  expect_edge(row, integers({0}), g.slice(0, 0, 1), 0, "one row");
}

ErrorKind refusal(const at::Tensor& labels, const at::Tensor& g) {
  const Error error = thrown_by([&] { softcon(two_views(), labels, g); });
  EXPECT_TRUE(std::string(error.what()).starts_with("softcon: ")) << error.what();
  return error.kind();
}

TEST(SoftCon, BadInputIsRefused) {
  EXPECT_EQ(refusal({}, features(4, 1)), ErrorKind::kUsage);
  EXPECT_EQ(refusal(classes(), {}), ErrorKind::kUsage);
  EXPECT_EQ(refusal(classes(), features(3, 1)), ErrorKind::kData);
  EXPECT_EQ(refusal(classes(), features(4, 1).flatten()), ErrorKind::kData);
  EXPECT_EQ(refusal(classes(), features(4, 1).to(at::kLong)), ErrorKind::kData);
  const at::Tensor g = features(4, 1);
  g[2].zero_();
  EXPECT_EQ(refusal(classes(), g), ErrorKind::kData);
}

}  // namespace softcon_test
}  // namespace debias
