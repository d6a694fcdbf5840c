// Objectives on each anchor's own draws from a memory bank, against a loop over the draws in double.
#include "debias/losses/bank_draws.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "tests/support/finite_differences.h"
#include "tests/support/refusals.h"

namespace debias {
namespace draws_test {

constexpr int64_t kAnchors = 3, kNegatives = 5, kSamples = 7;

std::unique_ptr<Objective> made(const std::string& text) {
  const Config term = parse_yaml(text, "term");
  return find_entry(objective_registry(), term.find("name")->text(), "objective").make(term, {"name"});
}

at::Tensor unit(const at::Tensor& rows) { return rows / rows.norm(2, 1, true); }

// Two banks with their anchors, all of unit length.
std::vector<BankDraws> draws(BankNce* nce = nullptr) {
  std::vector<BankDraws> both;
  for (const double shift : {0.0, 1.0}) {
    BankDraws each;
    each.anchors = unit((at::arange(kAnchors * 4, at::kDouble) * 1.3 + shift).sin().view({kAnchors, 4}));
    each.bank = unit((at::arange(kSamples * 4, at::kDouble) * 0.7 - shift).cos().view({kSamples, 4}));
    each.ids = at::arange(kAnchors * (1 + kNegatives), at::kInt).mul(5).remainder(kSamples).to(at::kInt).view({kAnchors, 1 + kNegatives});
    each.nce = nce;
    both.push_back(std::move(each));
  }
  return both;
}

// The sum over banks of the mean over anchors of log(1 + K g / p), debiased with fall-back; tau_plus 0: InfoNCE.
double naive(const std::vector<BankDraws>& all, double t, double tau_plus) {
  double total = 0;
  for (const BankDraws& each : all) {
    for (int64_t i = 0; i < kAnchors; ++i) {
      const auto exponential = [&](int64_t k) {
        return std::exp((each.bank[each.ids[i][k].item<int64_t>()] * each.anchors[i]).sum().item<double>() / t);
      };
      double sum = 0;
      for (int64_t k = 1; k <= kNegatives; ++k) sum += exponential(k);
      const double estimate = (sum / kNegatives - tau_plus * exponential(0)) / (1 - tau_plus);
      const double kept = estimate < std::exp(-1 / t) ? sum : kNegatives * estimate;
      total += std::log(1 + kept / exponential(0)) / kAnchors;
    }
  }
  return total;
}

TEST(Draws, AreTheFormulaOfEachObjective) {
  for (const double t : {0.1, 0.5}) {
    const ObjectiveResult biased = made(fmt::format("{{name: infonce, temperature: {}}}", t))->on_scores({draws()});
    EXPECT_NEAR(biased.value.item<double>(), naive(draws(), t, 0), 1e-12);
    EXPECT_EQ(biased.anchors, 2 * kAnchors);
    EXPECT_EQ(biased.per_anchor.size(0), 2 * kAnchors);
    EXPECT_NEAR(2 * biased.per_anchor.mean().item<double>(), biased.value.item<double>(), 1e-12);
    for (const double tau : {0.0, 0.1, 0.4}) {
      const auto debiased = made(fmt::format("{{name: debiased_negatives, clamp: fallback, temperature: {}, tau_plus: {}}}", t, tau));
      EXPECT_NEAR(debiased->on_scores({draws()}).value.item<double>(), naive(draws(), t, tau), 1e-12) << t << " " << tau;
    }
  }
}

TEST(Draws, ThatFallBackAreCounted) {
  const ObjectiveResult found = made("{name: debiased_negatives, clamp: fallback, temperature: 0.1, tau_plus: 0.4}")->on_scores({draws()});
  EXPECT_GT(found.clamped, 0);
  EXPECT_LT(found.clamped, 2 * kAnchors);
  EXPECT_LT(*found.min_estimate, std::exp(-10.0));
}

TEST(Draws, AreScaledByTemperatureOverBaseTemperature) {
  const double plain = made("{name: infonce, temperature: 0.5}")->on_scores({draws()}).value.item<double>();
  EXPECT_NEAR(made("{name: infonce, temperature: 0.5, base_temperature: 0.1}")->on_scores({draws()}).value.item<double>(), 5 * plain,
              1e-12);
}

TEST(Draws, HaveTheGradientsOfFiniteDifferences) {
  for (const char* objective : {"{name: infonce, temperature: 0.5}", "{name: debiased_negatives, clamp: fallback, temperature: 0.5}"}) {
    auto given = draws();
    const auto value = [&](const at::Tensor& anchors) {
      given[1].anchors = anchors;
      return made(objective)->on_scores({given}).value;
    };
    const at::Tensor start = given[1].anchors, point = start.clone().set_requires_grad(true);
    value(point).backward();
    const at::Tensor numeric = numeric_gradient([&](const at::Tensor& anchors) { return value(anchors).item<double>(); }, start);
    EXPECT_LT(largest_difference(point.grad(), numeric), 1e-8) << objective;
  }
}

TEST(Draws, AreEstimatedByTheBanksOwnNormaliser) {
  BankNce nce(kSamples), alone(kSamples);
  auto one = draws(&nce);
  one.pop_back();
  const ObjectiveResult found = made("{name: infonce, temperature: 0.5}")->on_scores({one});
  const at::Tensor scores = (one[0].bank.index({one[0].ids.to(at::kLong)}) * one[0].anchors.unsqueeze(1)).sum(2) / 0.5;
  EXPECT_NEAR(found.value.item<double>(), alone(scores).loss.mean().item<double>(), 1e-12);
  EXPECT_NEAR(*nce.normaliser(), *alone.normaliser(), 1e-12);
}

TEST(Draws, RefuseOptionsThatHaveNoMeaningForThem) {
  const auto refusal = [](const char* objective, ScoreForm form = ScoreForm::kDraws) { return made(objective)->refusal(form); };
  EXPECT_EQ(refusal("{name: infonce}"), "");
  EXPECT_EQ(refusal("{name: infonce, temperature: 0.001}"),
            "objective 'infonce': temperature: draws from a bank take 0.002 or more, found 0.001");
  EXPECT_EQ(refusal("{name: infonce, drop_false_negatives: true}"),
            "objective 'infonce': drop_false_negatives: scores have no labels; leave it out");
  EXPECT_EQ(refusal("{name: debiased_negatives, clamp: fallback}"), "");
  EXPECT_EQ(refusal("{name: debiased_negatives}"), "objective 'debiased_negatives': clamp: draws from a bank take fallback, found floor");
  EXPECT_EQ(refusal("{name: debiased_negatives, clamp: fallback}", ScoreForm::kNceDraws),
            "objective 'debiased_negatives' does not take noise-contrastive estimation; choose infonce");
  BankNce nce(kSamples);
  EXPECT_EQ(usage_error_of([&] { made("{name: debiased_negatives, clamp: fallback}")->on_scores({draws(&nce)}); }),
            "objective 'debiased_negatives' does not take noise-contrastive estimation; choose infonce");
}

}  // namespace draws_test

namespace bank_scores_test {

struct Problem {
  at::Tensor bank, ids, f;
};

Problem problem(int64_t n, int64_t dim, int64_t anchors, int64_t picks, at::ScalarType type = at::kFloat) {
  const auto wave = [&](at::IntArrayRef shape, double step) {
    return at::sin(at::arange(c10::multiply_integers(shape), at::kDouble) * step).reshape(shape).to(type);
  };
  const at::Tensor ids = at::arange(anchors * picks, at::kLong).mul_(7919).remainder_(n).to(at::kInt).view({anchors, picks});
  return {wave({n, dim}, 0.7), ids, wave({anchors, dim}, 0.3)};
}

// Scores and, for the weights cos(0), cos(1), ... of the scores, the gradient.
template <class Scores>
std::pair<at::Tensor, at::Tensor> evaluated(const Problem& given, const Scores& scores_of) {
  const at::Tensor f = given.f.clone().set_requires_grad(true);
  const at::Tensor scores = scores_of(given.bank, given.ids, f, 0.07);
  (scores * at::cos(at::arange(scores.numel(), scores.options())).view_as(scores)).sum().backward();
  return {scores.detach(), f.grad()};
}

TEST(BankScores, AgreeWithGatheredRows) {
  for (const Problem& given : {problem(1, 1, 1, 1), problem(50, 3, 4, 9), problem(3000, 128, 5, 700)}) {
    const auto [scores, gradient] = evaluated(given, bank_scores);
    const auto [expected, expected_gradient] = evaluated(given, gathered_bank_scores);
    EXPECT_TRUE(at::allclose(scores, expected, 1e-5, 1e-4));
    EXPECT_TRUE(at::allclose(gradient, expected_gradient, 1e-4, 1e-3));
  }
}

TEST(BankScores, GradientIsThatOfFiniteDifferences) {
  const Problem given = problem(40, 5, 3, 6, at::kDouble);
  const auto [scores, gradient] = evaluated(given, bank_scores);
  const at::Tensor weights = at::cos(at::arange(18, at::kDouble)).view({3, 6});
  const at::Tensor numeric = numeric_gradient(
      [&](const at::Tensor& f) { return (bank_scores(given.bank, given.ids, f, 0.07) * weights).sum().item<double>(); }, given.f);
  EXPECT_LT(largest_difference(gradient, numeric), 1e-6);
  const Problem single{given.bank.to(at::kFloat), given.ids, given.f.to(at::kFloat)};
  EXPECT_LT(largest_difference(evaluated(single, bank_scores).second, numeric), 1e-4);
}

TEST(BankScores, AreTheSameBytesOnAnyNumberOfThreads) {
  const Problem given = problem(5000, 128, 7, 900);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const auto [scores, gradient] = evaluated(given, bank_scores);
  for (const int threads : {2, 3, 16}) {
    at::set_num_threads(threads);
    const auto [again, gradient_again] = evaluated(given, bank_scores);
    EXPECT_TRUE(at::equal(again, scores)) << threads;
    EXPECT_TRUE(at::equal(gradient_again, gradient)) << threads;
  }
  at::set_num_threads(before);
}

TEST(BankScores, TakeAnyLayout) {
  const Problem given = problem(50, 4, 6, 6);
  const at::Tensor f = given.f.t().contiguous().t(), ids = given.ids.t().contiguous().t();
  EXPECT_TRUE(at::equal(bank_scores(given.bank, ids, f, 1), bank_scores(given.bank, given.ids, given.f, 1)));
  const Problem turned{given.bank, given.ids, given.f.clone().set_requires_grad(true)};
  bank_scores(turned.bank, turned.ids, turned.f, 1).backward(at::ones({6, 6}).t());
  EXPECT_TRUE(turned.f.grad().defined());
}

TEST(BankScores, ABankChangedBeforeBackwardIsRefused) {
  const Problem given = problem(50, 4, 2, 3);
  const at::Tensor f = given.f.clone().set_requires_grad(true), loss = bank_scores(given.bank, given.ids, f, 1).sum();
  given.bank.select(0, 3).zero_();
  EXPECT_THROW(loss.backward(), c10::Error);
}

std::string refusal(const Problem& given) {
  return data_error_of([&] { bank_scores(given.bank, given.ids, given.f, 1); });
}

TEST(BankScores, WhatDoesNotFitIsRefused) {
  Problem given = problem(50, 4, 2, 3);
  given.ids[1][1] = 50;
  EXPECT_EQ(refusal(given), "bank_scores: ids run from 0 to 50, and the bank has rows 0 to 49");
  given.ids[1][1] = -1;
  EXPECT_EQ(refusal(given).substr(0, 26), "bank_scores: ids run from ");
  EXPECT_EQ(refusal({given.bank, given.ids.to(at::kLong), given.f}), "bank_scores: expected ids in int32 on the CPU, found Long on cpu");
  EXPECT_EQ(refusal({given.bank, given.ids, given.f.narrow(1, 0, 3)}),
            "bank_scores: expected a bank [n, D], ids [B, picks] and anchors [B, D], found [50, 4], [2, 3] and [2, 3]");
}

}  // namespace bank_scores_test

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
