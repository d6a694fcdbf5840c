// Objectives with the settings of a recipe, in double, against values computed independently from the papers' formulas (2-D unit vectors
// at known angles, classes 0 0 1 1, bias labels 0 1 0 1), printed with nine decimals.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "debias/core/config.h"
#include "debias/core/registry.h"
#include "debias/losses/objective.h"

namespace debias {
namespace golden_settings_test {

struct Known {
  std::string objective;
  std::vector<std::string> settings;
  int views;
  double value;
};

void PrintTo(const Known& known, std::ostream* out) {
  *out << known.objective << ", V " << known.views;
  for (const auto& setting : known.settings) *out << ", " << setting;
}

class GoldenSettings : public testing::TestWithParam<Known> {};

TEST_P(GoldenSettings, HoldInDouble) {
  const double degrees[3][4] = {{0, 41, 133, 205}, {12, 66, 118, 240}, {23, 52, 146, 214}};
  const Known& known = GetParam();
  at::Tensor z = at::empty({4, known.views, 2}, at::kDouble);
  for (int i = 0; i < 4; ++i) {
    for (int v = 0; v < known.views; ++v) {
      const double angle = degrees[v][i] * std::numbers::pi / 180;
      z[i][v].copy_(at::tensor({std::cos(angle), std::sin(angle)}, at::kDouble));
    }
  }
  const ObjectiveInput input = {.z = z, .labels = at::tensor({0, 0, 1, 1}, at::kLong), .bias = at::tensor({0, 1, 0, 1}, at::kLong)};
  Config term = Config::map();
  for (const auto& setting : known.settings) term.assign(setting);
  const auto objective = find_entry(objective_registry(), known.objective, "objective").make(term, {});
  EXPECT_NEAR((*objective)(input).value.item<double>(), known.value, 1e-8);
}

INSTANTIATE_TEST_SUITE_P(
    Printed, GoldenSettings,
    testing::Values(
        Known{"infonce", {}, 2, 0.756893864}, Known{"infonce", {"temperature=0.07"}, 2, 0.105501200},
        Known{"unbiased", {"negatives=drop"}, 2, 0.340647031}, Known{"unbiased", {}, 2, 0.466996736},
        Known{"debiased_negatives", {}, 2, 0.500208463}, Known{"debiased_negatives", {"tau_plus=0.5"}, 2, 0.122717756},
        Known{"debiased_negatives", {"tau_plus=0.5", "clamp=fallback"}, 2, 0.756893864},
        Known{"debiased_negatives", {"temperature=0.07"}, 2, 0.019346058},
        Known{"debiased_negatives", {"temperature=0.07", "clamp=fallback"}, 2, 0.054848945},
        Known{"debiased_negatives", {}, 3, 0.501546925}, Known{"debiased_positives", {}, 2, 0.401999982},
        Known{"debiased_positives", {"tau_plus=0.5"}, 2, 1.000945879}, Known{"debiased_positives", {"form=sum"}, 2, 0.267143144},
        Known{"debiased_positives", {}, 3, 0.397493809}, Known{"debiased_positives", {"aggregation=pairs"}, 3, 0.422150826},
        Known{"combined_debiased", {}, 2, (0.500208463 + 0.401999982) / 2}, Known{"hard_negatives", {"beta=0"}, 2, 0.500208463},
        Known{"hard_negatives", {"beta=0.5"}, 2, 0.807916651}, Known{"hard_negatives", {}, 2, 0.986783941},
        Known{"bayesian", {"form=paper", "alpha=0.9", "beta=0"}, 2, 0.661596865},
        Known{"bayesian", {"form=paper", "alpha=0.9", "beta=1"}, 2, 1.063618590},
        Known{"bayesian", {"form=paper", "alpha=0.5", "beta=0"}, 2, 0.756893864},
        Known{"bayesian", {"alpha=0.9", "beta=0"}, 2, 0.666914153}, Known{"bayesian", {"alpha=0.9", "beta=1"}, 2, 1.059303418},
        Known{"bayesian", {"form=authors", "alpha=0.9", "beta=0.9", "stabilize=false"}, 2, 1.107437590},
        Known{"bayesian", {"form=authors", "alpha=0.9", "beta=0.9"}, 2, 1.115354709},
        Known{"bayesian", {"form=authors", "alpha=0.5", "beta=0.5", "stabilize=false"}, 2, 0.755865344},
        Known{"bayesian", {"form=authors", "alpha=0.5", "beta=0.5"}, 2, 0.756893864}, Known{"supcon", {}, 2, 4.467883819},
        Known{"supcon", {"temperature=0.5"}, 2, 1.619586089}, Known{"supcon", {"form=in"}, 2, 1.109880354},
        Known{"supcon", {"form=in", "temperature=0.5"}, 2, 1.327313106}, Known{"eps_supinfonce", {}, 2, 1.046384966},
        Known{"eps_supinfonce", {"temperature=0.5"}, 2, 0.620409864}, Known{"eps_supinfonce", {"base_temperature=0.07"}, 2, 1.494835666},
        Known{"eps_supinfonce", {"over_positives=sum"}, 2, 3.139154899}, Known{"eps_supcon", {}, 2, 4.470993856},
        Known{"eps_supcon", {"temperature=0.5"}, 2, 1.672618949}, Known{"eps_supinfonce", {"form=a", "over_positives=sum"}, 2, 2.586840786},
        Known{"eps_supinfonce", {"form=b", "over_positives=sum"}, 2, 3.813781205},
        Known{"eps_supinfonce", {"form=d", "over_positives=sum"}, 2, 3.136033254},
        Known{"eps_supinfonce", {"epsilon=inf"}, 2, -4.863990576},
        Known{"eps_supinfonce", {"epsilon=inf", "temperature=0.5"}, 2, -0.235821912}, Known{"eps_supinfonce", {"form=in"}, 2, -1.307723828},
        Known{"eps_supinfonce", {"form=in", "temperature=0.5"}, 2, -0.704913273}, Known{"fairkl", {"mode=authors"}, 1, -0.973235068},
        Known{"fairkl", {"mode=authors", "kld=0"}, 1, -1.011121810}, Known{"fairkl", {"mode=kl"}, 2, 2.479111290 + 0.769683533},
        Known{"fairkl", {"mode=jeffreys"}, 2, 80.1640926805 + 3.928191520}, Known{"fairkl", {"mode=stats"}, 2, 2.319326120 + 1.301794332},
        Known{"fairkl", {"mode=mean"}, 2, 1.674535220 + 0.876467072}, Known{"end", {"alpha=1", "beta=0"}, 1, 0.821630028},
        Known{"end", {"alpha=0", "beta=1"}, 1, 0}, Known{"end", {"alpha=0", "beta=1", "full_pairs=true"}, 1, 0.234068356},
        Known{"end", {"alpha=1", "beta=0"}, 2, 0.161039999}, Known{"end", {"alpha=0", "beta=1"}, 2, 0.268261084},
        Known{"end", {"alpha=0", "beta=1", "full_pairs=true"}, 2, 0.364817927}, Known{"biascon", {}, 2, 9.348632186},
        Known{"biascon", {"temperature=0.1"}, 2, 6.624614383}));

TEST(GoldenLogits, OfBiasBalancedAndCrossEntropy) {
  const double expected[] = {0.123307668, 2.876070633, 2.819217808}, plain[] = {0.527975744, 2.027975744, 1.277975744};
  for (int64_t y = 0; y < 3; ++y) {
    const ObjectiveInput input = {.z = at::tensor({1.0, -0.5, 0.25}, at::kDouble).unsqueeze(0),
                                  .labels = at::tensor({y}, at::kLong),
                                  .bias = at::tensor({0}, at::kLong),
                                  .prior = at::tensor({0.7, 0.2, 0.1}, at::kDouble).unsqueeze(1)};
    const auto value = [&](const char* name) {
      const auto objective = find_entry(objective_registry(), name, "objective").make(Config::map(), {});
      return (*objective)(input).value.item<double>();
    };
    EXPECT_NEAR(value("bias_balanced"), expected[y], 1e-8);
    EXPECT_NEAR(value("ce"), plain[y], 1e-8);
  }
}

}  // namespace golden_settings_test
}  // namespace debias
