#include "debias/losses/debiased.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/objective_checks.h"
#include "tests/support/refusals.h"
#include "tests/support/with_changes.h"

namespace debias {
namespace combined_debiased_test {

const at::Tensor kTwo = angles({{0, 41, 133, 205}, {12, 66, 118, 240}});
const at::Tensor kThree = angles({{0, 41, 133, 205}, {12, 66, 118, 240}, {23, 52, 146, 214}});

std::vector<CombinedDebiasedOptions> settings() {
  std::vector<CombinedDebiasedOptions> all;
  for (Clamp clamp : {Clamp::kFloor, Clamp::kFallback, Clamp::kPositive, Clamp::kNone}) {
    for (Guard guard : {Guard::kFloor, Guard::kFallback, Guard::kNone}) {
      for (PositiveForm form : {PositiveForm::kEq12, PositiveForm::kSum, PositiveForm::kFinal}) {
        for (Aggregation aggregation : {Aggregation::kGrouping, Aggregation::kPairs}) {
          for (bool drop : {false, true}) {
            all.push_back(CombinedDebiasedOptions{
                .clamp = clamp, .form = form, .guard = guard, .aggregation = aggregation, .drop_false_negatives = drop});
          }
        }
      }
    }
  }
  return all;
}

TEST(CombinedDebiased, IsTheMixtureOfItsPartsForAllTheirOptions) {
  const at::Tensor labels = integers({0, 1, 0, -1});
  for (const auto& setting : settings()) {
    for (const auto& z : {random_embeddings(4, 2, 3, 5), random_embeddings(4, 3, 3, 6)}) {
      for (double tau_plus : {0.1, 0.5}) {
        const auto options = with_changes(setting, [&](auto& o) {
          o.tau_plus = tau_plus;
          o.temperature = 0.4;
          o.base_temperature = 0.1;
          o.mix = 0.3;
        });
        const std::string what = config_of(options).to_yaml();
        const auto [a, a_gradient] = with_gradient(z, [&](const at::Tensor& x) {
          return debiased_negatives(x,
                                    DebiasedNegativesOptions{.temperature = 0.4,
                                                             .base_temperature = 0.1,
                                                             .tau_plus = tau_plus,
                                                             .clamp = setting.clamp,
                                                             .aggregation = setting.aggregation,
                                                             .drop_false_negatives = setting.drop_false_negatives},
                                    labels);
        });
        const auto [b, b_gradient] = with_gradient(z, [&](const at::Tensor& x) {
          return debiased_positives(x,
                                    DebiasedPositivesOptions{.temperature = 0.4,
                                                             .base_temperature = 0.1,
                                                             .tau_plus = tau_plus,
                                                             .form = setting.form,
                                                             .guard = setting.guard,
                                                             .aggregation = setting.aggregation,
                                                             .drop_false_negatives = setting.drop_false_negatives},
                                    labels);
        });
        const auto [found, gradient] = with_gradient(z, [&](const at::Tensor& x) { return combined_debiased(x, options, labels); });
        EXPECT_NEAR(value(found), 0.3 * value(a) + 0.7 * value(b), 1e-12) << what;
        EXPECT_LT(largest_difference(gradient, 0.3 * a_gradient + 0.7 * b_gradient), 1e-12) << what;
        EXPECT_TRUE(at::allclose(found.per_anchor, 0.3 * a.per_anchor + 0.7 * b.per_anchor, 1e-12, 1e-12, true)) << what;
        EXPECT_EQ(found.clamped, a.clamped + b.clamped);
        EXPECT_EQ(found.anchors, a.anchors);
        EXPECT_EQ(found.anchors_used, found.per_anchor.isnan().logical_not().sum().item<int64_t>());
        EXPECT_EQ(*found.min_estimate, std::min(*a.min_estimate, *b.min_estimate));
      }
    }
  }
}

void expect_same(const ObjectiveResult& a, const ObjectiveResult& b) {
  EXPECT_EQ(value(a), value(b));
  EXPECT_TRUE(a.per_anchor.equal(b.per_anchor));
  EXPECT_EQ(a.anchors_used, b.anchors_used);
  EXPECT_EQ(a.clamped, b.clamped);
  EXPECT_EQ(a.min_estimate, b.min_estimate);
}

TEST(CombinedDebiased, WithTheWholeShareIsOnePart) {
  for (const auto& z : {kTwo, kThree}) {
    for (Aggregation aggregation : {Aggregation::kGrouping, Aggregation::kPairs}) {
      const auto options = CombinedDebiasedOptions{.aggregation = aggregation};
      expect_same(combined_debiased(z, with_changes(options, [&](auto& o) { o.mix = 1; })),
                  debiased_negatives(z, DebiasedNegativesOptions{.aggregation = aggregation}));
      expect_same(combined_debiased(z, with_changes(options, [&](auto& o) { o.mix = 0; })),
                  debiased_positives(z, DebiasedPositivesOptions{.aggregation = aggregation}));
    }
  }
}

TEST(CombinedDebiased, AnAnchorThatOnePartDropsLeavesThatPartsMean) {
  const at::Tensor z = angles({{0, 0, 0, 0}, {180, 0, 0, 0}});
  const auto part = debiased_positives(z, DebiasedPositivesOptions{.guard = Guard::kNone});
  ASSERT_LT(part.anchors_used, 8);
  const auto found = combined_debiased(z, CombinedDebiasedOptions{.guard = Guard::kNone});
  EXPECT_EQ(found.anchors, 8);
  EXPECT_EQ(found.anchors_used, part.anchors_used);
  EXPECT_TRUE(std::isnan(found.per_anchor[0].item<double>()));
  EXPECT_NEAR(value(found), (value(debiased_negatives(z)) + value(part)) / 2, 1e-12);
}

// Ranks, clamps and weights must come out alike; terms are float32 and of order 1.
TEST(CombinedDebiased, EnginesAgree) {
  for (int64_t views : {2, 3}) {
    std::vector<std::pair<ObjectiveResult, at::Tensor>> found;
    for (Engine engine : {Engine::kDense, Engine::kFused}) {
      found.push_back(with_gradient(random_embeddings(9, views, 6, 4).to(at::kFloat), [&](const at::Tensor& x) {
        return combined_debiased(ObjectiveInput{.z = x, .engine = engine}, CombinedDebiasedOptions());
      }));
      EXPECT_EQ(found.back().first.fused(), engine == Engine::kFused);
    }
    EXPECT_NEAR(value(found[0].first), value(found[1].first), 2e-6);
    EXPECT_LT(largest_difference(found[0].second, found[1].second), 2e-6);
    EXPECT_LT(largest_difference(found[0].first.per_anchor, found[1].first.per_anchor), 1e-5);
  }
}

TEST(CombinedDebiased, IsFiniteEverywhere) {
  const at::Tensor labels = integers({5, 5, 5, -1});
  const std::vector<at::Tensor> inputs = {
      random_embeddings(4, 3, 3, 5),
      angles({{30, 30, 30, 30}, {30, 30, 30, 30}}),
      angles({{30, 30, 30, 30}, {210, 210, 210, 210}}),
      angles({{30, 210, 30, 210}, {210, 30, 30, 210}}),
      at::zeros({4, 2, 3}, at::kDouble),
  };
  for (const auto& setting : settings()) {
    for (const auto& z : inputs) {
      for (auto type : {at::kFloat, at::kDouble}) {
        for (double t : {1e-3, 100.0}) {
          const auto options = with_changes(setting, [&](auto& o) { o.temperature = t; });
          const auto [found, gradient] =
              with_gradient(z.to(type), [&](const at::Tensor& x) { return combined_debiased(x, options, labels); });
          ASSERT_TRUE(std::isfinite(value(found))) << z << config_of(options).to_yaml();
          ASSERT_TRUE(gradient.isfinite().all().item<bool>()) << z << config_of(options).to_yaml();
        }
      }
    }
  }
}

TEST(CombinedDebiased, OneSampleCostsNothing) {
  for (double mix : {0.0, 0.5, 1.0}) {
    const auto [found, gradient] = with_gradient(
        random_embeddings(1, 2, 3, 5), [&](const at::Tensor& x) { return combined_debiased(x, CombinedDebiasedOptions{.mix = mix}); });
    EXPECT_EQ(value(found), 0);
    EXPECT_EQ(gradient.abs().max().item<double>(), 0);
    EXPECT_FALSE(found.min_estimate.has_value());
    EXPECT_EQ(found.anchors, 2);
  }
}

TEST(CombinedDebiased, RefusesWhatItCannotDo) {
  const auto message = [](const CombinedDebiasedOptions& options) {
    const std::string text = usage_error_of([&] { combined_debiased(kTwo, options); });
    EXPECT_TRUE(text.starts_with("combined_debiased: "));
    return text;
  };
  EXPECT_NE(message(CombinedDebiasedOptions{.mix = 1.01}).find("[0, 1]"), std::string::npos);
  EXPECT_NE(message(CombinedDebiasedOptions{.mix = -0.01}).find("[0, 1]"), std::string::npos);
  EXPECT_NE(message(CombinedDebiasedOptions{.drop_false_negatives = true}).find("needs labels"), std::string::npos);
}

}  // namespace combined_debiased_test
}  // namespace debias
