#include "debias/losses/weighted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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
}  // namespace debias
