// What the methods of supervised classification share: losses by sample, and a classifier beside the evaluated one.
#include "debias/train/methods/rivals/classification.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/encoders/state.h"
#include "debias/losses/logits.h"
#include "tests/support/finite_differences.h"
#include "tests/support/refusals.h"
#include "tests/train/methods/rivals/biased_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace classification_test {

at::Tensor some_logits(int64_t rows, int64_t classes) {
  return at::sin(at::arange(1, rows * classes + 1, at::kDouble) * 1.7).view({rows, classes}) * 3;
}

TEST(ClassificationLosses, OfTwoClassesByHand) {
  const at::Tensor logits = at::tensor({0.0, std::log(3.0), std::log(4.0), 0.0}, at::kDouble).view({2, 2});
  const at::Tensor labels = at::tensor({1, 1}, at::kLong);  // p = 3/4 and 1/5
  const at::Tensor plain = cross_entropy_by_sample(logits, labels);
  EXPECT_NEAR(plain[0].item<double>(), std::log(4.0 / 3), 1e-12);
  EXPECT_NEAR(plain[1].item<double>(), std::log(5.0), 1e-12);
  const at::Tensor generalized = generalized_cross_entropy_by_sample(logits, labels, 0.5);
  EXPECT_NEAR(generalized[0].item<double>(), 0.5 * std::sqrt(0.75) * std::log(4.0 / 3), 1e-12);
  EXPECT_NEAR(generalized[1].item<double>(), 0.5 * std::sqrt(0.2) * std::log(5.0), 1e-12);
}

TEST(ClassificationLosses, TheirMeansAreTheObjectives) {
  const at::Tensor logits = some_logits(7, 4), labels = at::tensor({0, 3, 2, 1, 1, 0, 2}, at::kLong);
  EXPECT_NEAR(mean_by_sample(cross_entropy_by_sample(logits, labels)).value.item<double>(),
              at::cross_entropy_loss(logits, labels).item<double>(), 1e-12);
  const auto form = GeneralizedCrossEntropyOptions{.q = 0.7, .form = GceForm::kLff};
  EXPECT_NEAR(mean_by_sample(generalized_cross_entropy_by_sample(logits, labels, 0.7)).value.item<double>(),
              generalized_cross_entropy(logits, labels, form).value.item<double>(), 1e-12);
}

TEST(ClassificationLosses, TheGradientOfTheGeneralizedOneIsThatOfItsClosedForm) {
  const double q = 0.7;
  const at::Tensor logits = some_logits(5, 3), labels = at::tensor({0, 2, 1, 1, 0}, at::kLong);
  const at::Tensor leaf = logits.clone().requires_grad_(true);
  generalized_cross_entropy_by_sample(leaf, labels, q).mean().backward();
  const at::Tensor expected = numeric_gradient(
      [&](const at::Tensor& z) {
        double sum = 0;
        for (int64_t i = 0; i < 5; ++i) {
          double total = 0;
          for (int64_t c = 0; c < 3; ++c) total += std::exp(z[i][c].item<double>());
          sum += 1 - std::pow(std::exp(z[i][labels[i].item<int64_t>()].item<double>()) / total, q);
        }
        return sum / 5;  // q times (1 - p^q) / q
      },
      logits);
  EXPECT_LT(largest_difference(leaf.grad(), expected), 1e-9);
}

TEST(ClassificationLosses, WeightsMultiplyEachLoss) {
  const at::Tensor losses = at::tensor({1.0, 2.0, 5.0}, at::kDouble), weights = at::tensor({0.5, 0.0, 3.0}, at::kDouble);
  EXPECT_NEAR(mean_by_sample(losses, weights).value.item<double>(), 15.5 / 3, 1e-12);
  EXPECT_EQ(mean_by_sample(losses).anchors, 3);
}

TEST(SideClassifier, BeginsWithWeightsOfItsOwn) {
  const Recipe recipe = read_recipe(biased_config("x", "simclr"));
  const auto weights = [&](const std::string& name, uint64_t seed) {
    Recipe seeded = recipe;
    seeded.seed = seed;
    return named_state(SideClassifier(seeded, seeded.encoder, name, 3, 5)).front().second.clone();
  };
  const at::Tensor bias = weights("bias", 3);
  EXPECT_TRUE(bias.equal(weights("bias", 3)));
  EXPECT_FALSE(bias.equal(weights("bias", 4)));
  EXPECT_FALSE(bias.equal(weights("other", 3)));
  EXPECT_FALSE(bias.equal(make_model(recipe, 3, 5).encoder->parameters().front()));
}

TEST(SideClassifier, NamesItsTensorsAndClassifiesEveryView) {
  const Recipe recipe = read_recipe(biased_config("x", "simclr"));
  const SideClassifier network(recipe, recipe.encoder, "bias", 3, 5);
  bool has_encoder = false, has_classifier = false;
  for (const auto& [name, tensor] : named_state(network)) {
    has_encoder |= name == "encoder.conv1.weight";
    has_classifier |= name == "classifier.weight";
  }
  EXPECT_TRUE(has_encoder && has_classifier);
  const at::Tensor features = network.features(at::ones({2, 4, 3, 16, 16}), ForwardOptions{});
  EXPECT_EQ(features.sizes(), at::IntArrayRef({4, 2, network.encoder()->feature_dim()}));
  EXPECT_EQ(network.logits(features).sizes(), at::IntArrayRef({8, 5}));
}

}  // namespace classification_test
}  // namespace debias
