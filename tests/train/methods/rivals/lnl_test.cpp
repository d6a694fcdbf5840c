// Learning not to learn: reversed gradients and entropies by hand, both updates of a step written out, and that the encoder hides the bias.
#include "debias/train/methods/rivals/lnl.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/utils/convert_parameters.h>

#include <cmath>
#include <limits>

#include "debias/train/methods/rivals/classification.h"
#include "debias/train/methods/rivals/second_update.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/train/methods/rivals/glyph_classifier.h"

namespace debias {
namespace lnl_test {

constexpr const char* kMethod = "{name: lnl, entropy_weight: 0.5, hidden: 6}";

const Adversary& adversary(const MethodWithBatch& made) { return dynamic_cast<const Adversary&>(*made.parts.model.side.at(0).module); }

at::Tensor values(const torch::nn::Module& module) { return torch::nn::utils::parameters_to_vector(module.parameters()).detach().clone(); }

TEST(Lnl, EntropyIsTheNumberWorkedByHand) {
  const at::Tensor logits = at::tensor({0.0, 0.0, 0.0, 0.0, std::log(3), 0.0}, at::kDouble).view({3, 2});
  const at::Tensor found = negative_entropy(logits);
  EXPECT_NEAR(found[0].item<double>(), -std::log(2), 1e-15);
  EXPECT_NEAR(found[2].item<double>(), 0.75 * std::log(0.75) + 0.25 * std::log(0.25), 1e-15);
  EXPECT_EQ(negative_entropy(at::tensor({1e6, 0.0}, at::kFloat).view({1, 2})).item<double>(), 0);
}

TEST(Lnl, EntropyHasTheGradientOfFiniteDifferences) {
  at::manual_seed(1);
  const at::Tensor logits = at::randn({4, 3}, at::kDouble);
  const at::Tensor leaf = logits.clone().requires_grad_(true);
  negative_entropy(leaf).sum().backward();
  const auto value = [](const at::Tensor& z) { return negative_entropy(z).sum().item<double>(); };
  EXPECT_LT(largest_difference(leaf.grad(), numeric_gradient(value, logits)), 1e-8);
}

// Moments and decay of the optimizer would move an encoder that the second update reached.
TEST(Lnl, WithoutReversalAndEntropyTheEncoderIsThatOfCrossEntropy) {
  const auto after = [](const std::string& method) {
    MethodWithBatch made(changed(glyph_classifier("x", method), {"optimizer={name: adam, learning_rate: 1e-2, weight_decay: 0.1}"}));
    for (int64_t step = 1; step <= 3; ++step) made.parts.method->run(made.batch, step);
    return values(*made.parts.model.encoder);
  };
  EXPECT_LT(largest_difference(after("{name: lnl, entropy_weight: 0, reversal: 0}"), after("simclr")), 1e-6);
}

TEST(Lnl, ReversedRowsAreTheRowsWithTheGradientTurned) {
  at::manual_seed(1);
  const at::Tensor rows = at::randn({4, 3}).requires_grad_(true), weights = at::randn({4, 3});
  const at::Tensor reversed = with_reversed_gradient(rows, 0.1);
  EXPECT_TRUE(reversed.equal(rows));
  (reversed * weights).sum().backward();
  EXPECT_LT(largest_difference(rows.grad(), -0.1 * weights), 1e-7);
}

TEST(Lnl, AFixedAdversaryPassesTheGradientToTheFeaturesAlone) {
  for (const int64_t hidden : {0, 5}) {
    const Adversary adversary(3, hidden, 4, 7);
    at::manual_seed(1);
    const at::Tensor rows = at::randn({6, 3}).requires_grad_(true);
    EXPECT_TRUE(adversary.logits(rows, true).equal(adversary.logits(rows)));
    adversary.logits(rows, true).square().sum().backward();
    EXPECT_GT(rows.grad().abs().max().item<double>(), 0);
    for (const auto& parameter : adversary.parameters()) EXPECT_FALSE(parameter.grad().defined());
    EXPECT_EQ(adversary.parameters().size(), hidden > 0 ? 4u : 2u);
  }
}

TEST(Lnl, TheFirstLossIsCrossEntropyWithTheEntropyOfTheAnswer) {
  MethodWithBatch made(glyph_classifier("x", kMethod));
  double expected = 0;
  {
    const at::NoGradGuard no_grad;
    const ModelOutput output = forward(made.parts.model, made.batch.images(), ForwardOptions{});
    const at::Tensor z = made.parts.model.classifier->logits(output.features).to(at::kDouble);
    const at::Tensor answer = adversary(made).logits(output.features.select(1, 0)).to(at::kDouble).softmax(1);
    for (size_t i = 0; i < made.batch.labels.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      expected -= at::log_softmax(z[row], 0)[made.batch.labels[i]].item<double>();
      for (int64_t b = 0; b < answer.size(1); ++b) {
        const double a = answer[row][b].item<double>();
        expected += 0.5 * a * std::log(a);
      }
    }
  }
  EXPECT_NEAR(made.parts.method->run(made.batch, 1).loss, expected / static_cast<double>(made.batch.labels.size()), 1e-5);
}

// Plain gradient descent tells the two updates apart: the adversary moves by the second alone, and along its own gradient.
TEST(Lnl, TheSecondUpdateTeachesTheAdversaryOnTheUpdatedEncoder) {
  const auto config = [] {
    return changed(glyph_classifier("x", "{name: lnl, entropy_weight: 0, reversal: 0, hidden: 6}"),
                   {"optimizer={name: sgd, learning_rate: 0.1, momentum: 0}"});
  };
  MethodWithBatch made(config());
  const at::Tensor before = values(adversary(made));
  made.parts.method->run(made.batch, 1);
  MethodWithBatch again(config());
  const ModelOutput output = forward(made.parts.model, made.batch.images(), ForwardOptions{});  // of the encoder after the first update
  const at::Tensor logits = adversary(again).logits(output.features.detach().select(1, 0));
  cross_entropy_by_sample(logits, at::tensor(made.batch.biases, at::kLong)).mean().backward();
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : adversary(again).parameters()) gradients.push_back(parameter.grad().flatten());
  EXPECT_LT(largest_difference(values(adversary(made)), before - 0.1 * at::cat(gradients)), 1e-6);
}

TEST(Lnl, TheEncoderIsMovedAgainstTheAdversary) {
  const auto loss_of_first_adversary = [](const char* reversal) {  // on the features of the moved encoder
    MethodWithBatch made(glyph_classifier("x", fmt::format("{{name: lnl, entropy_weight: 0, reversal: {}}}", reversal)));
    const MethodWithBatch first(glyph_classifier("x", fmt::format("{{name: lnl, entropy_weight: 0, reversal: {}}}", reversal)));
    made.parts.method->run(made.batch, 1);
    const at::NoGradGuard no_grad;
    const at::Tensor features = forward(made.parts.model, made.batch.images(), ForwardOptions{}).features.select(1, 0);
    return cross_entropy_by_sample(adversary(first).logits(features), at::tensor(made.batch.biases, at::kLong)).mean().item<double>();
  };
  EXPECT_GT(loss_of_first_adversary("1"), loss_of_first_adversary("0"));
}

TEST(Lnl, TheEncoderHidesTheBiasFromTheAdversary) {
  const auto accuracy = [](const char* weights) {
    Config root = glyph_classifier("x", fmt::format("{{name: lnl, hidden: 0, {}}}", weights));
    return trained(root, 8).at("adversary_acc1").get<double>();
  };
  EXPECT_LT(accuracy("entropy_weight: 1, reversal: 1") + 0.15, accuracy("entropy_weight: 0, reversal: 0"));
}

TEST(Lnl, ResumesByteForByte) { expect_resumes_mid_epoch(kMethod); }

TEST(Lnl, WhatItCannotUseIsRefusedInOneLine) {
  expect_refused(glyph_classifier("x", "{name: lnl, hidden: -1}"), "hidden");
  expect_refused(glyph_classifier("x", "{name: lnl, reversal: -1}"), "reversal");
}

TEST(SecondUpdate, IsRefusedInOneLineBeforeAnythingChanges) {
  MethodWithBatch made(glyph_classifier("x", kMethod));
  const at::Tensor weight = made.parts.model.encoder->parameters().front();
  const at::Tensor before = weight.detach().clone();
  const at::Tensor infinite = weight.sum() * std::numeric_limits<float>::infinity();
  const at::Tensor steep = (weight * 0).sqrt().sum();  // 0, with a gradient that is not finite
  for (const auto& loss : {infinite, steep}) {
    const std::string message =
        error_of(ErrorKind::kNumeric, [&] { second_update(made.parts.model, *made.parts.optimizers, loss, made.batch, "adversary"); });
    EXPECT_EQ(message.find("training stopped at epoch 1, batch 0: the loss of the adversary is"), 0u) << message;
    EXPECT_TRUE(weight.detach().equal(before));
  }
}

}  // namespace lnl_test
}  // namespace debias
