#include "debias/losses/bank_draws.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "debias/core/error.h"
#include "tests/support/finite_differences.h"

namespace debias {
namespace score_losses_test {

constexpr double kTemperature = 0.07;

// One anchor, by the cosines of its positive and of its negatives.
at::Tensor scores_of(double positive, at::ScalarType type = at::kDouble) {
  return (at::tensor({positive, 0.10, -0.20, 0.05, 0.0}, at::kDouble) / kTemperature).view({1, 5}).to(type);
}

TEST(DebiasedSoftmax, IsThePublishedTestVector) {
  const at::Tensor scores = scores_of(0.05);
  EXPECT_NEAR(softmax_losses(scores).loss.item<double>(), 1.5174069, 1e-6);
  const ScoreLosses debiased = debiased_softmax_losses(scores, 0.01, kTemperature);
  EXPECT_NEAR(debiased.loss.item<double>(), 1.5164327, 1e-6);
  EXPECT_NEAR(*debiased.min_estimate, 1.8159557, 1e-6);
  EXPECT_EQ(debiased.fallen_back, 0);
}

TEST(DebiasedSoftmax, FallsBackToTheBiasedLossWhereTheEstimateIsTooSmall) {
  const at::Tensor scores = scores_of(0.60);
  const ScoreLosses debiased = debiased_softmax_losses(scores, 0.01, kTemperature);
  EXPECT_NEAR(debiased.loss.item<double>(), 0.00137684, 1e-8);
  EXPECT_NEAR(*debiased.min_estimate, -51.483263, 1e-6);
  EXPECT_EQ(debiased.fallen_back, 1);
  EXPECT_EQ(debiased.loss.item<double>(), softmax_losses(scores).loss.item<double>());
}

TEST(DebiasedSoftmax, SingleScoresAreAsGood) {
  EXPECT_NEAR(debiased_softmax_losses(scores_of(0.05, at::kFloat), 0.01, kTemperature).loss.item<double>(), 1.5164327, 1e-6);
  EXPECT_NEAR(debiased_softmax_losses(scores_of(0.60, at::kFloat), 0.01, kTemperature).loss.item<double>(), 0.00137684, 1e-6);
}

TEST(DebiasedSoftmax, EachAnchorIsEvaluatedAlone) {
  const at::Tensor scores = at::cat({scores_of(0.60), scores_of(0.05), scores_of(0.60)});
  const ScoreLosses debiased = debiased_softmax_losses(scores, 0.01, kTemperature);
  EXPECT_EQ(debiased.fallen_back, 2);
  EXPECT_NEAR(debiased.loss[1].item<double>(), 1.5164327, 1e-6);
}

// The least e^s of unit rows is the border: an estimate just above it is used, one just below is not.
TEST(DebiasedSoftmax, BorderIsTheLeastExponentialOfUnitRows) {
  const auto at_estimate = [](double times_floor) {  // positive and one negative, tau_plus 0.5: g = 2 (e^{s_1} - e^{s_0} / 2)
    const double floor = std::exp(-1 / kTemperature), positive = std::exp(-5.0);
    const at::Tensor scores = at::tensor({-5.0, std::log((times_floor * floor + positive) / 2)}, at::kDouble).view({1, 2});
    return debiased_softmax_losses(scores, 0.5, kTemperature).fallen_back;
  };
  EXPECT_EQ(at_estimate(1.001), 0);
  EXPECT_EQ(at_estimate(0.999), 1);
}

TEST(DebiasedSoftmax, WithoutAPriorIsTheSoftmaxLoss) {
  const at::Tensor scores = at::sin(at::arange(24, at::kDouble)).view({4, 6}) * 3;
  EXPECT_TRUE(at::allclose(debiased_softmax_losses(scores, 0, kTemperature).loss, softmax_losses(scores).loss, 1e-12, 1e-12));
}

TEST(SoftmaxLosses, AreCrossEntropyWithTargetZero) {
  const at::Tensor scores = at::sin(at::arange(24, at::kDouble)).view({4, 6}) * 30;
  const at::Tensor expected = at::cross_entropy_loss(scores, at::zeros({4}, at::kLong), {}, at::Reduction::None);
  EXPECT_TRUE(at::allclose(softmax_losses(scores).loss, expected, 1e-12, 1e-12));
}

TEST(NceLosses, AreTheirFormula) {
  const at::Tensor scores = at::sin(at::arange(15, at::kDouble)).view({3, 5}) * 4;
  constexpr int64_t kSamples = 1000;
  const double normaliser = nce_normaliser(scores, kSamples), noise = 4.0 / kSamples;
  EXPECT_NEAR(normaliser, scores.exp().mean().item<double>() * kSamples, 1e-9);
  const auto at_place = [&](int64_t i, int64_t k) { return std::exp(scores[i][k].item<double>()) / normaliser; };
  const at::Tensor loss = nce_losses(scores, kSamples, normaliser).loss;
  for (int64_t i = 0; i < 3; ++i) {
    double expected = -std::log(at_place(i, 0) / (at_place(i, 0) + noise + 1e-7));
    for (int64_t k = 1; k < 5; ++k) expected -= std::log(noise / (at_place(i, k) + noise + 1e-7));
    EXPECT_NEAR(loss[i].item<double>(), expected, 1e-12);
  }
}

TEST(ScoreLosses, GradientsAreThoseOfFiniteDifferences) {
  const at::Tensor waves = at::sin(at::arange(12, at::kDouble)).view({2, 6}) * 3;
  const at::Tensor scores = at::cat({waves, at::tensor({9.0, 1.0, 0.5, -1.0, 0.0, 2.0}, at::kDouble).view({1, 6})});
  const at::Tensor weights = at::tensor({1.0, -0.5, 2.0}, at::kDouble);
  const std::vector<std::function<ScoreLosses(const at::Tensor&)>> losses = {
      [](const at::Tensor& s) { return softmax_losses(s); },
      [](const at::Tensor& s) { return debiased_softmax_losses(s, 0.1, kTemperature); },
      [](const at::Tensor& s) { return nce_losses(s, 100, 50); },
  };
  EXPECT_EQ(losses[1](scores).fallen_back, 1);  // both branches are among them
  for (size_t i = 0; i < losses.size(); ++i) {
    const at::Tensor point = scores.clone().set_requires_grad(true);
    (losses[i](point).loss * weights).sum().backward();
    const at::Tensor numeric =
        numeric_gradient([&](const at::Tensor& s) { return (losses[i](s).loss * weights).sum().item<double>(); }, scores);
    EXPECT_LT(largest_difference(point.grad(), numeric), 1e-8) << i;
  }
}

TEST(ScoreLosses, ExtremeScoresStayFinite) {
  for (const double size : {1e-3, 14.3, 100.0}) {
    const at::Tensor point = (at::tensor({1, -1, -1, -1, 1, 1, 1, -1, 1}, at::kFloat).view({3, 3}) * size).set_requires_grad(true);
    const at::Tensor loss = debiased_softmax_losses(point, 0.3, 1 / size).loss + softmax_losses(point).loss;
    loss.sum().backward();
    EXPECT_TRUE(at::isfinite(loss).all().item<bool>()) << size;
    EXPECT_TRUE(at::isfinite(point.grad()).all().item<bool>()) << size;
  }
}

TEST(ScoreLosses, NeedAPositiveAndANegative) { EXPECT_THROW(softmax_losses(at::zeros({3, 1})), Error); }

}  // namespace score_losses_test
}  // namespace debias
