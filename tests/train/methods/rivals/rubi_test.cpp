// RUBi: the masked loss by hand and by finite differences, its first step written out, and what its gate reads.
#include "debias/train/methods/rivals/rubi.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/train/methods/rivals/classification.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/train/methods/rivals/glyph_classifier.h"

namespace debias {
namespace rubi_test {

constexpr const char* kLabels = "{name: rubi, branch_weight: 0.5}";
constexpr const char* kNetwork = "{name: rubi, bias: network, bias_encoder: {name: simple_convnet, kernel: 1}}";

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Rubi, LossIsTheNumberWorkedByHand) {
  // Logits (2, 0), gate (ln 3, 0): the mask is (3/4, 1/2), the masked logits (1.5, 0).
  const at::Tensor found = rubi_losses(at::tensor({2.0, 0.0}, at::kDouble).view({1, 2}),
                                       at::tensor({std::log(3), 0.0}, at::kDouble).view({1, 2}), integers({0}));
  EXPECT_NEAR(found.item<double>(), std::log1p(std::exp(-1.5)), 1e-14);
}

TEST(Rubi, LossAndGradientAreThoseOfTheLoop) {
  at::manual_seed(2);
  const at::Tensor logits = at::randn({5, 3}, at::kDouble), gate = at::randn({5, 3}, at::kDouble), labels = integers({0, 2, 1, 1, 0});
  const auto naive = [&](const at::Tensor& z, const at::Tensor& c) {
    double sum = 0;
    for (int64_t i = 0; i < 5; ++i) {
      double total = 0;
      const auto masked = [&](int64_t j) { return z[i][j].item<double>() * sigmoid(c[i][j].item<double>()); };
      for (int64_t j = 0; j < 3; ++j) total += std::exp(masked(j));
      sum += std::log(total) - masked(labels[i].item<int64_t>());
    }
    return sum;
  };
  const at::Tensor z = logits.clone().requires_grad_(true), c = gate.clone().requires_grad_(true);
  const at::Tensor sum = rubi_losses(z, c, labels).sum();
  EXPECT_NEAR(sum.item<double>(), naive(logits, gate), 1e-12);
  sum.backward();
  EXPECT_LT(largest_difference(z.grad(), numeric_gradient([&](const at::Tensor& x) { return naive(x, gate); }, logits)), 1e-8);
  EXPECT_LT(largest_difference(c.grad(), numeric_gradient([&](const at::Tensor& x) { return naive(logits, x); }, gate)), 1e-8);
}

TEST(Rubi, TheFirstStepMasksByTheBiasLabel) {
  MethodWithBatch made(glyph_classifier("x", kLabels));
  const Model& model = made.parts.model;
  double expected = 0;
  {
    const at::NoGradGuard no_grad;
    const at::Tensor z = model.classifier->logits(forward(model, made.batch.images(), ForwardOptions{}).features);
    const torch::nn::LinearImpl& gate = side_linear_of(model, "gate");
    for (size_t i = 0; i < made.batch.labels.size(); ++i) {
      const at::Tensor c = gate.weight.select(1, made.batch.biases[i]) + gate.bias;
      expected -= at::log_softmax(z[static_cast<int64_t>(i)] * c.sigmoid(), 0)[made.batch.labels[i]].item<double>();
    }
  }
  EXPECT_NEAR(made.parts.method->run(made.batch, 1).loss, expected / static_cast<double>(made.batch.labels.size()), 1e-5);
}

TEST(Rubi, TheGateHasItsOwnLossTimesItsWeight) {
  MethodWithBatch made(glyph_classifier("x", "{name: rubi, branch_weight: 3}"));
  const torch::nn::LinearImpl& gate = side_linear_of(made.parts.model, "gate");
  double expected = 0;
  {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < made.batch.labels.size(); ++i) {
      expected -= at::log_softmax(gate.weight.select(1, made.batch.biases[i]) + gate.bias, 0)[made.batch.labels[i]].item<double>();
    }
  }
  const StepReport report = made.parts.method->run(made.batch, 1);
  const auto* found = report.diagnostics.metric_of_method("bias_loss");
  EXPECT_NEAR(found->sum / found->count, 3 * expected / static_cast<double>(made.batch.labels.size()), 1e-5);
}

