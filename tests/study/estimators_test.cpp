// The estimators are the objectives': from the same batch they give the same loss at every anchor.
#include "debias/study/estimators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "debias/losses/debiased.h"
#include "debias/losses/label_free.h"
#include "debias/losses/weighted.h"
#include "tests/support/embeddings.h"
#include "tests/support/with_changes.h"

namespace debias {
namespace estimators_test {

constexpr double kTemperature = 0.5;

struct Anchor {
  std::vector<double> values;
  double positive = 0, oracle = 0;
};

// Two views of each sample, rows view-major, as the objectives have them.
std::vector<Anchor> anchors_of(const at::Tensor& z, const at::Tensor& labels) {
  const int64_t samples = z.size(0), rows = 2 * samples;
  const at::Tensor flat = z.transpose(0, 1).reshape({rows, z.size(2)});
  const at::Tensor exponentials = (flat.matmul(flat.t()) / kTemperature).exp();
  std::vector<Anchor> out;
  for (int64_t a = 0; a < rows; ++a) {
    Anchor anchor;
    double sum = 0, count = 0;
    for (int64_t j = 0; j < rows; ++j) {
      const double value = exponentials[a][j].item<double>();
      if (j == a) continue;
      if (j == (a + samples) % rows) {
        anchor.positive = value;
        continue;
      }
      anchor.values.push_back(value);
      if (labels[a % samples].item<int64_t>() == labels[j % samples].item<int64_t>()) continue;
      sum += value;
      ++count;
    }
    std::sort(anchor.values.begin(), anchor.values.end());
    anchor.oracle = sum / count;
    out.push_back(anchor);
  }
  return out;
}

class EstimatorsOfObjectives : public testing::TestWithParam<int64_t> {
 protected:
  const at::Tensor z_ = random_embeddings(GetParam(), 2, 6, 11 + GetParam());
  const at::Tensor labels_ = at::arange(GetParam(), at::kLong).remainder(3);
  const std::vector<Anchor> anchors_ = anchors_of(z_, labels_);
  const int64_t negatives_ = 2 * GetParam() - 2;

  Estimates estimates(const EstimatorOptions& options, const Anchor& anchor) const {
    return AnchorEstimators(options, negatives_)({anchor.values, anchor.positive, anchor.oracle});
  }
  void expect_same(Estimator estimator, const EstimatorOptions& options, const ObjectiveResult& result) const {
    for (size_t a = 0; a < anchors_.size(); ++a) {
      const Estimates all = estimates(options, anchors_[a]);
      const double estimate = all[static_cast<size_t>(estimator)], mean = all[static_cast<size_t>(Estimator::kBiased)];
      const double ratio = estimates_positive(estimator) ? mean / estimate : estimate / anchors_[a].positive;
      EXPECT_NEAR(std::log1p(static_cast<double>(negatives_) * ratio), result.per_anchor[static_cast<int64_t>(a)].item<double>(), 1e-12)
          << enum_name(estimator) << ", anchor " << a;
    }
  }
};

EstimatorOptions on_the_sphere(double tau_plus) {
  return {.tau_plus = tau_plus, .least = std::exp(-1 / kTemperature), .self = std::exp(1 / kTemperature)};
}

TEST_P(EstimatorsOfObjectives, BiasedDebiasedHardAndOracle) {
  expect_same(Estimator::kBiased, on_the_sphere(0.1), infonce(z_, InfoNceOptions{.temperature = kTemperature}));
  for (const double tau_plus : {0.0, 0.01, 0.1, 0.6}) {
    const auto options = DebiasedNegativesOptions{.temperature = kTemperature, .tau_plus = tau_plus};
    const auto floored = debiased_negatives(z_, options);
    expect_same(Estimator::kDebiasedFloor, on_the_sphere(tau_plus), floored);
    if (tau_plus == 0.6) {
      EXPECT_GT(floored.clamped, 0);
    } else if (tau_plus <= 0.01) {
      ASSERT_EQ(floored.clamped, 0) << tau_plus;
      expect_same(Estimator::kDebiased, on_the_sphere(tau_plus),
                  debiased_negatives(z_, with_changes(options, [&](auto& o) { o.clamp = Clamp::kNone; })));
    }
    for (const double beta : {0.0, 1.0, 2.5}) {
      EstimatorOptions study = on_the_sphere(tau_plus);
      study.hard_beta = beta;
      expect_same(Estimator::kHard, study,
                  hard_negatives(z_, HardNegativesOptions{.temperature = kTemperature, .tau_plus = tau_plus, .beta = beta}));
    }
  }
  expect_same(Estimator::kOracle, on_the_sphere(0.1), unbiased(z_, labels_, UnbiasedOptions{.temperature = kTemperature}));
}

TEST_P(EstimatorsOfObjectives, BayesianForms) {
  for (const double alpha : {0.5, 0.8, 1.0}) {
    for (const double beta : {0.0, 0.5, 1.5}) {
      EstimatorOptions study = on_the_sphere(0.2);
      study.alpha = alpha;
      study.beta = beta;
      const auto options = BayesianOptions{.temperature = kTemperature, .tau_plus = 0.2, .alpha = alpha, .beta = beta};
      expect_same(Estimator::kBayesianPaper, study, bayesian(z_, with_changes(options, [&](auto& o) { o.form = BayesianForm::kPaper; })));
      expect_same(Estimator::kBayesianCorrected, study,
                  bayesian(z_, with_changes(options, [&](auto& o) { o.form = BayesianForm::kCorrected; })));
    }
    EstimatorOptions study = on_the_sphere(0.2);
    study.alpha = alpha;
    study.authors_beta = 0.9;
    expect_same(
        Estimator::kBayesianAuthors, study,
        bayesian(z_, BayesianOptions{
                         .temperature = kTemperature, .form = BayesianForm::kAuthors, .tau_plus = 0.2, .alpha = alpha, .beta = 0.9}));
  }
}

TEST_P(EstimatorsOfObjectives, PositiveForms) {
  for (const double tau_plus : {0.05, 0.3}) {
    const auto options = DebiasedPositivesOptions{.temperature = kTemperature, .tau_plus = tau_plus};
    expect_same(Estimator::kPositiveEq12, on_the_sphere(tau_plus), debiased_positives(z_, options));
    expect_same(Estimator::kPositiveSum, on_the_sphere(tau_plus),
                debiased_positives(z_, with_changes(options, [&](auto& o) { o.form = PositiveForm::kSum; })));
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, EstimatorsOfObjectives, testing::Values(4, 7, 16));

TEST(Estimators, TiesShareTheLargestRank) {
  const std::vector<double> values = {1, 2, 2, 3}, weights = {4, 100, 2, 1};
  EXPECT_DOUBLE_EQ(ranked_mean(values, weights, 0), (4 * 1 + 2 * 2 * 2 + 1 * 3) / 9.0);
}

TEST(Estimators, PositiveOracleIsTheMeanOfTheClass) {
  // Half of the samples are of the class, as tau_plus says: the difference of the means is exact.
  const std::vector<double> values = {1, 2, 5, 7};  // true negatives 1 and 2
  const Estimates all = AnchorEstimators({.tau_plus = 0.5}, 4)({values, 3, 1.5});
  EXPECT_DOUBLE_EQ(all[static_cast<size_t>(Estimator::kPositiveOracle)], 6);
  EXPECT_DOUBLE_EQ(all[static_cast<size_t>(Estimator::kDebiased)], (3.75 - 1.5) / 0.5);
}

}  // namespace estimators_test
}  // namespace debias
