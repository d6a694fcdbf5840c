// What the formulas say about each other, and what they are at their edges.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "debias/losses/debiased.h"
#include "debias/losses/label_free.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/with_changes.h"

namespace debias {
namespace laws_test {

struct Evaluated {
  ObjectiveResult result;
  double value = 0;
  at::Tensor gradient;
};

template <class Function>
Evaluated evaluated(const at::Tensor& z, const Function& function) {
  const at::Tensor leaf = z.detach().clone().requires_grad_(true);
  Evaluated out;
  out.result = function(leaf);
  out.value = out.result.value.template item<double>();
  out.result.value.backward();
  out.gradient = leaf.grad();
  return out;
}

auto infonce_at(double t) {
  return [t](const at::Tensor& z) { return infonce(z, InfoNceOptions{.temperature = t}); };
}
auto debiased(DebiasedNegativesOptions options, at::Tensor labels = {}) {
  return [=](const at::Tensor& z) { return debiased_negatives(z, options, labels); };
}
auto positives(DebiasedPositivesOptions options, at::Tensor labels = {}) {
  return [=](const at::Tensor& z) { return debiased_positives(z, options, labels); };
}

void expect_equal(const Evaluated& a, const Evaluated& b) {
  EXPECT_NEAR(a.value, b.value, 1e-12);
  EXPECT_LT(largest_difference(a.gradient, b.gradient), 1e-12);
}

TEST(Laws, WithoutAPriorDebiasedNegativesIsInfoNce) {
  const at::Tensor z = random_embeddings(9, 2, 4, 3);
  for (Clamp clamp : {Clamp::kFloor, Clamp::kFallback, Clamp::kPositive, Clamp::kNone}) {
    const auto found = evaluated(z, debiased(DebiasedNegativesOptions{.tau_plus = 0, .clamp = clamp}));
    expect_equal(found, evaluated(z, infonce_at(0.5)));
    EXPECT_EQ(found.result.clamped, 0);
  }
}

TEST(Laws, WithoutAPriorTheFloorOfAntipodalRowsIsNotBelowItself) {
  // Two samples, opposite to each other, in many directions: every e^s of a negative is the floor up to its rounding.
  for (int64_t direction = 0; direction < 20; ++direction) {
    const at::Tensor row = random_embeddings(1, 1, 7, direction).to(at::kFloat).expand({1, 2, 7}), z = at::cat({row, -row});
    for (double t : {0.5, 0.05}) {
      const auto found = evaluated(z, debiased(DebiasedNegativesOptions{.temperature = t, .tau_plus = 0}));
      ASSERT_EQ(found.result.clamped, 0) << t;
      EXPECT_LT(largest_difference(found.gradient, evaluated(z, infonce_at(t)).gradient), 1e-6) << t;
    }
  }
}

TEST(Laws, FallenBackEverywhereDebiasedNegativesIsInfoNce) {
  const at::Tensor z = random_embeddings(5, 2, 4, 3);
  const auto found = evaluated(z, debiased(DebiasedNegativesOptions{.tau_plus = 0.9, .clamp = Clamp::kFallback}));
  ASSERT_EQ(found.result.clamped, 10);
  expect_equal(found, evaluated(z, infonce_at(0.5)));
}

TEST(Laws, NoGradientPassesThroughABoundFloor) {
  const at::Tensor z = random_embeddings(5, 2, 4, 3);
  const auto found = evaluated(z, debiased(DebiasedNegativesOptions{.tau_plus = 0.9}));
  ASSERT_EQ(found.result.clamped, 10);
  // L_a = log(1 + N e^{-1/t - s_ap}): row (i, v) is pushed along its partner alone.
  const double n = 8, t = 0.5;
  for (int64_t i = 0; i < 5; ++i) {
    const double s = z[i][0].dot(z[i][1]).item<double>() / t, x = std::log(n) - 1 / t - s;
    const double weight = -2.0 / (1 + std::exp(-x)) / t / 10;
    EXPECT_LT(largest_difference(found.gradient[i][0], weight * z[i][1]), 1e-12);
  }
}

TEST(Laws, FallenBackAnchorsOfDebiasedPositivesHaveInfoNcesLoss) {
  const at::Tensor worst = angles({{0, 0, 0, 0}, {180, 0, 0, 0}});
  const auto some = evaluated(worst, positives(DebiasedPositivesOptions{.guard = Guard::kFallback}));
  ASSERT_GE(some.result.clamped, 1);
  EXPECT_NEAR(some.result.per_anchor[0].item<double>(), infonce(worst).per_anchor[0].item<double>(), 1e-12);
}

TEST(Laws, TheGuardActsBelowTheLeastNumeratorNotBelowZero) {
  const double t = 0.5, tau_plus = 0.1, cosine = std::cos(24.2 * std::numbers::pi / 180);
  const at::Tensor z = angles({{0, 24.2, 24.2, 24.2}, {180, 24.2, 24.2, 24.2}});
  const double s = 6 * std::exp(cosine / t), num = (s + std::exp(-1 / t) + std::exp(1 / t)) / 8 - 0.9 * s / 6,
               floor = tau_plus * std::exp(-1 / t);
  ASSERT_GT(num, 0.5 * floor);
  ASSERT_LT(num, 0.9 * floor);
  EXPECT_NEAR(debiased_positives(z).per_anchor[0].item<double>(), std::log1p(tau_plus * s / floor), 1e-12);
  const auto unguarded = debiased_positives(z, DebiasedPositivesOptions{.guard = Guard::kNone});
  EXPECT_NEAR(unguarded.per_anchor[0].item<double>(), std::log1p(tau_plus * s / num), 1e-10);
}

TEST(Laws, SumFormIsWhatItSimplifiesTo) {
  const at::Tensor z = random_embeddings(6, 2, 4, 3);
  const auto found = evaluated(z, positives(DebiasedPositivesOptions{.form = PositiveForm::kSum}));
  const at::Tensor rows = at::cat({z.select(1, 0), z.select(1, 1)}), e = (rows.mm(rows.t()) / 0.5).exp();
  const at::Tensor own = e.diagonal() + (rows * rows.roll(6, 0)).sum(1).div(0.5).exp(), s = e.sum(1) - own;
  EXPECT_NEAR(found.value, ((11 * 0.1 * s + own) / (0.1 * s + own)).log().mean().item<double>(), 1e-12);
}

TEST(Laws, TwoViewsAggregateToTheSame) {
  const at::Tensor z = random_embeddings(5, 2, 4, 3);
  expect_equal(evaluated(z, debiased(DebiasedNegativesOptions{.aggregation = Aggregation::kPairs})), evaluated(z, debiased({})));
  expect_equal(evaluated(z, positives(DebiasedPositivesOptions{.aggregation = Aggregation::kPairs})), evaluated(z, positives({})));
}

TEST(Laws, EqualViewsMakeGroupingAndPairsAgreeWithTwoViews) {
  const at::Tensor one = random_embeddings(5, 1, 4, 3), three = one.expand({5, 3, 4}), two = one.expand({5, 2, 4});
  const double expected = debiased_negatives(two).value.item<double>();
  for (Aggregation aggregation : {Aggregation::kGrouping, Aggregation::kPairs}) {
    EXPECT_NEAR(debiased_negatives(three, DebiasedNegativesOptions{.aggregation = aggregation}).value.item<double>(), expected, 1e-12);
  }
}

TEST(Laws, UnknownLabelsMatchNothing) {
  const at::Tensor z = random_embeddings(4, 2, 4, 3), unknown = integers({-1, -1, -1, -1});
  expect_equal(evaluated(z, [&](const at::Tensor& rows) { return unbiased(rows, unknown); }), evaluated(z, infonce_at(0.5)));
  expect_equal(evaluated(z, debiased(DebiasedNegativesOptions{.drop_false_negatives = true}, unknown)), evaluated(z, debiased({})));
  for (PositiveForm form : {PositiveForm::kEq12, PositiveForm::kFinal}) {
    const auto dropping = DebiasedPositivesOptions{.form = form, .drop_false_negatives = true};
    expect_equal(evaluated(z, positives(dropping, unknown)), evaluated(z, positives({})));
  }
}

TEST(Laws, BaseTemperatureRescales) {
  const at::Tensor z = random_embeddings(4, 2, 4, 3);
  const auto plain = infonce(z), scaled = infonce(z, InfoNceOptions{.base_temperature = 0.1});
  EXPECT_NEAR(scaled.value.item<double>(), 5 * plain.value.item<double>(), 1e-12);
  EXPECT_LT(largest_difference(scaled.per_anchor, 5 * plain.per_anchor), 1e-12);
}

// The edges. Every case must be finite; the values below are worked by hand.

std::vector<std::function<ObjectiveResult(const at::Tensor&, double)>> everything(const at::Tensor& labels) {
  std::vector<std::function<ObjectiveResult(const at::Tensor&, double)>> all;
  for (bool drop : {false, true}) {
    all.push_back(
        [=](const auto& z, double t) { return infonce(z, InfoNceOptions{.temperature = t, .drop_false_negatives = drop}, labels); });
    for (Clamp clamp : {Clamp::kFloor, Clamp::kFallback, Clamp::kPositive, Clamp::kNone}) {
      const auto options = DebiasedNegativesOptions{.clamp = clamp, .drop_false_negatives = drop};
      all.push_back([=](const auto& z, double t) {
        return debiased_negatives(z, with_changes(options, [&](auto& o) { o.temperature = t; }), labels);
      });
    }
    for (Guard guard : {Guard::kFloor, Guard::kFallback, Guard::kNone}) {
      for (PositiveForm form : {PositiveForm::kEq12, PositiveForm::kSum, PositiveForm::kFinal}) {
        for (double tau_plus : {0.0, 0.1}) {
          const auto options = DebiasedPositivesOptions{.tau_plus = tau_plus, .form = form, .guard = guard, .drop_false_negatives = drop};
          all.push_back([=](const auto& z, double t) {
            return debiased_positives(z, with_changes(options, [&](auto& o) { o.temperature = t; }), labels);
          });
        }
      }
    }
  }
  for (TrueNegatives negatives : {TrueNegatives::kRescale, TrueNegatives::kDrop}) {
    all.push_back([=](const auto& z, double t) { return unbiased(z, labels, UnbiasedOptions{.temperature = t, .negatives = negatives}); });
  }
  return all;
}

TEST(Extremes, EverythingIsFiniteEverywhere) {
  const std::vector<at::Tensor> inputs = {
      random_embeddings(4, 2, 3, 5),
      random_embeddings(4, 3, 3, 5),
      angles({{30, 30, 30, 30}, {30, 30, 30, 30}}),                          // identical
      angles({{30, 30, 30, 30}, {210, 210, 210, 210}}),                      // views opposite
      angles({{30, 210, 30, 210}, {30, 210, 30, 210}}),                      // samples opposite
      angles({{30, 210, 30, 210}, {210, 30, 30, 210}, {30, 30, 210, 210}}),  // all of it
      at::zeros({4, 2, 3}, at::kDouble),
  };
  for (const at::Tensor& labels : {integers({0, 1, 2, 3}), integers({5, 5, 5, 5}), integers({-1, 0, 0, -1})}) {
    const auto objectives = everything(labels);
    for (size_t which = 0; which < objectives.size(); ++which) {
      for (double t : {1e-3, 5e-3, 100.0}) {
        for (const auto& z : inputs) {
          for (auto type : {at::kFloat, at::kDouble}) {
            const auto found = evaluated(z.to(type), [&](const at::Tensor& rows) { return objectives[which](rows, t); });
            ASSERT_TRUE(std::isfinite(found.value)) << which << " t " << t << " " << z;
            ASSERT_TRUE(found.gradient.isfinite().all().item<bool>()) << which << " t " << t << " " << z;
            ASSERT_TRUE(std::isfinite(found.result.min_estimate.value_or(0)));
          }
        }
      }
    }
  }
}

TEST(Extremes, OneSampleHasNoNegativesAndCostsNothing) {
  const at::Tensor z = random_embeddings(1, 2, 3, 5);
  for (const auto& objective : everything(integers({0}))) {
    const auto found = evaluated(z, [&](const at::Tensor& rows) { return objective(rows, 0.5); });
    EXPECT_EQ(found.value, 0);
    EXPECT_EQ(found.gradient.abs().max().item<double>(), 0);
    EXPECT_EQ(found.result.clamped, 0);
    EXPECT_FALSE(found.result.min_estimate.has_value());
    EXPECT_EQ(found.result.anchors, 2);
  }
}

TEST(Extremes, IdenticalRowsCostLogOfTheirNumber) {
  const at::Tensor z = angles({{30, 30, 30, 30}, {30, 30, 30, 30}});
  for (double t : {0.005, 0.5}) {
    EXPECT_NEAR(infonce(z, InfoNceOptions{.temperature = t}).value.item<double>(), std::log(7.0), 1e-12);
    EXPECT_NEAR(debiased_negatives(z, DebiasedNegativesOptions{.temperature = t}).value.item<double>(), std::log(7.0), 1e-11);
    EXPECT_NEAR(debiased_positives(z, DebiasedPositivesOptions{.temperature = t}).value.item<double>(), std::log(7.0), 1e-11);
  }
}

TEST(Extremes, OppositeSamplesAtLowTemperature) {
  const at::Tensor z = angles({{30, 210}, {30, 210}});  // positives at cosine 1, both negatives at -1
  const double expected = 2 * std::exp(-400.0);         // log(1 + x) of so small an x
  EXPECT_NEAR(infonce(z, InfoNceOptions{.temperature = 0.005}).value.item<double>() / expected, 1, 1e-10);
  const auto floor = debiased_negatives(z, DebiasedNegativesOptions{.temperature = 0.005});
  EXPECT_NEAR(floor.value.item<double>() / expected, 1, 1e-10);
  EXPECT_EQ(floor.clamped, 4);
}

TEST(Extremes, LargeLossesKeepTheirLastDigits) {
  // Row 0 has its positive at cosine -1 and both negatives at an angle of 80 degrees: log(1 + e^x) with e^{-x} = 2e-9.
  const double t = 0.06, x = std::log(2.0) + (std::cos(80 * std::numbers::pi / 180) + 1) / t;
  ASSERT_GT(x, 20);
  const at::Tensor z = angles({{0, 80}, {180, 80}});
  EXPECT_NEAR(infonce(z, InfoNceOptions{.temperature = t}).per_anchor[0].item<double>(), x + std::log1p(std::exp(-x)), 1e-11);
}

TEST(Extremes, AllLabelsEqual) {
  const at::Tensor z = random_embeddings(4, 2, 3, 5), labels = integers({2, 2, 2, 2});
  const auto dropped = infonce(z, InfoNceOptions{.drop_false_negatives = true}, labels);
  EXPECT_EQ(dropped.value.item<double>(), 0);
  EXPECT_EQ(dropped.anchors_used, 8);
  const auto none_left = unbiased(z, labels);
  EXPECT_EQ(none_left.value.item<double>(), 0);
  EXPECT_EQ(none_left.anchors_used, 0);
  const auto floor = debiased_negatives(z, DebiasedNegativesOptions{.drop_false_negatives = true}, labels);
  EXPECT_EQ(floor.clamped, 8);
  EXPECT_EQ(debiased_positives(z, DebiasedPositivesOptions{.drop_false_negatives = true}, labels).value.item<double>(), 0);
}

TEST(Extremes, UnguardedAnchorsWithoutALossLeaveTheMean) {
  const at::Tensor z = angles({{0, 0, 0, 0}, {180, 0, 0, 0}});
  const auto found = evaluated(z, positives(DebiasedPositivesOptions{.guard = Guard::kNone}));
  EXPECT_LT(found.result.anchors_used, 8);
  EXPECT_EQ(found.result.clamped, 0);
  EXPECT_TRUE(std::isnan(found.result.per_anchor[0].item<double>()));
  EXPECT_TRUE(found.gradient.isfinite().all().item<bool>());
  const auto negatives =
      evaluated(random_embeddings(9, 2, 4, 3), debiased(DebiasedNegativesOptions{.tau_plus = 0.9, .clamp = Clamp::kNone}));
  EXPECT_LT(negatives.result.anchors_used, 18);
  EXPECT_TRUE(negatives.gradient.isfinite().all().item<bool>());
}

// All negatives at cosine 1 and the positive at cosine -1, for every row of view 0: the worst case of the numerator.
TEST(Extremes, NumeratorOfDebiasedPositivesAtItsWorst) {
  const auto worst = [](int64_t negatives) {
    const int64_t samples = negatives / 2 + 1;
    std::vector<double> first(samples, 0), second(samples, 0);
    second[0] = 180;
    return debiased_positives(angles({first, second}), DebiasedPositivesOptions());
  };
  const auto six = worst(6);
  EXPECT_NEAR(*six.min_estimate, -0.167809, 5e-7);
  EXPECT_GE(six.clamped, 1);
  EXPECT_NEAR(*worst(8).min_estimate, 0.013534, 5e-7);  // exactly on the floor: whether the guard counts it is rounding
}

}  // namespace laws_test
}  // namespace debias