TEST(Rubi, TheFirstStepMasksByABiasedNetwork) {
  for (const bool trains : {true, false}) {
    MethodWithBatch made(glyph_classifier("x", fmt::format("{{name: rubi, bias: network, train_gate: {}}}", trains)));
    const Model& model = made.parts.model;
    const auto& biased = dynamic_cast<const SideClassifier&>(*model.side.at(0).module);
    at::Tensor expected;
    {
      const at::NoGradGuard no_grad;
      const at::Tensor known = biased.features(made.batch.images(), ForwardOptions{}).select(1, 0);
      const at::Tensor z = model.classifier->logits(forward(model, made.batch.images(), ForwardOptions{}).features);
      expected = rubi_losses(z, side_linear_of(made.parts.model, "gate").forward(known), at::tensor(made.batch.labels, at::kLong)).mean();
    }
    EXPECT_NEAR(made.parts.method->run(made.batch, 1).loss, expected.item<double>(), 1e-5) << trains;
  }
}

// By the gradients that a step leaves: of the biased network those of its own cross-entropy and no other.
TEST(Rubi, TheBiasedNetworkLearnsByItsOwnCrossEntropyAlone) {
  MethodWithBatch made(glyph_classifier("x", kNetwork)), alone(glyph_classifier("x", kNetwork));
  made.parts.method->run(made.batch, 1);
  const auto& biased = dynamic_cast<const SideClassifier&>(*alone.parts.model.side.at(0).module);
  const at::Tensor logits = biased.logits(biased.features(alone.batch.images(), ForwardOptions{}));
  cross_entropy_by_sample(logits, at::tensor(alone.batch.labels, at::kLong)).mean().backward();
  const auto found = made.parts.model.side.at(0).module->parameters(), expected = alone.parts.model.side.at(0).module->parameters();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_LT(largest_difference(found[i].grad(), expected[i].grad()), 1e-6) << i;
}

TEST(Rubi, TheGateStaysAsItWasDrawnWhereItIsNotTrained) {
  for (const bool trains : {true, false}) {
    MethodWithBatch made(glyph_classifier("x", fmt::format("{{name: rubi, train_gate: {}}}", trains)));
    const at::Tensor before = side_linear_of(made.parts.model, "gate").weight.detach().clone();
    made.parts.method->run(made.batch, 1);
    EXPECT_EQ(side_linear_of(made.parts.model, "gate").weight.detach().equal(before), !trains);
  }
}

TEST(Rubi, ItsGateLearnsTheBiasAndTheClassifierIsEvaluatedWithoutIt) {
  Config root = changed(glyph_classifier("x", "rubi"), {"optimizer={name: adam, learning_rate: 3e-2}"});
  const auto line = trained(root, 6);
  EXPECT_GT(line.at("bias_acc1").get<double>(), 0.6);  // the colour gives the class away at four fifths of the images
  EXPECT_TRUE(line.contains("acc1"));
}

TEST(Rubi, ResumesByteForByte) {
  expect_resumes_mid_epoch(kLabels);
  expect_resumes_mid_epoch(kNetwork);
}

TEST(Rubi, WhatItCannotUseIsRefusedInOneLine) {
  expect_refused(glyph_classifier("x", "{name: rubi, bias_encoder: bagnet18}"), "write bias: network");
  expect_refused(glyph_classifier("x", "{name: rubi, bias: pixels}"), "bias");
  expect_refused(glyph_classifier("x", "{name: rubi, bias: network, bias_encoder: bag18}"), "bag18");
}

}  // namespace rubi_test
}  // namespace debias
