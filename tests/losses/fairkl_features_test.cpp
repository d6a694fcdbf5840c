// FairKL's default mode, and its modes on bias features in place of bias labels: numbers worked by hand, bias labels as one-hot features,
// finite differences. Loops over weighted pairs are in fairkl_test.cpp.
#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/losses/bias_pairs.h"
#include "debias/losses/fairkl.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/refusals.h"

namespace debias {
namespace fairkl_features_test {

FairKlOptions mode(FairKlMode chosen) { return FairKlOptions{.mode = chosen}; }

std::vector<FairKlOptions> all_modes() {
  std::vector<FairKlOptions> all;
  for (const auto& [name, chosen] : EnumNames<FairKlMode>::values) {
    all.push_back(mode(chosen));
    if (chosen != FairKlMode::kAuthors) all.push_back(FairKlOptions{.mode = chosen, .pooling = FairKlPooling::kAnchor});
  }
  return all;
}

FairKlOptions read(const std::string& yaml) { return options_from<FairKlOptions>(parse_yaml(yaml, "term"), "fairkl"); }

TEST(FairKlDefault, IsAuthorsOrMeanWhereAuthorsCannotBeUsed) {
  EXPECT_EQ(read("{}").chosen_mode(), FairKlMode::kAuthors);
  EXPECT_EQ(read("{pooling: anchor}").chosen_mode(), FairKlMode::kMean);
  EXPECT_EQ(read("{pooling: anchor, mode: stats}").chosen_mode(), FairKlMode::kStats);
  EXPECT_EQ(read("{variant: paper}").chosen_mode(), FairKlMode::kKl);
  EXPECT_EQ(read("{variant: paper, mode: mean}").chosen_mode(), FairKlMode::kMean);
  EXPECT_THROW(read("{pooling: anchor, mode: authors}"), Error);
  EXPECT_THROW(read("{pooling: anchor, variant: authors}"), Error);
  EXPECT_EQ(config_of(read("{pooling: anchor}")).find("mode")->text(), "mean");
  EXPECT_EQ(option_specs<FairKlOptions>()[0].default_value.text(), "authors");
}

TEST(FairKlDefault, TheResultNamesTheModeThatWasComputed) {
  const at::Tensor z = random_embeddings(6, 1, 3, 1), labels = integers({0, 0, 1, 1, 0, 1}), bias = integers({0, 1, 0, 1, 1, 0});
  EXPECT_EQ(fairkl(z, labels, bias).mode, "authors");
  EXPECT_EQ(fairkl(z, labels, bias).value.item<double>(), fairkl(z, labels, bias, mode(FairKlMode::kAuthors)).value.item<double>());
  const auto by_anchor = fairkl(z, labels, bias, FairKlOptions{.pooling = FairKlPooling::kAnchor});
  EXPECT_EQ(by_anchor.mode, "mean");
  EXPECT_EQ(fairkl({.z = z, .labels = labels, .weights = z.squeeze(1)}, {}).mode, "authors");
}

TEST(FairKlDefault, OnlyKlIsCautionedAgainst) {
  const ObjectiveEntry& entry = find_entry(objective_registry(), "fairkl", "objective");
  const auto caution = [&](const std::string& yaml) { return entry.read(parse_yaml(yaml, "term"), {})->caution(); };
  for (const auto& yaml : {"{mode: kl}", "{variant: paper}"}) EXPECT_NE(caution(yaml).find("worse than no regulariser"), std::string::npos);
  for (const auto& yaml : {"{}", "{pooling: anchor}", "{mode: stats}", "{variant: authors}"}) EXPECT_EQ(caution(yaml), "") << yaml;
}

TEST(FairKlDefault, KldIsRefusedWhereNothingReadsIt) {
  for (const auto* yaml : {"{mode: mean, kld: 0}", "{mode: kl, kld: 0.5}", "{pooling: anchor, kld: 2}"})
    EXPECT_THROW(read(yaml), Error) << yaml;
  for (const auto* yaml : {"{kld: 0}", "{mode: stats, kld: 0.5}", "{mode: mean, kld: 1}"}) EXPECT_NO_THROW(read(yaml)) << yaml;
}

// Cosines 1/2, 0 and cos 30 degrees of the pairs 01, 02, 12; cosines 0.6, 0 and 0.8 of their features; rows 0 and 1 share a label.
TEST(FairKlFeatures, ThreeRowsByHand) {
  const at::Tensor z = angles({{0, 60, 90}}), labels = integers({0, 0, 1});
  const at::Tensor features = at::tensor({1.0, 0.0, 0.6, 0.8, 0.0, 1.0}, at::kDouble).view({3, 2});
  const auto value = [&](const FairKlOptions& options) {
    return fairkl(ObjectiveInput{.z = z, .labels = labels, .weights = features}, options).value.item<double>();
  };
  // Means: positive aligned 3.6 / 4.2 with self pairs, 1/2 without; conflicting 1/2; negative aligned cos 30; conflicting 0.4 cos 30 / 2.4.
  const double c = std::cos(M_PI / 6), negatives = c - c / 6;
  EXPECT_NEAR(value(mode(FairKlMode::kMean)), 4 * negatives * negatives, 1e-14);
  const double linear = -0.5 + c, means = std::pow(3.6 / 4.2 - 0.5, 2) + negatives * negatives;
  EXPECT_NEAR(value(FairKlOptions{.mode = FairKlMode::kAuthors, .kld = 0}), means + linear, 1e-14);
  // Variances over the nine entries of the masked matrix, divided by 8: 0.2175, 0.07 / 9, 0.84 / 9, 0.0525 / 9.
  const double deviations = std::pow(std::sqrt(0.2175) - std::sqrt(0.07 / 9), 2) + std::pow(std::sqrt(0.84 / 9) - std::sqrt(0.0525 / 9), 2);
  EXPECT_NEAR(value(mode(FairKlMode::kAuthors)), means + linear + deviations, 1e-14);
  EXPECT_NEAR(value({}), 1.2099277841086926, 1e-14);
  EXPECT_NEAR(value(mode(FairKlMode::kStats)), 2.5, 1e-14);
}

TEST(FairKlFeatures, OneHotFeaturesAreBiasValues) {
  const at::Tensor labels = integers({0, 1, 0, 1, 0, 2, 1, 0, 2}), bias = integers({0, 0, 1, 2, 1, 0, 1, 2, 2});
  const at::Tensor one_hot = at::one_hot(bias, 3).to(at::kDouble);
  for (const auto& options : all_modes()) {
    // Of each anchor, modes with a deviation leave out sets of one pair; weights do not count pairs.
    if (options.pooling == FairKlPooling::kAnchor && options.chosen_mode() != FairKlMode::kMean) continue;
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      const at::Tensor z = random_embeddings(9, 2, 4, 2).to(type);
      const at::Tensor of_values = z.clone().requires_grad_(true), of_features = z.clone().requires_grad_(true);
      const auto values = fairkl({.z = of_values, .labels = labels, .bias = bias, .engine = Engine::kDense}, options);
      const auto features = fairkl({.z = of_features, .labels = labels, .weights = one_hot, .engine = Engine::kDense}, options);
      values.value.backward();
      features.value.backward();
      const std::string what(enum_name(options.chosen_mode()));
      EXPECT_EQ(features.value.item<double>(), values.value.item<double>()) << what;
      EXPECT_TRUE(of_features.grad().equal(of_values.grad())) << what;
      EXPECT_EQ(features.clamped, values.clamped) << what;
      if (type == at::kDouble) {
        EXPECT_NEAR(features.value.item<double>(), fairkl(z, labels, bias, options).value.item<double>(), 1e-11) << what;
      }
    }
  }
}

TEST(FairKlFeatures, LengthsOfFeaturesDoNotMatter) {
  const at::Tensor z = random_embeddings(8, 1, 4, 2), labels = integers({0, 1, 0, 1, 0, 1, 1, 0}), g = at::rand({8, 3}, at::kDouble);
  const at::Tensor lengths = at::rand({8, 1}, at::kDouble) + 0.1;
  for (const auto& options : all_modes()) {
    EXPECT_NEAR(fairkl({.z = z, .labels = labels, .weights = g * lengths}, options).value.item<double>(),
                fairkl({.z = z, .labels = labels, .weights = g}, options).value.item<double>(), 1e-11);
  }
}

TEST(FairKlFeatures, GradientsAreThoseOfFiniteDifferences) {
  at::manual_seed(5);
  const at::Tensor z = random_embeddings(7, 2, 4, 3), labels = integers({0, 1, 0, 1, -1, 1, 0}), g = at::randn({7, 3}, at::kDouble) + 0.4;
  for (auto options : all_modes()) {
    for (const auto normaliser : {FairKlNormaliser::kWeights, FairKlNormaliser::kBatch}) {
      options.normaliser = normaliser;
      options.variance_floor = 0.05;
      const auto value_at = [&](const at::Tensor& rows) {
        return fairkl({.z = rows, .labels = labels, .weights = g}, options).value.item<double>();
      };
      const at::Tensor leaf = z.clone().requires_grad_(true);
      fairkl({.z = leaf, .labels = labels, .weights = g}, options).value.backward();
      EXPECT_LT(largest_difference(leaf.grad(), numeric_gradient(value_at, z)), 1e-6) << enum_name(options.chosen_mode());
      EXPECT_GT(leaf.grad().abs().max().item<double>(), 1e-4) << enum_name(options.chosen_mode());
    }
  }
}

// A row without a direction would conflict with everything, itself included.
TEST(FairKlFeatures, ARowWithoutADirectionIsRefused) {
  const at::Tensor z = random_embeddings(4, 1, 4, 3), labels = integers({0, 1, 0, 1});
  for (const double bad : {0.0, std::nan(""), HUGE_VAL}) {
    at::Tensor g = at::rand({4, 2}, at::kFloat) + 0.1f;
    g[2].fill_(bad);
    const ObjectiveInput input = {.z = z, .labels = labels, .weights = g};
    const Error of_fairkl = thrown_by([&] { fairkl(input, {}); }), of_softcon = thrown_by([&] { softcon(input, {}); });
    EXPECT_EQ(of_fairkl.kind(), ErrorKind::kData);
    EXPECT_STREQ(of_fairkl.what(), "fairkl: weights: the row of sample 2 is zero or not finite and has no direction");
    EXPECT_STREQ(of_softcon.what(), "softcon: weights: the row of sample 2 is zero or not finite and has no direction");
  }
}

}  // namespace fairkl_features_test
}  // namespace debias
