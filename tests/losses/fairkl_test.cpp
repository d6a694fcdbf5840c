// FairKL by groups and by pairs, and what its modes say about each other.
#include "debias/losses/fairkl.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/losses/bias_pairs.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/refusals.h"
#include "tests/support/with_changes.h"

namespace debias {
namespace fairkl_test {

FairKlOptions mode(FairKlMode chosen) { return FairKlOptions{.mode = chosen}; }

ObjectiveResult with_engine(Engine engine, const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias,
                            const FairKlOptions& options, const at::Tensor& weights = {}) {
  return fairkl(ObjectiveInput{.z = z, .labels = labels, .bias = bias, .weights = weights, .engine = engine}, options);
}

struct Batch {
  at::Tensor z, labels, bias, weights;
};

Batch batch(int64_t samples, int64_t views, int64_t seed, bool unknown) {
  Batch made;
  made.z = random_embeddings(samples, views, 4, seed);
  made.weights = at::randn({samples, 3}, at::kDouble) + 0.5;
  made.labels = at::randint(0, 3, {samples}, at::kLong);
  made.bias = at::randint(0, 2, {samples}, at::kLong);
  if (unknown) {
    made.labels[1] = -1;
    made.labels[2] = -1;
    made.bias[0] = -1;
  }
  return made;
}

std::vector<FairKlOptions> all_options() {
  std::vector<FairKlOptions> all;
  for (const auto& [name, m] : EnumNames<FairKlMode>::values) {
    for (FairKlPooling pooling : {FairKlPooling::kBatch, FairKlPooling::kAnchor}) {
      if (m == FairKlMode::kAuthors && pooling == FairKlPooling::kAnchor) continue;
      for (FairKlEmpty empty : {FairKlEmpty::kAuto, FairKlEmpty::kSkip, FairKlEmpty::kZero}) {
        all.push_back(FairKlOptions{.mode = m, .pooling = pooling, .empty = empty, .variance_floor = 0.05});
        if (m == FairKlMode::kStats) all.push_back(with_changes(all.back(), [&](auto& o) { o.kld = 0.3; }));
      }
    }
  }
  return all;
}

std::string named(const FairKlOptions& options) { return config_of(options).to_json().dump(); }

// Eq. 10 takes moments by anchor, B.2.4 divides those of a continuous bias by the batch size.
TEST(FairKlLaws, TheVariantOfThePaperIsThePapers) {
  const FairKlOptions paper = options_from<FairKlOptions>(parse_yaml("{variant: paper}", "x"), "fairkl");
  EXPECT_EQ(named(paper),
            named(FairKlOptions{.mode = FairKlMode::kKl, .pooling = FairKlPooling::kAnchor, .normaliser = FairKlNormaliser::kBatch}));
  const Batch b = batch(7, 2, 5, false);
  const double pooled = fairkl(ObjectiveInput{.z = b.z, .labels = b.labels, .bias = b.bias}, mode(FairKlMode::kKl)).value.item<double>();
  const double by_anchor = fairkl(ObjectiveInput{.z = b.z, .labels = b.labels, .bias = b.bias}, paper).value.item<double>();
  EXPECT_GT(std::abs(by_anchor - pooled), 0.01);
}

struct Evaluated {
  ObjectiveResult result;
  at::Tensor gradient;
};

Evaluated evaluated(Engine engine, const Batch& b, const FairKlOptions& options) {
  const at::Tensor leaf = b.z.detach().clone().requires_grad_(true);
  Evaluated out = {with_engine(engine, leaf, b.labels, b.bias, options), {}};
  out.result.value.backward();
  out.gradient = leaf.grad();
  return out;
}

TEST(FairKlEngines, MomentsAndPairsAgreeInValueGradientAndDiagnostics) {
  for (int64_t samples : {1, 2, 9, 60}) {
    for (int64_t views : {1, 2}) {
      Batch b = batch(samples, views, samples, samples > 2);
      for (const auto& options : all_options()) {
        if (options.chosen_mode() == FairKlMode::kLogNormal) continue;
        const Evaluated pairs = evaluated(Engine::kDense, b, options), moments = evaluated(Engine::kFused, b, options);
        EXPECT_NEAR(pairs.result.value.item<double>(), moments.result.value.item<double>(), 1e-9) << named(options) << samples;
        EXPECT_LT(largest_difference(pairs.gradient, moments.gradient), 1e-9) << named(options) << samples;
        EXPECT_TRUE(at::allclose(pairs.result.per_anchor, moments.result.per_anchor, 0, 1e-9, true)) << named(options) << samples;
        EXPECT_EQ(pairs.result.clamped, moments.result.clamped) << named(options) << samples;
        EXPECT_EQ(pairs.result.anchors_used, moments.result.anchors_used);
        EXPECT_FALSE(pairs.result.fused());
        EXPECT_TRUE(moments.result.fused());
      }
    }
  }
}

TEST(FairKlEngines, GradientsAreThoseOfFiniteDifferences) {
  const Batch b = batch(6, 2, 8, true);
  for (const auto& options : all_options()) {
    const auto value_at = [&](const at::Tensor& z) {
      return with_engine(Engine::kDense, z, b.labels, b.bias, options).value.item<double>();
    };
    EXPECT_LT(largest_difference(evaluated(Engine::kDense, b, options).gradient, numeric_gradient(value_at, b.z)), 1e-6) << named(options);
  }
}

TEST(FairKlEngines, AutoTakesMomentsOnceRowsOutnumberDimensions) {
  const at::Tensor labels = at::zeros({8}, at::kLong), bias = at::arange(8, at::kLong).remainder(2);
  const auto fused = [&](int64_t dimensions, const FairKlOptions& options, int64_t budget) {
    return fairkl({.z = random_embeddings(8, 1, dimensions, 1), .labels = labels, .bias = bias, .memory_budget = budget}, options).fused();
  };
  EXPECT_TRUE(fused(8, {}, kDefaultMemoryBudget));
  EXPECT_FALSE(fused(9, {}, kDefaultMemoryBudget));
  EXPECT_FALSE(fused(8, {}, 8 * 8 * 16));
  EXPECT_FALSE(fused(8, mode(FairKlMode::kLogNormal), kDefaultMemoryBudget));
}

TEST(FairKlEngines, FusedIsRefusedWherePairsAreNeeded) {
  const Batch b = batch(6, 1, 8, false);
  EXPECT_THROW(with_engine(Engine::kFused, b.z, b.labels, b.bias, mode(FairKlMode::kLogNormal)), Error);
  EXPECT_THROW(with_engine(Engine::kFused, b.z, b.labels, {}, {}, b.weights), Error);
  const at::Tensor leaf = b.z.clone().requires_grad_(true);
  const auto value = with_engine(Engine::kFused, leaf, b.labels, b.bias, {}).value;
  EXPECT_THROW(torch::autograd::grad({value}, {leaf}, {}, true, true), Error);
}

TEST(FairKlLaws, BiasThatSaysNothingCostsNothing) {
  // Two copies of every row, one for each bias label: every set of pairs has the same distances but for the copies themselves.
  const at::Tensor z = random_embeddings(5, 1, 3, 2), twice = at::cat({z, z});
  const at::Tensor labels = integers({0, 0, 1, 1, 2}), bias = at::cat({at::zeros({5}, at::kLong), at::ones({5}, at::kLong)});
  const auto at_ = [&](FairKlMode m) { return fairkl(twice, at::cat({labels, labels}), bias, mode(m)); };
  const double negatives_only = fairkl(twice, at::arange(10, at::kLong).remainder(5), bias, mode(FairKlMode::kMean)).value.item<double>();
  EXPECT_NEAR(negatives_only, 0, 1e-12);  // positives: one pair each, conflicting; so skipped
  EXPECT_GT(at_(FairKlMode::kKl).value.item<double>(), 0);
}

TEST(FairKlLaws, OneBiasValuePerFeatureDirectionIsTheDiscreteBias) {
  const Batch b = batch(7, 2, 9, false);
  const at::Tensor features = at::stack({b.bias.eq(0), b.bias.eq(1)}, 1).to(at::kDouble) * 3;
  for (auto m : {FairKlMode::kKl, FairKlMode::kJeffreys, FairKlMode::kMean, FairKlMode::kStats, FairKlMode::kLogNormal}) {
    EXPECT_NEAR(with_engine(Engine::kAuto, b.z, b.labels, {}, mode(m), features).value.item<double>(),
                fairkl(b.z, b.labels, b.bias, mode(m)).value.item<double>(), 1e-11);
  }
}

TEST(FairKlLaws, UnknownRowsAreAsIfAbsent) {
  Batch b = batch(7, 1, 9, false);
  b.labels = integers({0, 1, 0, 1, 0, -1, 1});
  b.bias = integers({0, 0, 1, 1, 1, 0, -1});
  for (const auto& options : all_options()) {
    const auto found = fairkl(b.z, b.labels, b.bias, options);
    EXPECT_NEAR(found.value.item<double>(),
                fairkl(b.z.slice(0, 0, 5), b.labels.slice(0, 0, 5), b.bias.slice(0, 0, 5), options).value.item<double>(), 1e-11);
    EXPECT_TRUE(found.per_anchor.slice(0, 5).isnan().all().item<bool>());
    EXPECT_EQ(found.anchors, 7);
    EXPECT_LE(found.anchors_used, 5);
  }
}

TEST(FairKlEdges, AnEmptySetIsSkippedOrZero) {
  const at::Tensor z = angles({{0, 60, 150}}), labels = integers({0, 0, 1}), bias = integers({0, 0, 0});  // nothing conflicts
  const auto skipped = fairkl(z, labels, bias, mode(FairKlMode::kMean));
  EXPECT_EQ(skipped.value.item<double>(), 0);
  EXPECT_EQ(skipped.anchors_used, 0);
  EXPECT_EQ(skipped.clamped, 2);
  const auto zero = fairkl(z, labels, bias, FairKlOptions{.mode = FairKlMode::kMean, .empty = FairKlEmpty::kZero});
  const double positive = 4 * 0.25, mean = (std::cos(150 * M_PI / 180) + 0) / 2;
  EXPECT_NEAR(zero.value.item<double>(), positive + 4 * mean * mean, 1e-12);
  EXPECT_EQ(zero.anchors_used, 3);
  EXPECT_EQ(zero.clamped, 2);
}

TEST(FairKlEdges, CollapsedRowsMeetTheVarianceFloor) {
  const at::Tensor z = angles({{30, 30, 30, 30, 30, 30}}).requires_grad_(true);
  const at::Tensor labels = integers({0, 0, 0, 1, 1, 1}), bias = integers({0, 0, 1, 0, 1, 1});
  const auto found = fairkl(z, labels, bias, mode(FairKlMode::kKl));
  EXPECT_NEAR(found.value.item<double>(), 0, 1e-12);
  EXPECT_EQ(found.clamped, 4);
  EXPECT_EQ(found.clamped_of(), 4);
  const auto by_anchor = fairkl(z, labels, bias, FairKlOptions{.mode = FairKlMode::kKl, .pooling = FairKlPooling::kAnchor});
  EXPECT_EQ(by_anchor.clamped, 16);  // sets of one pair or none
  EXPECT_EQ(by_anchor.clamped_of(), 4 * 6);
  EXPECT_EQ(found.anchors_used, 6);
  found.value.backward();
  EXPECT_LT(z.grad().abs().max().item<double>(), 1e-9);
}

TEST(FairKlEdges, EverythingIsFinite) {
  const std::vector<at::Tensor> inputs = {angles({{30, 30, 30, 30, 30, 30}}), angles({{30, 210, 30, 210, 30, 210}}),
                                          angles({{30, 30, 30, 30, 30, 30}, {210, 210, 210, 210, 210, 210}}),
                                          at::zeros({6, 2, 3}, at::kDouble)};
  const std::vector<std::pair<at::Tensor, at::Tensor>> keys = {{integers({0, 0, 0, 1, 1, 1}), integers({0, 0, 1, 0, 1, 1})},
                                                               {integers({0, 0, 0, 0, 0, 0}), integers({0, 0, 0, 0, 0, 0})},
                                                               {integers({0, 1, 2, 3, 4, 5}), integers({5, 4, 3, 2, 1, 0})},
                                                               {integers({-1, -1, -1, -1, -1, -1}), integers({0, 0, 0, 1, 1, 1})}};
  for (const auto& z : inputs) {
    for (const auto& [labels, bias] : keys) {
      for (auto options : all_options()) {
        options.variance_floor = 0;
        for (auto [engine, type] : {std::pair{Engine::kDense, at::kFloat}, std::pair{Engine::kAuto, at::kDouble}}) {
          const auto found = evaluated(engine, {z.to(type), labels, bias, {}}, options);
          ASSERT_TRUE(std::isfinite(found.result.value.item<double>())) << named(options);
          ASSERT_TRUE(found.gradient.isfinite().all().item<bool>()) << named(options);
        }
      }
    }
  }
}

TEST(FairKlEdges, OneRow) {
  for (Engine engine : {Engine::kDense, Engine::kFused}) {
    for (const auto& options : {mode(FairKlMode::kKl), mode(FairKlMode::kAuthors)}) {
      const auto found = evaluated(engine, {angles({{30}}), integers({0}), integers({0}), {}}, options);
      EXPECT_NEAR(found.result.value.item<double>(), options.chosen_mode() == FairKlMode::kAuthors ? 1 : 0,
                  1e-12);  // mu of the row and itself
      EXPECT_EQ(found.result.anchors, 1);
    }
  }
}

ErrorKind refusal(const ObjectiveInput& input, const FairKlOptions& options = {}) {
  const Error error = thrown_by([&] { fairkl(input, options); });
  EXPECT_EQ(std::string(error.what()).rfind("fairkl", 0), 0u) << error.what();
  return error.kind();
}

TEST(FairKlErrors, AreNamed) {
  const Batch b = batch(5, 1, 3, false);
  EXPECT_EQ(refusal({.z = b.z, .labels = b.labels}), ErrorKind::kUsage);
  EXPECT_EQ(refusal({.z = b.z, .bias = b.bias}), ErrorKind::kUsage);
  EXPECT_EQ(refusal({.z = b.z.select(1, 0), .labels = b.labels, .bias = b.bias}), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = b.z, .labels = b.labels, .bias = b.bias.slice(0, 1)}), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = b.z, .labels = b.labels, .weights = b.weights.slice(0, 1)}), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = b.z, .labels = b.labels, .weights = b.labels}), ErrorKind::kData);
  const ObjectiveInput good = {.z = b.z, .labels = b.labels, .bias = b.bias};
  EXPECT_EQ(refusal(good, FairKlOptions{.mode = FairKlMode::kAuthors, .pooling = FairKlPooling::kAnchor}), ErrorKind::kUsage);
  EXPECT_EQ(refusal(good, FairKlOptions{.mode = FairKlMode::kKl, .kld = 0}), ErrorKind::kUsage);
  EXPECT_EQ(refusal(good, FairKlOptions{.variance_floor = -1}), ErrorKind::kUsage);
  EXPECT_EQ(refusal(good, FairKlOptions{.mode = FairKlMode::kStats, .kld = -1}), ErrorKind::kUsage);
}

}  // namespace fairkl_test

// FairKL's default mode, and its modes on bias features in place of bias labels: numbers worked by hand, bias labels as one-hot features,
// finite differences. Loops over weighted pairs are in fairkl_test.cpp.
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
