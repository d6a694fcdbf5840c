#include "debias/losses/weighted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/losses/debiased.h"
#include "debias/losses/label_free.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/objective_checks.h"
#include "tests/support/refusals.h"
#include "tests/support/with_changes.h"

namespace debias {
namespace hard_negatives_test {

auto hard(const HardNegativesOptions& options) {
  return [options](const at::Tensor& z) { return hard_negatives(z, options); };
}

TEST(HardNegatives, WithoutHardnessIsDebiasedNegatives) {
  for (const auto& z : {random_embeddings(6, 2, 4, 3), random_embeddings(4, 3, 4, 3)}) {
    for (Clamp clamp : {Clamp::kFloor, Clamp::kFallback, Clamp::kPositive, Clamp::kNone}) {
      for (double tau_plus : {0.1, 0.5}) {
        for (bool detach : {false, true}) {
          const auto options = HardNegativesOptions{.tau_plus = tau_plus, .beta = 0, .clamp = clamp, .detach_weights = detach};
          const auto plain = DebiasedNegativesOptions{.tau_plus = tau_plus, .clamp = clamp, .aggregation = Aggregation::kPairs};
          const auto [found, gradient] = with_gradient(z, hard(options));
          const auto [expected, expected_gradient] = with_gradient(z, [&](const at::Tensor& x) { return debiased_negatives(x, plain); });
          EXPECT_NEAR(value(found), value(expected), 1e-12);
          EXPECT_EQ(found.clamped, expected.clamped);
          EXPECT_EQ(found.anchors_used, expected.anchors_used);
          EXPECT_LT(largest_difference(gradient, expected_gradient), 1e-12);
          EXPECT_NEAR(*found.effective_sample_size, 2 * z.size(0) - 2, 1e-9);
        }
      }
    }
    EXPECT_NEAR(value(hard_negatives(z, HardNegativesOptions{.tau_plus = 0, .beta = 0})), value(infonce(z)), 1e-12);
  }
}

TEST(HardNegatives, GreatHardnessSeesTheNearestAlone) {
  const at::Tensor z = random_embeddings(5, 2, 4, 3);
  const at::Tensor rows = at::cat({z.select(1, 0), z.select(1, 1)}), sample = at::arange(5).repeat({2});
  const at::Tensor s = (rows.mm(rows.t()) / 0.5).masked_fill(sample.unsqueeze(0).eq(sample.unsqueeze(1)), -1e9);
  const at::Tensor positive = (rows * rows.roll(5, 0)).sum(1) / 0.5;
  const double nearest = (8 * (s.amax(1) - positive).exp()).log1p().mean().item<double>();
  const auto found = hard_negatives(z, HardNegativesOptions{.tau_plus = 0, .beta = 1e5});
  EXPECT_NEAR(value(found), nearest, 1e-9);
  EXPECT_NEAR(*found.effective_sample_size, 1, 1e-9);
}

TEST(HardNegatives, EnginesAgree) {
  for (int64_t views : {2, 3}) {
    expect_engines_agree(views, [](const ObjectiveInput& input) { return hard_negatives(input, HardNegativesOptions{.beta = 1.5}); });
  }
}

TEST(HardNegatives, IsFiniteEverywhere) {
  const std::vector<at::Tensor> inputs = {
      random_embeddings(4, 3, 3, 5),           angles({{30, 30, 30}, {30, 30, 30}}),
      angles({{30, 30, 30}, {210, 210, 210}}), angles({{30, 210, 30, 210}, {210, 30, 30, 210}}),
      at::zeros({4, 2, 3}, at::kDouble),
  };
  for (const auto& z : inputs) {
    for (auto type : {at::kFloat, at::kDouble}) {
      for (double t : {1e-3, 5e-3, 100.0}) {
        for (double beta : {0.0, 1.0, 30.0}) {
          for (double tau_plus : {0.0, 0.1, 0.99}) {
            for (Clamp clamp : {Clamp::kFloor, Clamp::kFallback, Clamp::kPositive, Clamp::kNone}) {
              for (bool detach : {false, true}) {
                const auto options =
                    HardNegativesOptions{.temperature = t, .tau_plus = tau_plus, .beta = beta, .clamp = clamp, .detach_weights = detach};
                const auto [found, gradient] = with_gradient(z.to(type), hard(options));
                ASSERT_TRUE(std::isfinite(value(found))) << z << config_of(options).to_yaml();
                ASSERT_TRUE(gradient.isfinite().all().item<bool>()) << z << config_of(options).to_yaml();
                ASSERT_TRUE(std::isfinite(*found.min_estimate));
                ASSERT_GE(*found.effective_sample_size, 1);
                ASSERT_LE(*found.effective_sample_size, 2 * z.size(0) - 2);
              }
            }
          }
        }
      }
    }
  }
}

TEST(HardNegatives, EdgesWorkedByHand) {
  for (double t : {0.005, 0.5}) {
    const auto options = HardNegativesOptions{.temperature = t, .beta = 2};
    const auto equal = hard_negatives(angles({{30, 30, 30, 30}, {30, 30, 30, 30}}), options);
    EXPECT_NEAR(value(equal), std::log(7.0), 1e-9);  // all weights alike, and g = e^{1/t}
    EXPECT_EQ(equal.clamped, 0);
    EXPECT_NEAR(*equal.effective_sample_size, 6, 1e-9);
  }
  // Positives at cosine 1 and every negative at -1: below the floor by the prior, 2 e^{-2/t} whatever the weights.
  const auto opposite = hard_negatives(angles({{30, 210}, {30, 210}}), HardNegativesOptions{.temperature = 0.005});
  EXPECT_NEAR(value(opposite) / (2 * std::exp(-400.0)), 1, 1e-9);
  EXPECT_EQ(opposite.clamped, 4);
  const auto alone = with_gradient(random_embeddings(1, 2, 3, 5), hard({}));
  EXPECT_EQ(value(alone.first), 0);
  EXPECT_EQ(alone.second.abs().max().item<double>(), 0);
  EXPECT_FALSE(alone.first.min_estimate.has_value());
  EXPECT_FALSE(alone.first.effective_sample_size.has_value());
}

TEST(HardNegatives, WithoutAPriorRoundingIsNoClamp) {
  for (int64_t direction = 0; direction < 20; ++direction) {
    const at::Tensor row = random_embeddings(1, 1, 7, direction).to(at::kFloat).expand({1, 2, 7}), z = at::cat({row, -row});
    for (double t : {0.5, 0.07}) {  // 1 / 0.07 is no float: rounding the two logs of e^{beta s} does not cancel
      for (double beta : {3.0, 100.0}) {
        EXPECT_EQ(hard_negatives(z, HardNegativesOptions{.temperature = t, .tau_plus = 0, .beta = beta}).clamped, 0) << t << " " << beta;
      }
    }
  }
}

TEST(HardNegatives, RefusesWhatItCannotDo) {
  const at::Tensor z = random_embeddings(4, 2, 3, 5);
  const auto message = [](const HardNegativesOptions& options, const at::Tensor& rows) {
    return usage_error_of([&] { hard_negatives(rows, options); });
  };
  EXPECT_NE(message(HardNegativesOptions{.beta = -0.1}, z).find(">= 0"), std::string::npos);
  EXPECT_NE(message(HardNegativesOptions{.tau_plus = 1}, z).find("[0, 1)"), std::string::npos);
  EXPECT_NE(message({}, z.slice(1, 0, 1)).find("hard_negatives: needs at least 2 views"), std::string::npos);
}

TEST(HardNegatives, BaseTemperatureRescales) {
  const at::Tensor z = random_embeddings(4, 2, 3, 5);
  const auto options = HardNegativesOptions{.temperature = 0.2, .beta = 0.5};
  const auto scaled = hard_negatives(z, with_changes(options, [&](auto& o) { o.base_temperature = 0.1; }));
  EXPECT_NEAR(value(scaled), 2 * value(hard_negatives(z, options)), 1e-12);
}

}  // namespace hard_negatives_test

namespace bayesian_test {

auto weighted_by(const BayesianOptions& options) {
  return [options](const at::Tensor& z) { return bayesian(z, options); };
}

constexpr BayesianForm kForms[] = {BayesianForm::kCorrected, BayesianForm::kPaper, BayesianForm::kAuthors};

// The formulas as printed and as released, with the root written as in the code: no care for cancellation.
double printed_weight(const RankWeighting& w, double share) {
  const double alpha = w.alpha, beta = w.beta, tau = w.tau_plus, minus = 1 - tau,
               term = w.form != BayesianForm::kAuthors || w.stabilize ? 0 : 1e-3;
  const double a = (1 - 2 * alpha) * (minus - tau) + term, b = 2 * (alpha * minus + (1 - alpha) * tau);
  double phi = share;
  if (w.form != BayesianForm::kPaper && std::abs(a) > 1e-12) phi = (-b + std::sqrt(std::max(0.0, b * b + 4 * a * share))) / (2 * a);
  if (w.form != BayesianForm::kAuthors) {
    return (alpha * minus + (1 - 2 * alpha) * phi * minus) / (alpha * minus + (1 - alpha) * tau + (1 - 2 * alpha) * phi * (minus - tau));
  }
  const double first = 2 * (1 - phi), second = 2 * phi;
  const double hard = (alpha * (1 - beta) * first + (1 - alpha) * beta * second) / (alpha * (1 - beta) + (1 - alpha) * beta + term);
  return hard / (minus * (alpha * first + (1 - alpha) * second) + tau * ((1 - alpha) * first + alpha * second));
}

std::vector<RankWeighting> weightings() {
  std::vector<RankWeighting> all;
  for (BayesianForm form : kForms) {
    for (double alpha : {0.5, 0.7, 0.95}) {
      for (double beta : {0.5, 0.8, 1.0}) {
        for (double tau_plus : {0.01, 0.1, 0.5, 0.8}) {
          for (bool stabilize : {false, true}) all.push_back({form, tau_plus, alpha, beta, stabilize});
        }
      }
    }
  }
  return all;
}

TEST(BayesianWeights, AreTheFormulas) {
  for (const auto& weighting : weightings()) {
    for (int64_t rank = 1; rank <= 7; ++rank) {
      const double expected = printed_weight(weighting, static_cast<double>(rank) / 7);
      EXPECT_NEAR(rank_weight(weighting, rank, 7), expected, 1e-11 * (1 + expected)) << rank << " alpha " << weighting.alpha;
      EXPECT_NEAR(log_rank_weights(weighting, 7)[rank - 1].item<double>(), std::log(expected), 1e-10);
    }
  }
}

TEST(BayesianWeights, VanishExactlyAtTheLargestRankOfAPerfectEncoder) {
  for (BayesianForm form : kForms) {
    for (double tau_plus : {1e-12, 1e-9, 0.1, 0.3, 0.9}) {
      const RankWeighting weighting = {form, tau_plus, 1, 0.7, true};
      EXPECT_EQ(rank_weight(weighting, 50, 50), 0) << tau_plus;
      EXPECT_EQ(log_rank_weights(weighting, 50)[49].item<double>(), -std::numeric_limits<double>::infinity());
      for (int64_t rank = 1; rank < 50; ++rank) EXPECT_GT(rank_weight(weighting, rank, 50), 0) << tau_plus;
    }
  }
}

TEST(BayesianWeights, WithoutAPriorRanksDoNotMatter) {
  for (BayesianForm form : {BayesianForm::kCorrected, BayesianForm::kPaper}) {
    for (double alpha : {0.5, 0.8, 1.0}) {
      for (int64_t rank = 1; rank <= 9; ++rank) EXPECT_NEAR(rank_weight({form, 0, alpha, 1, true}, rank, 9), 1, 1e-12);
    }
  }
  for (int64_t rank = 1; rank <= 9; ++rank) EXPECT_NEAR(rank_weight({BayesianForm::kAuthors, 0, 1, 0.7, true}, rank, 9), 1, 1e-12);
}

TEST(BayesianWeights, TheReleasedSingularityIsCrossedSmoothly) {
  const double singular = 0.5 + 0.0005 / 0.8;  // A + 1e-3 = 0
  for (int64_t rank = 1; rank <= 9; ++rank) {
    const auto at_alpha = [&](double alpha) { return rank_weight({BayesianForm::kAuthors, 0.1, alpha, 0.6, false}, rank, 9); };
    EXPECT_NEAR(at_alpha(singular), (at_alpha(singular - 1e-6) + at_alpha(singular + 1e-6)) / 2, 1e-9);
  }
}

// Quantiles of what unlabelled negatives follow, with a uniform proposal on cosines -0.5..0.5: the mean under the corrected weights is the
// true negatives' (0.8809); the printed weights miss it, however many negatives there are.
TEST(BayesianWeights, CorrectedOnesEstimateTrueNegatives) {
  const int64_t n = 20000;
  const double alpha = 0.9, tau = 0.1, t = 0.5, a = (1 - 2 * alpha) * (1 - 2 * tau), b = 1 - a;
  const auto mean = [&](BayesianForm form) {
    double sum = 0, weights = 0;
    for (int64_t rank = 1; rank <= n; ++rank) {
      const double share = (static_cast<double>(rank) - 0.5) / static_cast<double>(n),
                   phi = (-b + std::sqrt(b * b + 4 * a * share)) / (2 * a);
      const double w = rank_weight({form, tau, alpha, 0, true}, rank, n);
      sum += w * std::exp((phi - 0.5) / t), weights += w;
    }
    return sum / weights;
  };
  EXPECT_NEAR(mean(BayesianForm::kCorrected), 0.8809, 2e-4);
  EXPECT_NEAR(mean(BayesianForm::kPaper), 0.8809 - 0.020, 2e-3);
}

TEST(Bayesian, AnEncoderThatKnowsNothingLeavesInfoNce) {
  for (const auto& z : {random_embeddings(6, 2, 4, 3), random_embeddings(4, 3, 4, 3)}) {
    const auto [expected, expected_gradient] = with_gradient(z, [](const at::Tensor& x) { return infonce(x); });
    for (const auto& options : {BayesianOptions{.form = BayesianForm::kCorrected, .alpha = 0.5, .beta = 0},
                                BayesianOptions{.form = BayesianForm::kPaper, .alpha = 0.5, .beta = 0},
                                BayesianOptions{.form = BayesianForm::kAuthors, .alpha = 0.5, .beta = 0.5},
                                BayesianOptions{.tau_plus = 0, .alpha = 1, .beta = 0}}) {
      const auto [found, gradient] = with_gradient(z, weighted_by(options));
      EXPECT_NEAR(value(found), value(expected), 1e-12);
      EXPECT_LT(largest_difference(gradient, expected_gradient), 1e-12);
      EXPECT_NEAR(*found.effective_sample_size, 2 * z.size(0) - 2, 1e-9);
    }
  }
}

TEST(Bayesian, TiedNegativesOfAPerfectEncoderTakeTheLimit) {
  // Sample 1 has equal views on an axis: anchors of sample 0 see two tied negatives, those of sample 1 do not.
  const at::Tensor z = at::tensor({1.0, 0.0, 0.6, 0.8, 0.0, 1.0, 0.0, 1.0}, at::kDouble).view({2, 2, 2});
  for (BayesianForm form : {BayesianForm::kCorrected, BayesianForm::kPaper}) {
    for (double beta : {0.0, 1.0}) {
      const auto [found, gradient] = with_gradient(z, weighted_by(BayesianOptions{.form = form, .alpha = 1, .beta = beta}));
      const auto [near, near_gradient] = with_gradient(z, weighted_by(BayesianOptions{.form = form, .alpha = 1 - 1e-10, .beta = beta}));
      EXPECT_NEAR(value(found), value(near), 1e-8);
      EXPECT_LT(largest_difference(gradient, near_gradient), 1e-8);
      EXPECT_NEAR(found.per_anchor[0].item<double>(), infonce(z).per_anchor[0].item<double>(), 1e-12);
    }
  }
  const auto authors = with_gradient(z, weighted_by(BayesianOptions{.form = BayesianForm::kAuthors, .alpha = 1, .beta = 0.7}));
  EXPECT_EQ(authors.first.per_anchor[0].item<double>(), 0);
  EXPECT_GT(authors.first.per_anchor[1].item<double>(), 0);
  EXPECT_TRUE(authors.second.isfinite().all().item<bool>());
}

TEST(Bayesian, TheHardestNegativeOfAPerfectEncoderIsIgnoredAtAnyTemperature) {
  // Anchor (0, 0) has negatives at 2, 40, 90 and 120 degrees: the one at 2 has weight zero, though its e^s is e^{40} times the others'.
  const at::Tensor z = angles({{0, 2, 90}, {10, 40, 120}});
  for (auto type : {at::kFloat, at::kDouble}) {
    for (double t : {0.005, 0.05}) {
      const auto options = BayesianOptions{.temperature = t, .alpha = 1, .beta = 1};
      const double s = std::cos(40 * std::numbers::pi / 180) / t,
                   p = std::cos(10 * std::numbers::pi / 180) / t;  // the next one alone matters, omega = 4
      const double expected = std::log1p(4 * std::exp(s - p));
      EXPECT_NEAR(bayesian(z.to(type), options).per_anchor[0].item<double>(), expected, (type == at::kFloat ? 1e-4 : 1e-6) * expected) << t;
    }
  }
}

// Ranks, clamps and weights must come out alike; terms are float32 and of order 1.
TEST(Bayesian, EnginesAgree) {
  for (int64_t views : {2, 3}) {
    expect_engines_agree(
        views, [&](const ObjectiveInput& input) { return bayesian(input, BayesianOptions{.alpha = 0.9, .detach_weights = views == 2}); });
  }
}

TEST(Bayesian, IsFiniteEverywhere) {
  const std::vector<at::Tensor> inputs = {
      random_embeddings(4, 3, 3, 5),           angles({{30, 30, 30}, {30, 30, 30}}),
      angles({{30, 30, 30}, {210, 210, 210}}), angles({{30, 210, 30, 210}, {210, 30, 30, 210}}),
      at::zeros({4, 2, 3}, at::kDouble),
  };
  for (const auto& z : inputs) {
    for (auto type : {at::kFloat, at::kDouble}) {
      for (double t : {1e-3, 5e-3, 100.0}) {
        for (BayesianForm form : kForms) {
          for (double alpha : {0.5, 0.7, 1.0}) {
            for (double beta : {0.0, 0.9, 1.0, 30.0}) {
              for (double tau_plus : {0.0, 0.1, 0.99}) {
                for (bool either : {false, true}) {
                  const bool authors = form == BayesianForm::kAuthors;
                  if (authors && (beta < 0.5 || beta > 1 || (alpha == 1 && beta == 1))) continue;
                  auto options = BayesianOptions{.temperature = t, .form = form, .tau_plus = tau_plus, .alpha = alpha, .beta = beta};
                  (authors ? options.stabilize : options.detach_weights) = either;
                  const auto [found, gradient] = with_gradient(z.to(type), weighted_by(options));
                  ASSERT_TRUE(std::isfinite(value(found))) << z << config_of(options).to_yaml();
                  ASSERT_TRUE(gradient.isfinite().all().item<bool>()) << z << config_of(options).to_yaml();
                  ASSERT_GE(*found.effective_sample_size, 1);
                  ASSERT_LE(*found.effective_sample_size, 2 * z.size(0) - 2);
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(Bayesian, EdgesWorkedByHand) {
  const at::Tensor equal = angles({{30, 30, 30, 30}, {30, 30, 30, 30}});
  for (BayesianForm form : {BayesianForm::kCorrected, BayesianForm::kPaper}) {
    for (double t : {0.005, 0.5}) {
      EXPECT_NEAR(value(bayesian(equal, BayesianOptions{.temperature = t, .form = form})), std::log(7.0), 1e-9);
    }
    EXPECT_NEAR(value(bayesian(at::zeros({4, 2, 3}, at::kDouble), BayesianOptions{.form = form, .alpha = 1})), std::log(7.0), 1e-12);
  }
  for (BayesianForm form : kForms) {
    const auto alone = with_gradient(random_embeddings(1, 2, 3, 5), weighted_by(BayesianOptions{.form = form, .beta = 0.5}));
    EXPECT_EQ(value(alone.first), 0);
    EXPECT_EQ(alone.second.abs().max().item<double>(), 0);
    EXPECT_FALSE(alone.first.effective_sample_size.has_value());
  }
}

TEST(Bayesian, RefusesWhatItCannotDo) {
  const auto loss = [](const BayesianOptions& options) { bayesian(random_embeddings(4, 2, 3, 5), options); };
  const auto message = [&](const BayesianOptions& options) {
    const std::string text = usage_error_of([&] { loss(options); });
    EXPECT_TRUE(text.starts_with("bayesian: "));
    return text;
  };
  const auto authors = BayesianOptions{.form = BayesianForm::kAuthors};
  EXPECT_NE(message(with_changes(authors, [&](auto& o) { o.beta = 0.4; })).find("[0.5, 1]"), std::string::npos);
  EXPECT_NE(message(with_changes(authors, [&](auto& o) { o.beta = 1.5; })).find("[0.5, 1]"), std::string::npos);
  EXPECT_NE(message(with_changes(authors,
                                 [&](auto& o) {
                                   o.alpha = 1;
                                   o.beta = 1;
                                 }))
                .find("alpha 1 with beta 1"),
            std::string::npos);
  EXPECT_NE(message(BayesianOptions{.alpha = 0.4}).find("[0.5, 1]"), std::string::npos);
  EXPECT_NE(message(BayesianOptions{.beta = -1}).find(">= 0"), std::string::npos);
  EXPECT_NO_THROW(loss(BayesianOptions{.alpha = 1, .beta = 1}));
  EXPECT_NO_THROW(loss(BayesianOptions{.beta = 2}));
}

TEST(Bayesian, SchedulesSetAlphaAndBetaBetweenEpochs) {
  const ObjectiveInput input = {.z = random_embeddings(4, 2, 3, 5)};
  const ObjectiveEntry& entry = find_entry(objective_registry(), "bayesian", "objective");
  const auto place = [&](const char* name) {
    return static_cast<size_t>(std::ranges::find(entry.options, name, &OptionSpec::name) - entry.options.begin());
  };
  const auto options = entry.read(parse_yaml("{alpha: 0.5, beta: 2}", "term"), {});
  const auto changed = options->with({{place("alpha"), 0.7, ""}, {place("beta"), 0.1, ""}});
  EXPECT_EQ(value((*changed->make())(input)), value(bayesian(input, BayesianOptions{.alpha = 0.7, .beta = 0.1})));
  EXPECT_THROW(changed->with({{place("alpha"), 0.3, ""}}), Error);
  // Neither fits the other's value of before.
  const auto authors = entry.read(parse_yaml("{form: authors, alpha: 1, beta: 0.6}", "term"), {});
  EXPECT_THROW(authors->with({{place("beta"), 1, ""}}), Error);
  EXPECT_NO_THROW(authors->with({{place("beta"), 1, ""}, {place("alpha"), 0.6, ""}}));
}

}  // namespace bayesian_test
}  // namespace debias
