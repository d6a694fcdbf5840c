#include "debias/losses/neighbours.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "debias/core/registry.h"
#include "debias/losses/weighted.h"
#include "tests/support/finite_differences.h"
#include "tests/support/refusals.h"

namespace debias {
namespace neighbours_test {

// The 5 x 5 scores of the published figures; what stands on the diagonal must not matter.
at::Tensor published_scores() {
  return at::tensor({9.0, 1.0, .2, -.5, .3, .7, -9.0, .9, .1, -.2, 0.0, .4, 3.0, 1.2, .6, -.1, .2, .8, -4.0, 1.1, .5, -.3, .1, .9, 77.0},
                    at::kDouble)
      .view({5, 5});
}

std::unique_ptr<Objective> made(const std::string& text) {
  const Config term = parse_yaml(text, "term");
  return find_entry(objective_registry(), term.find("name")->text(), "objective").make(term, {"name"});
}

struct Case {
  std::string objective;
  std::optional<NeighbourNegatives> negatives;
  int64_t context = 1;

  ObjectiveResult operator()(const at::Tensor& scores) const {
    return made(objective)->on_scores({NeighbourScores{scores, context, negatives}});
  }
  double value(const at::Tensor& scores) const { return (*this)(scores).value.item<double>(); }
};

constexpr auto kOthers = NeighbourNegatives::kNegatives, kRow = NeighbourNegatives::kOfficial;

Case debiased(double tau_plus, NeighbourNegatives negatives, int64_t context = 1) {
  return {fmt::format("{{name: debiased_negatives, temperature: 1, clamp: positive, tau_plus: {}}}", tau_plus), negatives, context};
}

TEST(Neighbours, HaveThePublishedValues) {
  EXPECT_NEAR(debiased(0, kRow).value(published_scores()), 1.1400224, 1e-7);
  EXPECT_NEAR(debiased(.01, kOthers).value(published_scores()), 0.7383943, 1e-7);
  EXPECT_NEAR(debiased(0, kOthers).value(published_scores()), 0.7448050, 1e-7);
}

TEST(Neighbours, HaveTheNegativesOfTheObjectiveWhereTheMethodLeavesThemOpen) {
  EXPECT_NEAR((Case{"{name: infonce, temperature: 1}", {}}.value(published_scores())), 1.1400224, 1e-7);
  EXPECT_NEAR((Case{"{name: infonce, temperature: 1}", kOthers}.value(published_scores())), 0.7448050, 1e-7);
  EXPECT_NEAR((Case{debiased(.01, kRow).objective, {}}.value(published_scores())), 0.7383943, 1e-7);
}

// What an anchor of the formula has: s_ip, the mean of e^s over P(i), and its negatives' scores.
struct Anchor {
  double positive = 0, mean = 0;
  std::vector<double> negatives;
};

// The means of the header, a pair at a time.
double naive_mean(const at::Tensor& scores, const Case& given, const std::function<double(const Anchor&)>& loss) {
  const int64_t B = scores.size(0), c = given.context;
  const auto s = [&](int64_t i, int64_t j) { return scores[i][j].item<double>(); };
  double total = 0;
  for (int64_t i = 0; i < B; ++i) {
    std::vector<int64_t> positives;
    for (int64_t j = std::max<int64_t>(0, i - c); j <= std::min(B - 1, i + c); ++j) {
      if (j != i) positives.push_back(j);
    }
    for (const int64_t p : positives) {
      Anchor anchor;
      anchor.positive = s(i, p);
      for (const int64_t other : positives) anchor.mean += std::exp(s(i, other)) / static_cast<double>(positives.size());
      for (int64_t j = 0; j < B; ++j) {
        const bool is_positive = std::count(positives.begin(), positives.end(), j) > 0;
        if (given.negatives == kOthers ? (j == i || is_positive) : j == p) continue;
        anchor.negatives.push_back(j == i ? 0 : s(i, j));
      }
      if (!anchor.negatives.empty()) total += loss(anchor) / static_cast<double>(positives.size());
    }
  }
  return total / static_cast<double>(B);
}

// log(1 + N g / p) of a sum over negatives with the share of the anchor's class taken out.
double naive_loss(const Anchor& anchor, double sum, double tau_plus) {
  const auto N = static_cast<double>(anchor.negatives.size());
  const double ng = std::max(0.0, (sum - tau_plus * N * anchor.mean) / (1 - tau_plus));
  return std::log(std::exp(anchor.positive) + ng) - anchor.positive;
}

double naive_hard(const Anchor& anchor, double tau_plus, double beta) {
  double sum = 0, weights = 0;
  for (const double s : anchor.negatives) {
    sum += std::exp((1 + beta) * s);
    weights += std::exp(beta * s);
  }
  return naive_loss(anchor, static_cast<double>(anchor.negatives.size()) * sum / weights, tau_plus);
}

double naive_bayesian(const Anchor& anchor, const RankWeighting& weighting) {
  const auto N = static_cast<int64_t>(anchor.negatives.size());
  double sum = 0, weights = 0;
  for (const double s : anchor.negatives) {
    const int64_t rank = std::ranges::count_if(anchor.negatives, [s](double other) { return other <= s; });
    const double weight = rank_weight(weighting, rank, N) * std::exp(weighting.beta * s);
    sum += weight * std::exp(s);
    weights += weight;
  }
  return naive_loss(anchor, static_cast<double>(N) * sum / weights, 0);
}

at::Tensor waves(int64_t B) { return (at::arange(B * B, at::kDouble) * 1.37).sin().view({B, B}) * 3; }

void expect_mean(const Case& given, const std::function<double(const Anchor&)>& loss) {
  for (const int64_t B : {4, 5, 17}) {
    for (const auto negatives : {kOthers, kRow}) {
      for (const int64_t context : {1, 2}) {
        const Case each = {given.objective, negatives, context};
        EXPECT_NEAR(each.value(waves(B)), naive_mean(waves(B), each, loss), 1e-9) << given.objective << " " << B << " " << context;
      }
    }
  }
}

TEST(Neighbours, AreTheFormulaOfEachObjective) {
  for (const double tau : {0.0, .005, .1, .4}) {
    expect_mean(debiased(tau, kOthers), [&](const Anchor& anchor) {
      double sum = 0;
      for (const double s : anchor.negatives) sum += std::exp(s);
      return naive_loss(anchor, sum, tau);
    });
    for (const double beta : {0.0, .7}) {
      expect_mean({fmt::format("{{name: hard_negatives, temperature: 1, clamp: positive, tau_plus: {}, beta: {}}}", tau, beta), {}},
                  [&](const Anchor& anchor) { return naive_hard(anchor, tau, beta); });
    }
  }
  for (const double alpha : {.5, .7}) {
    expect_mean({fmt::format("{{name: bayesian, temperature: 1, tau_plus: 0.05, alpha: {}, beta: 0.8}}", alpha), {}},
                [&](const Anchor& anchor) { return naive_bayesian(anchor, {.tau_plus = .05, .alpha = alpha, .beta = .8}); });
  }
}

TEST(Neighbours, OfOneObjectiveAreThoseOfAnotherWhereTheirFormulasMeet) {
  const auto value = [](const char* objective) { return Case{objective, kOthers}.value(waves(9)); };
  const double biased = value("{name: infonce, temperature: 1}");
  EXPECT_NEAR(value("{name: hard_negatives, temperature: 1, clamp: positive, tau_plus: 0, beta: 0}"), biased, 1e-12);
  EXPECT_NEAR(value("{name: bayesian, temperature: 1, tau_plus: 0, beta: 0}"), biased, 1e-12);
}

TEST(Neighbours, AreScaledByTemperatureAndBaseTemperature) {
  const double half = Case{"{name: infonce, temperature: 0.5}", {}}.value(waves(6));
  EXPECT_NEAR(half, (Case{"{name: infonce, temperature: 1}", {}}.value(waves(6) / .5)), 1e-12);
  const ObjectiveResult scaled = Case{"{name: infonce, temperature: 0.5, base_temperature: 0.25}", {}}(waves(6));
  EXPECT_NEAR(scaled.value.item<double>(), 2 * half, 1e-12);
  EXPECT_NEAR(scaled.per_anchor.mean().item<double>(), 2 * half, 1e-12);
}

TEST(Neighbours, SayHowManyNegativesTheWeightsAmountTo) {
  const auto size = [](const char* objective) { return Case{objective, kRow}(waves(9)).effective_sample_size; };
  EXPECT_NEAR(*size("{name: hard_negatives, temperature: 1, clamp: positive, beta: 0}"), 8, 1e-9);
  EXPECT_LT(*size("{name: hard_negatives, temperature: 1, clamp: positive, beta: 5}"), 4);
  EXPECT_FALSE(size("{name: infonce, temperature: 1}").has_value());
}

TEST(Neighbours, RefuseOptionsThatHaveNoMeaningForThem) {
  const auto refusal = [](const char* objective) { return made(objective)->refusal(ScoreForm::kNeighbours); };
  EXPECT_EQ(refusal("{name: infonce}"), "");
  EXPECT_EQ(refusal("{name: bayesian}"), "");
  EXPECT_EQ(refusal("{name: debiased_negatives}"),
            "objective 'debiased_negatives': clamp: floor is for unit vectors, and scores are of vectors of any length, so it needs clamp: "
            "positive");
  EXPECT_EQ(refusal("{name: debiased_negatives, clamp: positive, aggregation: pairs}"),
            "objective 'debiased_negatives': aggregation: sentences have no views to average; leave it out");
  EXPECT_EQ(refusal("{name: infonce, drop_false_negatives: true}"),
            "objective 'infonce': drop_false_negatives: scores have no labels; leave it out");
  const std::string unknown = refusal("{name: supcon}");
  EXPECT_EQ(unknown, fmt::format("objective 'supcon' does not take scores of neighbours; choose {}",
                                 fmt::join(objectives_on(ScoreForm::kNeighbours), ", ")));
  EXPECT_EQ(usage_error_of([] { made("{name: supcon}")->on_scores({NeighbourScores{waves(5)}}); }), unknown);
}

// Of scores without ties, at which ranks would jump.
TEST(Neighbours, HaveTheGradientsOfFiniteDifferences) {
  for (const char* objective :
       {"{name: debiased_negatives, temperature: 1, clamp: positive}", "{name: hard_negatives, temperature: 1, clamp: positive, beta: 0.7}",
        "{name: bayesian, temperature: 1, beta: 0.8, detach_weights: false}"}) {
    for (const auto negatives : {kOthers, kRow}) {
      const Case given = {objective, negatives};
      at::Tensor scores = waves(5).clone().set_requires_grad(true);
      const at::Tensor gradient = torch::autograd::grad({given(scores).value}, {scores})[0];
      const at::Tensor numeric = numeric_gradient([&](const at::Tensor& s) { return given.value(s); }, waves(5));
      EXPECT_LT(largest_difference(gradient, numeric), 1e-8) << objective;
      for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(gradient[i][i].item<double>(), 0);
    }
  }
}

TEST(Neighbours, CountClampedPairsWhichGiveNoGradient) {
  at::Tensor scores = at::zeros({6, 6}, at::kFloat);
  scores[2][1] = 100;  // far above all of its negatives
  scores[2][3] = 100;
  scores.set_requires_grad(true);
  const ObjectiveResult found = debiased(.1, kOthers)(scores);
  EXPECT_EQ(found.anchors, 10);
  EXPECT_EQ(found.clamped, 2);
  EXPECT_LT(*found.min_estimate, 0);
  EXPECT_LT(found.per_anchor[2].item<double>(), 1e-20);
  const at::Tensor gradient = torch::autograd::grad({found.value}, {scores})[0];
  EXPECT_LT(gradient[2].abs().max().item<double>(), 1e-20);
  EXPECT_GT(gradient[1].abs().max().item<double>(), 0);
}

TEST(Neighbours, StayFiniteAtLargeScores) {
  const at::Tensor scores = ((at::arange(64, at::kFloat) * 0.9).sin() * 3e4).view({8, 8});
  for (const auto denominator : {kOthers, kRow}) {
    for (const double tau : {0.0, .01}) {
      at::Tensor own = scores.clone().set_requires_grad(true);
      const ObjectiveResult found = debiased(tau, denominator)(own);
      EXPECT_TRUE(std::isfinite(found.value.item<double>()));
      EXPECT_TRUE(at::isfinite(torch::autograd::grad({found.value}, {own})[0]).all().item<bool>());
    }
  }
}

TEST(Neighbours, CountHitsAsPublished) {
  at::Tensor scores = at::full({4, 4}, -1.0);
  scores.fill_diagonal_(50);  // taken as 0, which is above all -1
  scores[0][1] = 2;           // finds the next
  scores[2][1] = 2;           // finds the previous
  scores[3][0] = 2;           // finds neither
  const NeighbourHits hits = neighbour_hits(scores);
  EXPECT_EQ(hits.pairs, 3);
  EXPECT_EQ(hits.next, 1);
  EXPECT_EQ(hits.previous, 1);
  EXPECT_EQ(nearest_is_neighbour(scores), 3);  // row 1, whose own score is left out, has the first of equals: 0
}

TEST(Neighbours, RefuseABatchWithoutNegatives) {
  for (const int64_t B : {1, 2}) {
    usage_error_of([&] { debiased(0, kOthers)(at::zeros({B, B})); });
  }
}

}  // namespace neighbours_test
}  // namespace debias
