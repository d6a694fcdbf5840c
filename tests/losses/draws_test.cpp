// Objectives on each anchor's own draws from a memory bank, against a loop over the draws in double.
#include "debias/losses/bank_draws.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

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
}  // namespace debias
